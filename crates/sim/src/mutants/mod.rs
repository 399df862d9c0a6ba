//! Planted faults: what the engine, its rules or its store could get wrong. The simulation must notice each one.
//!
//! They live here and nowhere else: rules are swapped through the engine's options, and what the store does is changed
//! between the engine and the reference store, before the checkers look.

use crate::hub::Hub;
use onward_core::record::{AttemptKind, Execution, Readiness, Record, State, Waiting};
use onward_core::{Claim, Command, CommandId, Deliver, ExecutionId, Fence, Key, Millis, Reply, Stop, View, apply};
use onward_engine::Rules;
use onward_store::{Batch, Key as StoreKey, Version, Window};
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// A planted fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutant {
    /// A commit does not check the versions it expects.
    NoVersionCheck,
    /// Whoever calls is taken for the holder of the current lease.
    NoFence,
    /// A commit does not look at the store's clock.
    NoWindow,
    /// A receiver remembers the highest sequence it applied instead of the ids.
    MarkInsteadOfIds,
    /// A refusal is answered without checking what it was based on.
    RefusalAnsweredEarly,
    /// A claim believes that what a queue offers is ready.
    HintTrusted,
    /// A new lease gets the epoch of the one before.
    EpochReuse,
    /// Events are written although their batch is not.
    EventBeforeCommit,
    /// A commit does not check the copy of the lane it relied on.
    StaleLaneCopy,
    /// Delivered messages are not removed.
    LostOutboxRemoval,
    /// Now and then a commit is acknowledged and not written.
    AcknowledgedUnwritten,
    /// A repeated completion is taken for a new one.
    RepeatForgotten,
    /// Lost hints are never looked for.
    NeverSwept,
}

/// Planted faults that belong to features which do not exist yet.
pub const NOT_APPLICABLE: [&str; 2] = ["park without count", "purge without tombstone"];

impl Mutant {
    /// Every planted fault.
    pub const ALL: [Self; 13] = [
        Self::NoVersionCheck,
        Self::NoFence,
        Self::NoWindow,
        Self::MarkInsteadOfIds,
        Self::RefusalAnsweredEarly,
        Self::HintTrusted,
        Self::EpochReuse,
        Self::EventBeforeCommit,
        Self::StaleLaneCopy,
        Self::LostOutboxRemoval,
        Self::AcknowledgedUnwritten,
        Self::RepeatForgotten,
        Self::NeverSwept,
    ];

    /// Its name in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NoVersionCheck => "no version check",
            Self::NoFence => "no fence",
            Self::NoWindow => "no window",
            Self::MarkInsteadOfIds => "mark instead of ids",
            Self::RefusalAnsweredEarly => "refusal answered early",
            Self::HintTrusted => "hint trusted",
            Self::EpochReuse => "epoch reuse",
            Self::EventBeforeCommit => "event before commit",
            Self::StaleLaneCopy => "stale lane copy",
            Self::LostOutboxRemoval => "lost outbox removal",
            Self::AcknowledgedUnwritten => "acknowledged unwritten",
            Self::RepeatForgotten => "repeat forgotten",
            Self::NeverSwept => "never swept",
        }
    }

    /// The rules that an engine with this fault runs.
    fn rules(self) -> Rules {
        match self {
            Self::NoFence => no_fence,
            Self::MarkInsteadOfIds => mark_instead_of_ids,
            Self::HintTrusted => hint_trusted,
            Self::EpochReuse => epoch_reuse,
            Self::RepeatForgotten => repeat_forgotten,
            _ => counted,
        }
    }

    /// What arrives at the store in place of a batch; `current` tells the version that a key has.
    pub(crate) fn alter(self, mut batch: Batch, current: impl Fn(&StoreKey) -> Option<Version>) -> Batch {
        match self {
            Self::NoVersionCheck => {
                for (key, version) in &mut batch.expect {
                    *version = current(key);
                }
            }
            Self::NoWindow => batch.window = Window::default(),
            Self::StaleLaneCopy => {
                let written = |key: &StoreKey| batch.put.iter().any(|record| record.key == *key);
                batch.expect.retain(|(key, _)| !key.as_str().starts_with("lane/") || written(key));
            }
            Self::LostOutboxRemoval => batch.delete.retain(|key| !key.as_str().starts_with("out/")),
            _ => {}
        }
        batch
    }
}

/// The rules that an engine runs, with or without a fault.
pub(crate) fn rules(mutant: Option<Mutant>) -> Rules {
    mutant.map_or(counted, Mutant::rules)
}

thread_local! {
    /// The run of this thread: rules are plain functions and find it here.
    static RUN: RefCell<Option<Arc<Hub>>> = const { RefCell::new(None) };
    static OPERATIONS: Cell<u64> = const { Cell::new(0) };
}

/// Says which run the rules on this thread belong to, and forgets what the last one counted.
pub(crate) fn begin(hub: &Arc<Hub>) {
    RUN.with(|run| *run.borrow_mut() = Some(hub.clone()));
    OPERATIONS.set(0);
}

/// Ends the run of this thread; answers how many commands its rules ran, repeats and timers included.
pub(crate) fn end() -> u64 {
    RUN.with(|run| *run.borrow_mut() = None);
    OPERATIONS.get()
}

fn hub() -> Option<Arc<Hub>> {
    RUN.with(|run| run.borrow().clone())
}

fn counted(view: &mut View<'_>, command: &Command, now: Millis) -> Result<Reply, Stop> {
    OPERATIONS.set(OPERATIONS.get() + 1);
    apply(view, command, now)
}

fn no_fence(view: &mut View<'_>, command: &Command, now: Millis) -> Result<Reply, Stop> {
    let mut command = command.clone();
    let fence = match &mut command {
        Command::Renew(renew) => Some(&mut renew.fence),
        Command::Complete(complete) => Some(&mut complete.fence),
        Command::Fail(fail) => Some(&mut fail.fence),
        Command::Unclaim(unclaim) => Some(&mut unclaim.fence),
        _ => None,
    };
    if let Some(fence) = fence
        && let Some(Record::Execution(execution)) = view.get(&Key::Execution(fence.execution))?.as_deref()
        && let State::Active(active) = &execution.state
    {
        let execution = execution.id;
        *fence = Fence { execution, lease: active.lease.id, epoch: active.lease.epoch, attempt: active.attempt.index };
    }
    counted(view, &command, now)
}

fn repeat_forgotten(view: &mut View<'_>, command: &Command, now: Millis) -> Result<Reply, Stop> {
    let mut command = command.clone();
    if let Command::Complete(complete) = &mut command {
        complete.command = CommandId(complete.command.0 ^ u128::from(OPERATIONS.get() + 1));
    }
    counted(view, &command, now)
}

fn mark_instead_of_ids(view: &mut View<'_>, command: &Command, now: Millis) -> Result<Reply, Stop> {
    let Command::Deliver(deliver) = command else { return counted(view, command, now) };
    let Some(hub) = hub() else { return counted(view, command, now) };
    let (to, from) = (view.partition(), deliver.from);
    let messages = hub.check(|checker| {
        let mark = checker.mark(to, from);
        let is_new = |id| mark.is_none_or(|mark| checker.seq(id).is_none_or(|seq| seq > mark));
        deliver.messages.iter().filter(|message| is_new(message.id)).cloned().collect()
    });
    counted(view, &Command::Deliver(Deliver { from, messages }), now)
}

/// The record that a claim is about to read, if it can still be swapped for another.
fn before_claim(view: &View<'_>, claim: &Claim) -> Option<Execution> {
    let key = Key::Execution(claim.execution);
    if view.has(&key) { None } else { stored(claim.execution) }
}

fn stored(id: ExecutionId) -> Option<Execution> {
    hub()?.check(|checker| checker.execution(id).cloned())
}

fn hint_trusted(view: &mut View<'_>, command: &Command, now: Millis) -> Result<Reply, Stop> {
    if let Command::Claim(claim) = command
        && let Some(mut execution) = before_claim(view, claim)
    {
        let repeats = matches!(&execution.state, State::Active(active) if active.lease.id == claim.lease);
        if !repeats && !matches!(execution.state, State::Waiting(_)) {
            let readiness = Readiness::Ready { since: execution.changed_at };
            execution.state = State::Waiting(Waiting { readiness, next: AttemptKind::Reclaim });
            execution.result = None;
            view.supply(Key::Execution(claim.execution), Some(Arc::new(Record::Execution(execution))));
        }
    }
    counted(view, command, now)
}

fn epoch_reuse(view: &mut View<'_>, command: &Command, now: Millis) -> Result<Reply, Stop> {
    if let Command::Claim(claim) = command
        && let Some(mut execution) = before_claim(view, claim)
        && matches!(execution.state, State::Waiting(_))
        && execution.epoch > 0
    {
        execution.epoch -= 1;
        view.supply(Key::Execution(claim.execution), Some(Arc::new(Record::Execution(execution))));
    }
    counted(view, command, now)
}
