//! Whether records agree with each other: what each presumes of those beside it, and what sets a contradiction right.
//!
//! Commits keep records together, so a contradiction is damage from outside. Judging changes nothing; whoever carries out
//! a [`Fix`] must do it on the condition that nothing that was judged has changed.

use crate::record::Record;
use crate::{ExecutionId, Key, Millis};
use std::fmt;

/// What is wrong with a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// This version cannot read it.
    Unreadable,
    /// It belongs to an execution that does not exist.
    Orphaned {
        /// The execution.
        owner: ExecutionId,
    },
    /// Something that belongs to it is gone.
    PartMissing {
        /// What is gone.
        part: Key,
    },
    /// No worker would find its work: the queue it waits in is not registered.
    QueueMissing {
        /// The registration.
        queues: Key,
    },
    /// Its unique key stands for nothing, so that a second one could be submitted.
    UniqueMissing {
        /// The key's record.
        unique: Key,
    },
    /// Its unique key stands for another execution.
    UniqueTaken {
        /// The other one.
        by: ExecutionId,
    },
    /// This unique key stands for an execution that has ended, does not exist or has another key.
    UniqueStale {
        /// The execution.
        execution: ExecutionId,
    },
    /// It is on its way, but its queue does not know.
    MessageUnlisted,
    /// A message that could not be delivered was set aside.
    DeadLetter,
}

/// What sets a contradiction right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fix {
    /// Write this record.
    Put(Key, Box<Record>),
    /// Remove this record.
    Delete(Key),
}

impl Fix {
    pub(crate) fn put(key: Key, record: Record) -> Self {
        Self::Put(key, Box::new(record))
    }
}

/// Where the records are found that another is judged beside.
pub(crate) type Beside<'a, 'r> = dyn Fn(&Key) -> Option<&'r Record> + 'a;

/// What was found, and what to do about it if anything can be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// What is wrong.
    pub finding: Finding,
    /// What sets it right.
    pub fix: Option<Fix>,
}

impl Finding {
    /// The stable word for it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Unreadable => "record_unreadable",
            Self::Orphaned { .. } => "part_orphaned",
            Self::PartMissing { .. } => "part_missing",
            Self::QueueMissing { .. } => "queue_missing",
            Self::UniqueMissing { .. } => "unique_key_missing",
            Self::UniqueTaken { .. } => "unique_key_taken",
            Self::UniqueStale { .. } => "unique_key_stale",
            Self::MessageUnlisted => "message_unlisted",
            Self::DeadLetter => "dead_letter",
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable => f.write_str("this version cannot read it; a newer one may have written it"),
            Self::Orphaned { owner } => write!(f, "it belongs to {owner}, which does not exist"),
            Self::PartMissing { part } => write!(f, "{part} belongs to it and is gone"),
            Self::QueueMissing { queues } => write!(f, "no worker would find it: {queues} does not list its queue"),
            Self::UniqueMissing { unique } => {
                write!(f, "{unique} does not stand for it, so a second one could be submitted")
            }
            Self::UniqueTaken { by } => write!(f, "its unique key stands for {by}"),
            Self::UniqueStale { execution } => write!(f, "it stands for {execution}, which no longer holds it"),
            Self::MessageUnlisted => f.write_str("its queue does not know of it"),
            Self::DeadLetter => f.write_str("a message that could not be delivered was set aside here"),
        }
    }
}

/// The records of the same partition that a record must be judged beside.
#[must_use]
pub fn presumes(key: &Key, record: &Record) -> Vec<Key> {
    record.stored().map(|stored| stored.presumes(key)).unwrap_or_default()
}

/// What is wrong with a record, given those that [`presumes`] names; `now` stamps what a fix writes.
#[must_use]
pub fn judge<'a>(key: &Key, record: &Record, now: Millis, beside: impl Fn(&Key) -> Option<&'a Record>) -> Vec<Verdict> {
    match record.stored() {
        Some(stored) => stored.judge(key, now, &beside),
        None => vec![Verdict { finding: Finding::Unreadable, fix: None }],
    }
}

/// The execution of a record that is part of one.
pub(crate) fn owner(key: &Key) -> Vec<Key> {
    match key {
        Key::Attempt(owner, _)
        | Key::History(owner, _)
        | Key::Payload(owner, _)
        | Key::Signal(owner, _)
        | Key::Wait(owner, _)
        | Key::Errand(owner, _) => vec![Key::Execution(*owner)],
        _ => Vec::new(),
    }
}

/// What is wrong with a part of an execution: without the execution it is of no use.
pub(crate) fn judge_part(key: &Key, beside: &Beside) -> Vec<Verdict> {
    let orphaned = |owner: Key| match (beside(&owner), owner) {
        (None, Key::Execution(owner)) => {
            Some(Verdict { finding: Finding::Orphaned { owner }, fix: Some(Fix::Delete(key.clone())) })
        }
        _ => None,
    };
    owner(key).into_iter().filter_map(orphaned).collect()
}
