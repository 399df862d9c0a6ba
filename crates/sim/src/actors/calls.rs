//! One call to one process: sent, traced, counted, and its answer shown to the checkers.

use crate::dice::Dice;
use crate::world::{Running, Said, World};
use onward_core::record::LaneState;
use onward_core::{
    AfterFailure, Claimed, CommandId, Failure, Fence, Lane, LaneChange, Namespace, Payload, Span, Submitted,
};
use onward_engine::{Error, NewExecution, SubmitIds, Wants};
use std::fmt;
use std::future::Future;
use std::sync::Arc;

/// Somebody who calls the engine.
#[derive(Debug)]
pub(crate) struct Caller {
    pub(crate) world: Arc<World>,
    pub(crate) dice: Dice,
    name: String,
}

/// An answer, or nothing when the process died or the caller left.
pub(crate) type Heard<T> = Option<Result<T, Error>>;

impl Caller {
    pub(crate) fn new(world: Arc<World>, dice: Dice, name: String) -> Self {
        Self { world, dice, name }
    }

    /// Another caller of the same name, for calls at the same time.
    pub(crate) fn split(&mut self) -> Self {
        Self { world: self.world.clone(), dice: self.dice.fork(), name: self.name.clone() }
    }

    /// Whether this caller misbehaves now, as some do while it is not calm.
    pub(crate) fn errs(&mut self, percent: u64) -> bool {
        !self.world.is_calm() && self.dice.percent(percent)
    }

    /// Now and then a caller leaves in the middle of its call.
    pub(crate) fn hurry(&mut self) -> Option<Span> {
        self.errs(6).then(|| self.dice.span(0, 400))
    }

    pub(super) fn say(&self, process: &Running, what: fmt::Arguments<'_>) {
        self.world.hub.command(format_args!("{} -> p{}: {what}", self.name, process.state.process));
    }

    pub(super) async fn hear<T: fmt::Debug>(
        &mut self,
        process: &Running,
        hurry: Option<Span>,
        call: impl Future<Output = Result<T, Error>>,
    ) -> Heard<T> {
        let hub = self.world.hub.clone();
        match self.world.ask(process, hurry, call).await {
            Said::Answer(answer) => {
                match &answer {
                    Ok(reply) => hub.trace(format_args!("{} <- p{}: {reply:?}", self.name, process.state.process)),
                    Err(error) => hub.trace(format_args!("{} <- p{}: {error}", self.name, process.state.process)),
                }
                Some(answer)
            }
            Said::Nothing => {
                hub.trace(format_args!("{} <- p{}: nothing", self.name, process.state.process));
                None
            }
        }
    }

    pub(crate) async fn submit(&mut self, process: &Running, ids: SubmitIds, new: &NewExecution) -> Heard<Submitted> {
        let hub = self.world.hub.clone();
        let begin = hub.now();
        let since = hub.check(|checker| {
            checker.submits(ids, new);
            checker.since(begin)
        });
        let (hurry, key) = (self.hurry(), new.idempotency_key.as_ref().map_or("-", |key| key.as_str()));
        self.say(process, format_args!("submit {} key {key} to {} {:?}", ids.execution, new.lane, new.when));
        let heard = self.hear(process, hurry, process.engine.submit_with(ids, new.clone())).await;
        if let Some(answer) = &heard {
            let now = hub.now();
            hub.check(|checker| checker.submitted(since, now, ids, new, answer));
        }
        heard
    }

    pub(crate) async fn claim(&mut self, process: &Running, wants: &Wants, wait: Span) -> Heard<Vec<Claimed>> {
        let hub = self.world.hub.clone();
        hub.check(|checker| checker.worker(wants));
        let hurry = self.hurry().map(|hurry| Span(hurry.0 * 4));
        self.say(process, format_args!("claim {} within {wait}", wants.max));
        self.world.waits(wants);
        let heard = self.hear(process, hurry, process.engine.claim(wants, wait)).await;
        self.world.wakes(wants);
        if let Some(answer) = &heard {
            hub.check(|checker| checker.claimed(wants, answer));
        }
        heard
    }

    pub(crate) async fn complete(
        &mut self,
        process: &Running,
        command: CommandId,
        fence: Fence,
        result: &Payload,
    ) -> Heard<()> {
        let hub = self.world.hub.clone();
        let begin = hub.now();
        let since = hub.check(|checker| {
            checker.sent(command, Some(fence));
            checker.since(begin)
        });
        let hurry = self.hurry();
        self.say(process, format_args!("complete {} epoch {} by {command}", fence.execution, fence.epoch));
        let call = process.engine.complete_with(command, fence, result.clone());
        let heard = self.hear(process, hurry, call).await;
        if let Some(answer) = &heard {
            let now = hub.now();
            hub.check(|checker| checker.completed(since, now, (command, fence), result, answer));
        }
        heard
    }

    pub(crate) async fn fail(
        &mut self,
        process: &Running,
        command: CommandId,
        fence: Fence,
        failure: &Failure,
    ) -> Heard<AfterFailure> {
        let hub = self.world.hub.clone();
        let begin = hub.now();
        let since = hub.check(|checker| {
            checker.sent(command, Some(fence));
            checker.since(begin)
        });
        let hurry = self.hurry();
        self.say(process, format_args!("fail {} epoch {} by {command}", fence.execution, fence.epoch));
        let call = process.engine.fail_with(command, fence, failure.clone());
        let heard = self.hear(process, hurry, call).await;
        if let Some(answer) = &heard {
            let now = hub.now();
            hub.check(|checker| checker.failed(since, now, (command, fence), answer));
        }
        heard
    }

    pub(crate) async fn unclaim(&mut self, process: &Running, fence: Fence) -> Heard<()> {
        let hub = self.world.hub.clone();
        let begin = hub.now();
        let since = hub.check(|checker| checker.since(begin));
        let hurry = self.hurry();
        self.say(process, format_args!("unclaim {} epoch {}", fence.execution, fence.epoch));
        let heard = self.hear(process, hurry, process.engine.unclaim(fence)).await;
        if let Some(answer) = &heard {
            let now = hub.now();
            hub.check(|checker| checker.returned(since, now, fence, answer));
        }
        heard
    }

    pub(crate) async fn set_lane(
        &mut self,
        process: &Running,
        namespace: &Namespace,
        lane: &Lane,
        state: LaneState,
    ) -> Heard<u64> {
        let hub = self.world.hub.clone();
        let begin = hub.now();
        let since = hub.check(|checker| checker.since(begin));
        let hurry = self.hurry();
        self.say(process, format_args!("set lane {namespace}/{lane} {state:?}"));
        let change = LaneChange { state: Some(state), ..LaneChange::default() };
        let heard = self.hear(process, hurry, process.engine.set_lane(namespace, lane, change)).await;
        if let Some(answer) = &heard {
            hub.check(|checker| checker.lane_set(since, namespace, lane, answer));
        }
        heard
    }
}
