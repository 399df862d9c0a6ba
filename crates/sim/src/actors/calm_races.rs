//! Races without any fault: work is revoked while it is claimed, and lanes are closed and opened; nothing may be late.

use super::{Caller, Submitter};
use crate::world::{Running, World};
use onward_core::record::LaneState;
use onward_core::{
    Claimed, Class, CommandId, Kind, Lane, Name, NewExecution, Operate, Payload, Reason, Report, Span, WorkerName, act,
    end,
};
use onward_engine::Wants;
use std::sync::Arc;

/// The lane from which only a [`CalmRacer`] takes work, so that work stays on the board until it comes.
const LANE: &str = "tug";
/// The longest wait for work that is ready.
const WAIT: Span = Span::seconds(20);

/// A caller that revokes work at the moment in which it is claimed.
#[derive(Debug)]
pub(crate) struct CalmRacer(pub(crate) Caller);

impl CalmRacer {
    /// Submits something, has it claimed and revoked at the same moment, and claims it again.
    pub(crate) async fn revoke_while_claimed(mut self) {
        let Some(process) = self.0.world.any(&mut self.0.dice) else { return };
        let (Ok(lane), Ok(worker), Ok(kind)) = (LANE.parse::<Lane>(), WorkerName::parse(LANE), Kind::parse("tug"))
        else {
            return;
        };
        let Some(namespace) = self.0.world.settings.namespaces.first().cloned() else { return };
        let (lanes, lease) = (vec![lane.clone()], Span::seconds(8));
        let (kinds, capabilities) = (None, Class::default());
        let wants =
            Wants { namespace: namespace.clone(), lanes, kinds, capabilities, worker, build: None, lease, max: 1 };
        // The queue is read before there is anything in it, so that the claim below need not read first.
        self.0.claim(&process, &wants, Span(0)).await;
        let new = NewExecution { lane, namespace: namespace.clone(), ..NewExecution::new(kind, Payload::null()) };
        let submit = process.engine.address(new);
        let Some(Ok(submitted)) = self.0.run(&process, &submit).await else { return };
        let (mut thief, command) = (self.0.split(), CommandId(self.0.dice.wide()));
        let act = act::Revoke { lease: None, reason: Reason::new("so it was wished") }.into();
        let revoke = Operate { command, namespace, execution: submitted.id, by: None, act };
        let (claimed, _) = tokio::join!(self.0.claim(&process, &wants, Span(0)), thief.run(&process, &revoke));
        self.finish(&process, claimed.and_then(Result::ok).unwrap_or_default()).await;
        let again = self.0.claim(&process, &wants, WAIT).await;
        self.finish(&process, again.and_then(Result::ok).unwrap_or_default()).await;
    }

    /// Completes what it holds, which may be taken away by now.
    async fn finish(&mut self, process: &Running, claimed: Vec<Claimed>) {
        for work in claimed {
            let end = end::Complete { result: Payload::null() }.into();
            let report = Report { command: CommandId(self.0.dice.wide()), fence: work.fence, end };
            drop(self.0.run(process, &report).await);
        }
    }

    /// Closes a lane, and opens it through another process while others submit to it.
    pub(crate) async fn open_behind(mut self, world: &Arc<World>) {
        let settings = world.settings.clone();
        let (Some(namespace), Some(lane)) =
            (self.0.dice.pick(&settings.namespaces).cloned(), self.0.dice.pick(&settings.lanes).cloned())
        else {
            return;
        };
        let all: Vec<Running> = world.processes().collect();
        let Some(process) = self.0.dice.pick(&all).cloned() else { return };
        self.0.set_lane(&process, &namespace, &lane, LaneState::Paused).await;
        let submitters: Vec<Submitter> = (0..3).map(|_| Submitter(self.0.split())).collect();
        let submits = submitters.into_iter().map(|submitter| submitter.once_to(&namespace, &lane));
        let submits = futures_util::future::join_all(submits);
        tokio::join!(submits, self.0.set_lane(&process, &namespace, &lane, LaneState::Open));
    }
}
