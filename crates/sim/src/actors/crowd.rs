//! Several callers who reach for the same thing at the same moment, so that their calls share a commit or race for it.

use super::steward::Wish;
use super::{Caller, Steward, Submitter};
use crate::faults::Fault;
use crate::world::Running;
use futures_util::future::join_all;
use onward_core::record::{Execution, State};
use onward_core::{Category, CommandId, End, Failure, Fence, Payload, Progress, Reason, Report, Span, end};

/// How many callers want one unique key.
const RIVALS: usize = 3;

/// A caller that brings crowds together.
#[derive(Debug)]
pub(crate) struct Crowd(pub(crate) Caller);

impl Crowd {
    pub(crate) async fn run(mut self, pause: Span) {
        while self.0.pauses(pause.0 / 8, pause.0).await {
            if self.0.dice.percent(35) {
                self.race().await;
            } else {
                self.gather().await;
            }
        }
    }

    /// Submits the same unique key through several processes.
    async fn race(&mut self) {
        let mut rivals: Vec<Submitter> = (0..RIVALS).map(|_| Submitter(self.0.split())).collect();
        let Some(new) = rivals.first_mut().and_then(Submitter::draw_unique) else { return };
        self.0.world.hub.fault(Fault::Crowd, format_args!("{RIVALS} want {:?}", new.unique_key));
        self.0.world.hub.weather(|weather| weather.hold_up("unique/", 50));
        join_all(rivals.iter_mut().map(|rival| rival.submit_one(&new))).await;
    }

    /// Two operators and a worker's double call one process about one execution.
    async fn gather(&mut self) {
        let draw = self.0.dice.word();
        let hub = self.0.world.hub.clone();
        let found = hub.check(|checker| checker.pick(draw, |stage| stage.is_unfinished()).cloned());
        let (Some(execution), Some(process)) = (found, self.0.world.any(&mut self.0.dice)) else { return };
        hub.fault(Fault::Crowd, format_args!("around {}", execution.id));
        hub.weather(|weather| weather.hold_up(&execution.id.to_string(), 30));
        let (mut one, mut other) = (Steward(self.0.split()), Steward(self.0.split()));
        let mut double = Self(self.0.split());
        // What the last one wants is often possible only behind the others.
        let follows = self.0.dice.percent(40);
        tokio::join!(
            one.deed_to(&execution, &process, follows.then_some(Wish::CancelNow)),
            double.report(&execution, &process),
            other.deed_to(&execution, &process, follows.then_some(Wish::Replay))
        );
    }

    /// Calls in the name of the worker that holds the execution.
    async fn report(&mut self, execution: &Execution, process: &Running) {
        let State::Active(active) = &execution.state else { return };
        let (lease, attempt) = (&active.lease, active.attempt.number);
        // A double knows no more than the one it stands for.
        if !self.0.world.hub.check(|checker| checker.is_told(lease.id)) {
            return;
        }
        let fence = Fence { execution: execution.id, lease: lease.id, epoch: lease.epoch, attempt };
        let Some(wants) = self.0.world.settings.workers.iter().find(|wants| wants.worker == lease.worker) else {
            return;
        };
        let (ttl, command) = (wants.lease, CommandId(self.0.dice.wide()));
        let end: End = match self.0.dice.below(4) {
            0 => {
                let progress = Progress { fence, percent: Some(50), message: Some(Reason::new("on its way")) };
                return drop(self.0.run(process, &progress).await);
            }
            1 => return drop(self.0.renew(process, &[fence], ttl).await),
            2 => end::Fail { failure: Failure::new(Category::transient(), "it did not work") }.into(),
            _ => end::Complete { result: Payload::null() }.into(),
        };
        drop(self.0.run(process, &Report { command, fence, end }).await);
    }
}
