//! Where a record is listed and when it is due; derived from the record, so that an index cannot drift.

use crate::record::{Execution, Readiness, Record, State, Waiting};
use crate::{Class, Lane, Millis, Namespace, Share, limits};

/// A place in an index.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// The index.
    pub name: String,
    /// The order in it, lowest first.
    pub rank: u64,
}

/// The registry of classes: one entry for each class, lane and partition in which work was ever submitted.
pub const CLASSES: &str = "classes";
/// Messages that could not be delivered.
pub const DEAD: &str = "dead";

/// The keys that let their holders call, by their age.
pub const API_KEYS: &str = "apikeys";

/// The processes that run on the store.
pub const MEMBERS: &str = "members";

/// Ready work of one lane, class and share, in the order in which it is claimed.
#[must_use]
pub fn ready(namespace: &Namespace, lane: &Lane, class: &str, share: &Share) -> String {
    ["ready/", namespace.as_str(), "/", lane.as_str(), "/", class, "/", share.as_str()].concat()
}

/// All executions of a namespace by creation, for as long as they exist.
#[must_use]
pub fn list(namespace: &Namespace) -> String {
    ["list/", namespace.as_str()].concat()
}

/// Finished executions of a namespace by outcome and end.
#[must_use]
pub fn ended(namespace: &Namespace, outcome: &str) -> String {
    ["ended/", namespace.as_str(), "/", outcome].concat()
}

/// Executions with a tag, by creation.
#[must_use]
pub fn tag(namespace: &Namespace, key: &str, value: &str) -> String {
    ["tag/", namespace.as_str(), "/", key, "=", value].concat()
}

/// Lanes that somebody changed.
#[must_use]
pub fn lanes(namespace: &Namespace) -> String {
    format!("lanes/{namespace}")
}

/// Every place in which a record is listed.
#[must_use]
pub fn entries(record: &Record) -> Vec<Entry> {
    match record {
        Record::Execution(execution) => of_execution(execution),
        Record::Class(_) => vec![Entry { name: CLASSES.to_owned(), rank: 0 }],
        Record::Member(_) => vec![Entry { name: MEMBERS.to_owned(), rank: 0 }],
        Record::ApiKey(key) => vec![Entry { name: API_KEYS.to_owned(), rank: key.created_at.0 }],
        Record::Dead(_) => vec![Entry { name: DEAD.to_owned(), rank: 0 }],
        Record::LaneMaster(lane) => vec![Entry { name: lanes(&lane.namespace), rank: 0 }],
        _ => Vec::new(),
    }
}

fn of_execution(execution: &Execution) -> Vec<Entry> {
    // What is being removed is found by nobody any more.
    if execution.is_purging() {
        return Vec::new();
    }
    let namespace = &execution.namespace;
    let created = execution.created_at.0;
    let mut entries = vec![Entry { name: list(namespace), rank: created }];
    match &execution.state {
        State::Waiting(Waiting { readiness: Readiness::Ready { .. }, .. }) => entries.push(Entry {
            name: ready(namespace, &execution.lane, &execution.requires.name(), &execution.share),
            rank: execution.ready_rank(),
        }),
        State::Finished(finished) => {
            entries.push(Entry { name: ended(namespace, finished.outcome.as_str()), rank: finished.at.0 });
        }
        State::Waiting(_) | State::Active(_) => {}
    }
    for (key, value) in &execution.tags {
        entries.push(Entry { name: tag(namespace, key.as_str(), value.as_str()), rank: created });
    }
    entries
}

/// The earliest time at which somebody must look at a record.
#[must_use]
pub fn due(record: &Record) -> Option<Millis> {
    match record {
        Record::Execution(execution) => execution.due(),
        // A key that has expired counts as absent, and is so only when no batch can be in flight that found it absent before.
        Record::Idempotency(key) => Some(key.expires_at + limits::REPEAT_WINDOW),
        Record::Unique(key) => key.removed_at(),
        // At once, whatever the clock of its sender showed.
        Record::Message(_) => Some(Millis(0)),
        _ => None,
    }
}

/// Ranks of due times from here on are housekeeping: removing what has outlived its retention. Behind all others, so
/// that a million ended executions never stand between the clock and a lease that runs out.
pub const HOUSEKEEPING: u64 = 1 << 62;

/// The rank of a record's due time: the time, behind [`HOUSEKEEPING`] when nobody waits for it.
#[must_use]
pub fn due_rank(record: &Record) -> Option<u64> {
    let due = due(record)?.0.min(HOUSEKEEPING - 1);
    Some(if is_housekeeping(record) { HOUSEKEEPING + due } else { due })
}

/// The time at which somebody who waits for it expects a record to be looked at.
#[must_use]
pub fn awaited_due(record: &Record) -> Option<Millis> {
    if is_housekeeping(record) { None } else { due(record) }
}

fn is_housekeeping(record: &Record) -> bool {
    match record {
        Record::Execution(execution) => matches!(execution.state, State::Finished(_)),
        Record::Idempotency(_) | Record::Unique(_) => true,
        _ => false,
    }
}

/// The capabilities of a class that is spelled out in its name; `None` when the name is a hash.
#[must_use]
pub fn class_by_name(name: &str) -> Option<Class> {
    match name {
        "-" => Some(Class::default()),
        hashed if hashed.starts_with('#') => None,
        spelled => Class::new(spelled.split('+').map(str::parse).collect::<Result<Vec<_>, _>>().ok()?).ok(),
    }
}
