//! Planted faults: what the engine, its rules or its store could get wrong. The simulation must notice each one.
//!
//! They live here and nowhere else: rules are swapped through the engine's options, and what the store does is changed
//! between the engine and the reference store, before the checkers look.

mod letters;
mod lives;
mod rules;
mod waits;

pub(crate) use rules::{begin, end, entry, rules};

use crate::named::named;
use onward_store::{Batch, Key, Record, Window};
use std::collections::BTreeSet;

named! {
    /// A planted fault.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Mutant {
        /// A commit does not check the versions it expects.
        NoVersionCheck = "no version check",
        /// Every caller counts as the holder of the current lease.
        NoFence = "no fence",
        /// A commit does not look at the store's clock.
        NoWindow = "no window",
        /// A receiver remembers the highest sequence it applied instead of the ids.
        MarkInsteadOfIds = "mark instead of ids",
        /// A refusal is answered without checking what it was based on.
        RefusalAnsweredEarly = "refusal answered early",
        /// A claim believes that what a queue offers is ready.
        HintTrusted = "hint trusted",
        /// A new lease gets the epoch of the one before.
        EpochReuse = "epoch reuse",
        /// An errand counts as done with its next piece, whatever is left.
        ErrandForgotten = "errand forgotten at its last page",
        /// A page of candidates that names nothing ends an errand.
        PageTrusted = "page trusted",
        /// Events are written although their batch is not.
        EventBeforeCommit = "event before commit",
        /// A commit does not check the copy of the lane it relied on.
        StaleLaneCopy = "stale lane copy",
        /// Delivered messages are not removed.
        LostOutboxRemoval = "lost outbox removal",
        /// Now and then a commit is acknowledged and not written.
        AcknowledgedUnwritten = "acknowledged unwritten",
        /// A repeated completion is taken for a new one.
        RepeatForgotten = "repeat forgotten",
        /// Lost hints are never looked for.
        NeverSwept = "never swept",
        /// What callers wait for is read when a hint says so, and never else.
        WakeTrusted = "wake trusted",
        /// A due time that comes is let go by; only a sweep finds it again.
        TimerOnlyBySweep = "timer only by sweep",
        /// Work that has just become ready is handed to no parked worker; only a sweep finds it again.
        WaiterNotWoken = "waiter not woken",
        /// The first lost lease is the end of an execution.
        GivesUpAtOnce = "gives up at once",
        /// A lease lasts longer than its worker asked for.
        LeaseTooLong = "lease too long",
        /// Work is ready at once, whatever its submitter asked for.
        DelayIgnored = "delay ignored",
        /// A listing stops before its end.
        ListingCut = "listing cut",
        /// What is being removed can be run again.
        PurgeWithoutTombstone = "purge without tombstone",
        /// An execution is removed before what stands beside it.
        PurgeLeavesPieces = "purge leaves pieces",
        /// What was asked to stop and ends in another way is tried again.
        StopForgotten = "stop forgotten",
        /// An attempt's time goes on while it is paused.
        PausesTimeOut = "pauses time out",
        /// A unique key goes on standing for what has ended.
        UniqueKeyNotFreed = "unique key not freed",
        /// The result of one life is left to the next.
        ReplayKeepsResult = "replay keeps result",
        /// A unique key's record goes with the end of its holder.
        UniqueDeletedAtOnce = "unique deleted at once",
        /// News about a lane are undone by the answer of a commit that is older.
        StaleAnswerStallsLane = "stale answer stalls lane",
        /// Work that a commit leaves as it found it is not announced, although a claim in it took it off the board.
        AnnouncedByDifference = "announced by difference",
        /// A report is denied because a purge has removed the attempt that remembers it.
        HalfPurgedDenies = "half-purged denies",
        /// A batch that only checks is answered although no replica has what it was judged by.
        CheckNotWaitedFor = "check not waited for",
        /// A refusal does not make the batch impossible that was lost before it.
        LostBatchNotOvertaken = "lost batch not overtaken",
        /// An acknowledgement that is applied again counts for a partition that still owes.
        MessageByDifference = "message applied by difference",
        /// A suspension forgets the signals in the mailbox that it does not ask for.
        MailboxLost = "mailbox lost",
        /// A wait that is over waits again, takes signals, and is answered anew.
        WaitAnsweredTwice = "wait answered twice",
        /// A suspension ends without a record of the waits that end with it.
        ResumeWithoutRecord = "resume without record",
        /// A proof is accepted for a while after its end.
        ProofOutlivesItself = "token accepted after expiry",
        /// A commit that accepts a signal does not look at the store's clock.
        SignalAfterTimeout = "signal accepted after the timeout",
        /// Held work that is still offered can be claimed.
        HoldIgnored = "hold ignored",
    }
}

/// Planted faults that belong to features which do not exist yet.
pub const NOT_APPLICABLE: [&str; 1] = ["park without count"];

impl Mutant {
    /// The checkers that may find it. Found by any other, something else is wrong, or the right one sees too little.
    #[must_use]
    pub fn finders(self) -> &'static [&'static str] {
        match self {
            Self::NoVersionCheck => &["executions", "answers", "lanes", "messages", "history", "waits"],
            Self::NoFence => &["fence", "executions", "answers"],
            Self::NoWindow => &["executions", "answers", "waits"],
            Self::MarkInsteadOfIds => &["messages"],
            Self::RefusalAnsweredEarly => &["answers", "liveness"],
            Self::HintTrusted | Self::EpochReuse | Self::GivesUpAtOnce | Self::LeaseTooLong => &["executions"],
            Self::EventBeforeCommit => &["feed"],
            Self::StaleLaneCopy => &["lanes", "answers", "liveness"],
            Self::AcknowledgedUnwritten => &["answers", "messages"],
            Self::RepeatForgotten => &["answers", "repeats"],
            Self::LostOutboxRemoval => &["liveness", "messages"],
            Self::NeverSwept | Self::WakeTrusted | Self::TimerOnlyBySweep | Self::WaiterNotWoken => &["liveness"],
            Self::DelayIgnored => &["requests", "answers"],
            Self::ListingCut => &["reads"],
            Self::PurgeWithoutTombstone | Self::StopForgotten | Self::PausesTimeOut => &["executions"],
            Self::PurgeLeavesPieces | Self::ReplayKeepsResult | Self::ErrandForgotten | Self::PageTrusted => {
                &["pieces"]
            }
            Self::UniqueKeyNotFreed => &["unique"],
            Self::UniqueDeletedAtOnce | Self::LostBatchNotOvertaken => &["fence", "answers"],
            Self::StaleAnswerStallsLane | Self::AnnouncedByDifference => &["liveness"],
            Self::HalfPurgedDenies => &["answers", "repeats"],
            Self::CheckNotWaitedFor => &["durability"],
            Self::MessageByDifference => &["lanes"],
            Self::MailboxLost | Self::ResumeWithoutRecord | Self::ProofOutlivesItself => &["waits"],
            Self::WaitAnsweredTwice | Self::SignalAfterTimeout => &["waits"],
            Self::HoldIgnored => &["executions"],
        }
    }

    /// What arrives at the store in place of a batch; `current` tells what is stored under a key.
    pub(crate) fn alter(self, mut batch: Batch, current: impl Fn(&Key) -> Option<Record>) -> Batch {
        match self {
            Self::NoVersionCheck => {
                for (key, version) in &mut batch.expect {
                    *version = current(key).map(|row| row.version);
                }
            }
            Self::NoWindow => batch.window = Window::default(),
            Self::StaleLaneCopy => {
                let written = |key: &Key| batch.put.iter().any(|record| record.key == *key);
                batch.expect.retain(|(key, _)| !key.as_str().starts_with("lane/") || written(key));
            }
            Self::PurgeLeavesPieces => batch.delete.retain(|key| !is_piece(key)),
            Self::UniqueKeyNotFreed => batch.put.retain(|row| !is_freed(row)),
            Self::UniqueDeletedAtOnce => {
                let freed: Vec<Record> = batch.put.extract_if(.., |row| is_freed(row)).collect();
                batch.delete.extend(freed.into_iter().map(|row| row.key));
            }
            Self::LostBatchNotOvertaken => {
                batch.put.retain(|row| current(&row.key).is_none_or(|stored| stored.body != row.body));
                let put: BTreeSet<Key> = batch.put.iter().map(|row| row.key.clone()).collect();
                batch.append.retain(|append| put.contains(&append.log));
            }
            Self::ResumeWithoutRecord => batch.put.retain(|row| !waits::is_wait(row)),
            Self::SignalAfterTimeout if waits::accepts_signal(&batch) => batch.window = Window::default(),
            Self::LostOutboxRemoval => batch.delete.retain(|key| !key.as_str().starts_with("out/")),
            _ => {}
        }
        batch
    }
}

/// Whether a row frees a unique key.
fn is_freed(row: &Record) -> bool {
    row.key.as_str().starts_with("unique/") && String::from_utf8_lossy(&row.body).contains("\"freed_at\"")
}

fn is_piece(key: &Key) -> bool {
    key.as_str().starts_with("x-") && key.as_str().contains('/') && !key.as_str().contains("/e/")
}
