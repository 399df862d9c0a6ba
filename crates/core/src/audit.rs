//! Whether records agree with each other: what each presumes of those beside it, and what sets a contradiction right.
//!
//! Commits keep records together, so a contradiction is damage from outside. Judging changes nothing; whoever carries out
//! a [`Fix`] must do it on the condition that nothing that was judged has changed.

use crate::record::{ClassSeen, Execution, Format, Outbox, Record, State, StoredPayload, UniqueRecord};
use crate::{ExecutionId, Key, Millis, PayloadSlot};
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
    ClassMissing {
        /// The registration.
        class: Key,
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
            Self::ClassMissing { .. } => "class_missing",
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
            Self::ClassMissing { class } => write!(f, "no worker would find it: {class} is missing"),
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
    match (key, record) {
        (Key::Execution(_), Record::Execution(execution)) if !execution.is_purging() => {
            let mut keys = parts(execution);
            if is_unfinished(execution) {
                keys.push(class_of(execution));
                keys.extend(unique_of(execution));
            }
            keys
        }
        (Key::Attempt(owner, _) | Key::History(owner, _) | Key::Payload(owner, _), _) => vec![Key::Execution(*owner)],
        (Key::Unique(..), Record::Unique(unique)) => unique.holder().map(Key::Execution).into_iter().collect(),
        (Key::Message(from, to, _), _) => vec![Key::Outbox(*from, *to)],
        _ => Vec::new(),
    }
}

/// What is wrong with a record, given those that [`presumes`] names; `now` stamps what a fix writes.
#[must_use]
pub fn judge<'a>(key: &Key, record: &Record, now: Millis, beside: impl Fn(&Key) -> Option<&'a Record>) -> Vec<Verdict> {
    let only = |finding, fix| vec![Verdict { finding, fix }];
    match (key, record) {
        (_, Record::Unreadable(_)) => only(Finding::Unreadable, None),
        (Key::Execution(_), Record::Execution(execution)) if !execution.is_purging() => of_execution(execution, beside),
        (Key::Attempt(owner, _) | Key::History(owner, _) | Key::Payload(owner, _), _) => {
            if beside(&Key::Execution(*owner)).is_some() {
                return Vec::new();
            }
            only(Finding::Orphaned { owner: *owner }, Some(Fix::Delete(key.clone())))
        }
        (Key::Unique(..), Record::Unique(unique)) => {
            let Some(execution) = unique.holder() else { return Vec::new() };
            let holds = match beside(&Key::Execution(execution)) {
                Some(Record::Execution(holder)) => is_unfinished(holder) && unique_of(holder).as_ref() == Some(key),
                // Whatever a newer version wrote there may well hold it.
                Some(_) => true,
                None => false,
            };
            if holds {
                return Vec::new();
            }
            let freed = Record::Unique(UniqueRecord::freed(execution, now));
            only(Finding::UniqueStale { execution }, Some(Fix::Put(key.clone(), Box::new(freed))))
        }
        (Key::Message(from, to, seq), _) => of_message(&Key::Outbox(*from, *to), *seq, beside),
        (Key::Dead(..), _) => only(Finding::DeadLetter, None),
        _ => Vec::new(),
    }
}

fn of_execution<'a>(execution: &Execution, beside: impl Fn(&Key) -> Option<&'a Record>) -> Vec<Verdict> {
    let missing = parts(execution).into_iter().filter(|part| beside(part).is_none());
    let mut verdicts: Vec<Verdict> =
        missing.map(|part| Verdict { finding: Finding::PartMissing { part }, fix: None }).collect();
    if !is_unfinished(execution) {
        return verdicts;
    }
    let class = class_of(execution);
    if beside(&class).is_none() {
        let seen = ClassSeen { format: Format, capabilities: execution.requires.clone() };
        let fix = Some(Fix::Put(class.clone(), Box::new(Record::Class(seen))));
        verdicts.push(Verdict { finding: Finding::ClassMissing { class }, fix });
    }
    if let Some(unique) = unique_of(execution) {
        let holder = match beside(&unique) {
            None => None,
            Some(Record::Unique(record)) => record.holder(),
            // What cannot be read is reported as such.
            Some(_) => return verdicts,
        };
        match holder {
            None => {
                let held = Record::Unique(UniqueRecord::held(execution.id));
                let fix = Some(Fix::Put(unique.clone(), Box::new(held)));
                verdicts.push(Verdict { finding: Finding::UniqueMissing { unique }, fix });
            }
            Some(by) if by != execution.id => {
                verdicts.push(Verdict { finding: Finding::UniqueTaken { by }, fix: None });
            }
            Some(_) => {}
        }
    }
    verdicts
}

fn of_message<'a>(outbox: &Key, seq: u64, beside: impl Fn(&Key) -> Option<&'a Record>) -> Vec<Verdict> {
    let fixed = match beside(outbox) {
        Some(Record::Outbox(known)) if (known.first..known.next).contains(&seq) => return Vec::new(),
        Some(Record::Outbox(known)) => {
            Outbox { format: Format, first: known.first.min(seq), next: known.next.max(seq.saturating_add(1)) }
        }
        // What cannot be read is not overwritten.
        Some(_) => return vec![Verdict { finding: Finding::MessageUnlisted, fix: None }],
        None => Outbox { format: Format, first: seq, next: seq.saturating_add(1) },
    };
    let fix = Some(Fix::Put(outbox.clone(), Box::new(Record::Outbox(fixed))));
    vec![Verdict { finding: Finding::MessageUnlisted, fix }]
}

fn is_unfinished(execution: &Execution) -> bool {
    !matches!(execution.state, State::Finished(_))
}

fn class_of(execution: &Execution) -> Key {
    Key::class(&execution.namespace, &execution.lane, &execution.requires, execution.id.partition())
}

fn unique_of(execution: &Execution) -> Option<Key> {
    execution.unique_key.as_ref().map(|key| Key::Unique(execution.namespace.clone(), key.clone()))
}

/// The records that stand beside an execution: ended attempts, pages of its history, payloads.
fn parts(execution: &Execution) -> Vec<Key> {
    let id = execution.id;
    let attempts = (1..execution.attempts).map(|number| Key::Attempt(id, number));
    let pages = (0..execution.pages).map(|page| Key::History(id, page));
    let payloads = [(Some(&execution.input), PayloadSlot::Input), (execution.result.as_ref(), PayloadSlot::Result)];
    let payloads = payloads.into_iter().filter(|(stored, _)| matches!(stored, Some(StoredPayload::Beside { .. })));
    attempts.chain(pages).chain(payloads.map(|(_, slot)| Key::Payload(id, slot))).collect()
}
