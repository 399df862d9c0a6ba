//! One call to one process: sent, traced, counted, and its answer shown to the checkers.

use crate::checker::{Checker, Since};
use crate::clock::sleep;
use crate::dice::Dice;
use crate::world::{Running, World};
use onward_core::record::LaneState;
use onward_core::{
    AfterFailure, Claimed, CommandId, Failure, Fence, Lane, LaneChange, Millis, Namespace, Payload, Span, Submitted,
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

    /// Pauses for a drawn time and returns whether faults still go on; once it is calm, returns false at once.
    pub(super) async fn pauses(&mut self, least_ms: u64, most_ms: u64) -> bool {
        if self.world.is_calm() {
            return false;
        }
        sleep(self.dice.span(least_ms, most_ms)).await;
        !self.world.is_calm()
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
        let heard = self.world.ask(process, hurry, call).await;
        let (hub, name, process) = (&self.world.hub, &self.name, process.state.process);
        match &heard {
            Some(Ok(reply)) => hub.trace(format_args!("{name} <- p{process}: {reply:?}")),
            Some(Err(error)) => hub.trace(format_args!("{name} <- p{process}: {error}")),
            None => hub.trace(format_args!("{name} <- p{process}: nothing")),
        }
        heard
    }

    /// The beginning of a call: its answer must be true at some moment from now on.
    pub(super) fn since(&self) -> Since {
        let now = self.world.hub.now();
        self.world.hub.check(|checker| checker.since(now))
    }

    /// Begins a call: tells the checkers what goes out, and returns when it began and when its caller leaves early.
    pub(super) fn begin(&mut self, tell: impl FnOnce(&mut Checker)) -> (Since, Option<Span>) {
        self.world.hub.check(tell);
        (self.since(), self.hurry())
    }

    /// Shows the checkers the answer to a call, if there was one, and when it came.
    pub(super) fn judge<T>(&self, heard: &Heard<T>, judge: impl FnOnce(&mut Checker, Millis, &Result<T, Error>)) {
        if let Some(answer) = heard {
            let now = self.world.hub.now();
            self.world.hub.check(|checker| judge(checker, now, answer));
        }
    }

    pub(crate) async fn submit(&mut self, process: &Running, ids: SubmitIds, new: &NewExecution) -> Heard<Submitted> {
        let (since, hurry) = self.begin(|checker| checker.submits(ids, new));
        let key = new.idempotency_key.as_ref().map_or("-", |key| key.as_str());
        self.say(process, format_args!("submit {} key {key} to {} {:?}", ids.execution, new.lane, new.when));
        let heard = self.hear(process, hurry, process.engine.submit_with(ids, new.clone())).await;
        self.judge(&heard, |checker, now, answer| checker.submitted(since, now, ids, new, answer));
        heard
    }

    pub(crate) async fn claim(&mut self, process: &Running, wants: &Wants, wait: Span) -> Heard<Vec<Claimed>> {
        self.world.hub.check(|checker| checker.worker(wants));
        let hurry = self.hurry().map(|hurry| Span(hurry.0 * 4));
        self.say(process, format_args!("claim {} within {wait}", wants.max));
        self.world.waits(wants);
        let heard = self.hear(process, hurry, process.engine.claim(wants, wait)).await;
        self.world.wakes(wants);
        self.judge(&heard, |checker, _, answer| checker.claimed(wants, answer));
        heard
    }

    pub(crate) async fn complete(
        &mut self,
        process: &Running,
        command: CommandId,
        fence: Fence,
        result: &Payload,
    ) -> Heard<()> {
        let (since, hurry) = self.begin(|checker| checker.sent(command, fence));
        self.say(process, format_args!("complete {} epoch {} by {command}", fence.execution, fence.epoch));
        let call = process.engine.complete_with(command, fence, result.clone());
        let heard = self.hear(process, hurry, call).await;
        self.judge(&heard, |checker, now, answer| {
            checker.completed(since, now, (Some(command), fence), result, answer);
        });
        heard
    }

    pub(crate) async fn fail(
        &mut self,
        process: &Running,
        command: CommandId,
        fence: Fence,
        failure: &Failure,
    ) -> Heard<AfterFailure> {
        let (since, hurry) = self.begin(|checker| checker.sent(command, fence));
        self.say(process, format_args!("fail {} epoch {} by {command}", fence.execution, fence.epoch));
        let call = process.engine.fail_with(command, fence, failure.clone());
        let heard = self.hear(process, hurry, call).await;
        self.judge(&heard, |checker, now, answer| checker.failed(since, now, (command, fence), answer));
        heard
    }

    pub(crate) async fn unclaim(&mut self, process: &Running, fence: Fence) -> Heard<()> {
        let (since, hurry) = (self.since(), self.hurry());
        self.say(process, format_args!("unclaim {} epoch {}", fence.execution, fence.epoch));
        let heard = self.hear(process, hurry, process.engine.unclaim(fence)).await;
        self.judge(&heard, |checker, now, answer| checker.returned(since, now, fence, answer));
        heard
    }

    pub(crate) async fn set_lane(
        &mut self,
        process: &Running,
        namespace: &Namespace,
        lane: &Lane,
        state: LaneState,
    ) -> Heard<u64> {
        let (since, hurry) = (self.since(), self.hurry());
        self.say(process, format_args!("set lane {namespace}/{lane} {state:?}"));
        let change = LaneChange { state: Some(state), ..LaneChange::default() };
        let heard = self.hear(process, hurry, process.engine.set_lane(namespace, lane, change)).await;
        self.judge(&heard, |checker, _, answer| checker.lane_set(since, namespace, lane, answer));
        heard
    }
}
