//! One call to one process: sent, traced, counted, and its answer shown to the checkers.

use super::verbs::WatchedVerb;
use crate::checker::{Checker, Since};
use crate::clock::sleep;
use crate::dice::Dice;
use crate::world::{Running, World};
use onward_core::record::LaneState;
use onward_core::{Claimed, Lane, LaneChange, Millis, Namespace, Span};
use onward_engine::{Error, Wants};
use std::fmt;
use std::future::Future;
use std::sync::Arc;

/// Sets the streams for what waiting adds apart from all others.
const WAITS: u64 = 0x7761_6974_732d_3031;
/// Mixes a caller's name into its stream.
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// Somebody who calls the engine.
#[derive(Debug)]
pub(crate) struct Caller {
    pub(crate) world: Arc<World>,
    pub(crate) dice: Dice,
    /// For what waiting adds, so that it moves no other draw.
    pub(crate) fresh: Dice,
    name: String,
}

/// An answer, or nothing when the process died or the caller left.
pub(crate) type Heard<T> = Option<Result<T, Error>>;

impl Caller {
    pub(crate) fn new(world: Arc<World>, dice: Dice, name: String) -> Self {
        let own = name.bytes().fold(world.seed() ^ WAITS, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME));
        let fresh = Dice::new(own);
        Self { world, dice, fresh, name }
    }

    /// Another caller of the same name, for calls at the same time.
    pub(crate) fn split(&mut self) -> Self {
        let (dice, fresh) = (self.dice.fork(), self.fresh.fork());
        Self { world: self.world.clone(), dice, fresh, name: self.name.clone() }
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

    /// Traces something that is no command.
    pub(super) fn note(&self, process: &Running, what: fmt::Arguments<'_>) {
        self.world.hub.trace(format_args!("{} at p{} {what}", self.name, process.state.process));
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

    /// Shows the checkers the answer to a call, if there was one, and when it came.
    pub(super) fn judge<T>(&self, heard: &Heard<T>, judge: impl FnOnce(&mut Checker, Millis, &Result<T, Error>)) {
        if let Some(answer) = heard {
            let now = self.world.hub.now();
            self.world.hub.check(|checker| judge(checker, now, answer));
        }
    }

    /// Runs a verb: the checkers learn what goes out, and its answer must be true at some moment from then on.
    pub(crate) async fn run<V: WatchedVerb>(&mut self, process: &Running, verb: &V) -> Heard<V::Reply> {
        self.world.hub.check(|checker| verb.goes_out(checker));
        let (since, hurry) = (self.since(), self.hurry());
        self.say(process, format_args!("{}", verb.shown()));
        let heard = self.hear(process, hurry, process.engine.run(verb.clone())).await;
        self.judge(&heard, |checker, now, answer| verb.answered(checker, since, now, answer));
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
