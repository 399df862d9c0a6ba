//! Several callers who reach for the same thing at the same moment, so that their calls share a commit or race for it.

use super::steward::Wish;
use super::{Caller, Steward, Submitter};
use crate::checker::Stage;
use crate::faults::Fault;
use crate::world::Running;
use futures_util::future::join_all;
use onward_core::record::{Execution, Record, State};
use onward_core::{
    Act, Category, CommandId, End, Failure, Fence, Key, NewExecution, Operate, Payload, Progress, Reason, Report, Span,
    act, end,
};

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
            if self.0.world.settings.waiting.is_some() && self.0.fresh.percent(60) {
                self.hold_and_release().await;
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
        if self.0.world.settings.waiting.is_some() {
            self.end_winner(&new).await;
        }
    }

    /// Cancels who got a unique key, so that the key is free again while submits of others may still land. By itself the winner
    /// may wait for long.
    async fn end_winner(&mut self, new: &NewExecution) {
        let Some(key) = new.unique_key.clone().filter(|_| self.0.fresh.percent(80)) else { return };
        let key = Key::Unique(new.namespace.clone(), key);
        let winner = self.0.world.hub.check(|checker| match checker.record(&key) {
            Some(Record::Unique(record)) => record.holder(),
            _ => None,
        });
        let (Some(execution), Some(process)) = (winner, self.0.world.any(&mut self.0.fresh)) else { return };
        let act = act::Cancel { reason: Reason::new("another one is wanted"), grace: None }.into();
        let (command, namespace) = (CommandId(self.0.fresh.wide()), new.namespace.clone());
        drop(self.0.run(&process, &Operate { command, namespace, execution, by: None, act }).await);
    }

    /// Two operators and a worker's double call one process about one execution.
    async fn gather(&mut self) {
        let draw = self.0.dice.word();
        let hub = self.0.world.hub.clone();
        // Where much waits, most of what is unfinished has no worker to crowd around.
        let running = self.0.world.settings.waiting.is_some() && self.0.fresh.percent(70);
        let fits = |stage: &Stage| if running { matches!(stage, Stage::Active(_)) } else { stage.is_unfinished() };
        let found = hub.check(|checker| checker.pick(draw, fits).cloned());
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

    /// Two operators call one process about one execution: what the second wants is possible only behind the first. When the
    /// commit that has both is held up, the second may be refused by itself, and then it must not happen later.
    async fn hold_and_release(&mut self) {
        let draw = self.0.fresh.word();
        let hub = self.0.world.hub.clone();
        let fits = |stage: &Stage| stage.is_unfinished() && !matches!(stage, Stage::Held { .. } | Stage::Suspended(_));
        let found = hub.check(|checker| checker.pick(draw, fits).cloned());
        let (Some(execution), Some(process)) = (found, self.0.world.any(&mut self.0.fresh)) else { return };
        hub.fault(Fault::Crowd, format_args!("holds and releases {}", execution.id));
        hub.weather(|weather| weather.hold_up(&execution.id.to_string(), 60));
        let reason = Reason::new("so it was wished");
        let acts: [Act; 2] = if self.0.fresh.percent(60) {
            [act::Pause { reason }.into(), act::Resume { delay: None }.into()]
        } else {
            [act::Cancel { reason: reason.clone(), grace: None }.into(), act::Replay::new(reason, None).into()]
        };
        let mut callers = [self.0.split(), self.0.split()];
        let calls = callers.iter_mut().zip(acts).map(|(caller, act)| {
            let (namespace, command) = (execution.namespace.clone(), CommandId(caller.fresh.wide()));
            let operate = Operate { command, namespace, execution: execution.id, by: None, act };
            let process = process.clone();
            async move { drop(caller.run(&process, &operate).await) }
        });
        join_all(calls).await;
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
