//! Where a record is listed and when it is due; derived from the record, so that an index cannot drift.

use crate::record::{PayloadSlot, PublicState, Record, Stored};
use crate::{Class, ExecutionId, Key, Kind, Lane, Millis, Namespace};

/// A place in an index.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// The index.
    pub name: String,
    /// The order in it, lowest first.
    pub rank: u64,
}

impl Entry {
    /// The entry of a record that is listed in one place.
    pub(crate) fn single(name: impl Into<String>, rank: u64) -> Vec<Self> {
        vec![Self { name: name.into(), rank }]
    }
}

/// The registry of queues: one entry for each lane and partition in which work was ready, by when it last grew.
pub const QUEUES: &str = "queues";
/// Messages that could not be delivered.
pub const DEAD: &str = "dead";

/// The keys that let their holders call, by their age.
pub const API_KEYS: &str = "apikeys";

/// The processes that run on the store.
pub const MEMBERS: &str = "members";

/// Ready work of one lane, class and kind, in the order in which it is claimed.
#[must_use]
pub fn ready(namespace: &Namespace, lane: &Lane, class: &Class, kind: &Kind) -> String {
    let (class, kind) = (class.name(), kind.name());
    ["ready/", namespace.as_str(), "/", lane.as_str(), "/", &class, "/", &kind].concat()
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

/// Executions of a namespace in a state that they leave by time or by an event, by when that is expected.
#[must_use]
pub fn state(namespace: &Namespace, state: PublicState) -> String {
    ["state/", namespace.as_str(), "/", state.as_str()].concat()
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

/// The records that belong to an execution, by what they are. It lists them whatever their names, so that a purge finds all.
#[must_use]
pub fn parts(id: ExecutionId) -> String {
    format!("parts/{id}")
}

/// The bits of a part's rank below its kind.
const PART_SHIFT: u32 = 40;

/// The ranks of signals, and those of waits that are over, among the parts of an execution.
pub const WAITING_PARTS: [(u64, u64); 2] = [(2 << PART_SHIFT, 3 << PART_SHIFT), (3 << PART_SHIFT, 4 << PART_SHIFT)];

/// The place of a record among the parts of its execution, if it is one.
fn part(key: &Key, record: &Record) -> Option<Entry> {
    // What cannot be read has no place of its own: any will do.
    let (id, kind, number) = match key {
        Key::Signal(id, _) => (id, 2, if let Record::Signal(signal) = record { u64::from(signal.seq) } else { 0 }),
        Key::Wait(id, _) => (id, 3, if let Record::Wait(over) = record { u64::from(over.seq) } else { 0 }),
        Key::Attempt(id, number) => (id, 4, u64::from(*number)),
        Key::Payload(id, PayloadSlot::Input) => (id, 5, 0),
        Key::Payload(id, PayloadSlot::Result) => (id, 5, 1),
        Key::Payload(id, PayloadSlot::Signal(signal)) => (id, 7, (signal.0 >> (128 - PART_SHIFT)) as u64),
        Key::History(id, page) => (id, 6, u64::from(*page)),
        _ => return None,
    };
    Some(Entry { name: parts(*id), rank: (kind << PART_SHIFT) + number })
}

/// Every place in which a record is listed.
#[must_use]
pub fn entries(key: &Key, record: &Record) -> Vec<Entry> {
    let mut entries = record.stored().map(Stored::entries).unwrap_or_default();
    // A part that cannot be read is one all the same.
    entries.extend(part(key, record));
    entries
}

/// The earliest time at which somebody must look at a record.
#[must_use]
pub fn due(record: &Record) -> Option<Millis> {
    record.stored()?.due()
}

/// What a due time is for. Each kind has ranks of its own, so that a million ended executions never stand between the
/// clock and a lease that runs out, and leases are found without looking at delayed work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DueKind {
    /// Something is to happen at a time.
    Timer,
    /// A worker runs it, and its lease, its timeout or its deadline ends.
    Lease,
    /// It has outlived its retention and is removed, which no caller waits for.
    Housekeeping,
}

impl DueKind {
    /// The kinds that a caller waits for.
    pub const AWAITED: [Self; 2] = [Self::Timer, Self::Lease];

    /// The first of its ranks.
    #[must_use]
    pub const fn first(self) -> u64 {
        match self {
            Self::Timer => 0,
            Self::Lease => 1 << 61,
            Self::Housekeeping => 1 << 62,
        }
    }

    /// The rank of a time.
    #[must_use]
    pub fn rank(self, due: Millis) -> u64 {
        self.first() + due.0.min(Self::Lease.first() - 1)
    }

    /// The time of a rank.
    #[must_use]
    pub fn time(self, rank: u64) -> Millis {
        Millis(rank.saturating_sub(self.first()))
    }
}

/// The rank of a record's due time.
#[must_use]
pub fn due_rank(record: &Record) -> Option<u64> {
    due_as(record).map(|(kind, due)| kind.rank(due))
}

/// When a record is due, and what for.
#[must_use]
pub fn due_as(record: &Record) -> Option<(DueKind, Millis)> {
    let stored = record.stored()?;
    stored.due().map(|due| (stored.due_kind(), due))
}
