//! Topics of wake-ups: what a commit announces to other processes, and what they collect from it.
//!
//! Two topics name records, as `topic=name`. Where a commit changes too many of them, the topic alone says so.

use crate::partition::batch::{Change, ready};
use crate::shared::Shared;
use crate::work::board::QueueKey;
use onward_core::index::DueKind;
use onward_core::record::{Execution, Record};
use onward_core::{Key, Millis, PartitionId, Span, digest, index};
use onward_store::{Home, Wake};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};

/// Due times changed that the home of the partition may not know and will not read in time by itself; each is named by
/// its rank and key.
const DUE: &str = "due";
/// Executions ended that a caller of another process may wait for; each is named in short.
const ENDED: &str = "ended";
/// A lane changed, or a queue was added.
const REGISTRY: &str = "registry";
/// Stands between a topic and a name.
const NAMES: char = '=';
/// Stands between a rank and a key.
const RANKS: char = ',';
/// Maximum names of one topic in a commit.
const NAMES_MAX: usize = 32;
/// Maximum due times taken from the wake-ups that are handled together; beyond it the home reads its due times.
const DUE_NAMED_MAX: usize = 4_096;
/// How long after a wake-up other processes are taken to be there: they say so every two seconds.
const COMPANY_LASTS: Span = Span::seconds(10);

/// When another process was last heard of. A process that hears of none announces nothing that only others need.
#[derive(Debug, Default)]
pub(crate) struct Company(AtomicU64);

impl Company {
    fn heard(&self, now: Millis) {
        self.0.store((now + COMPANY_LASTS).0, Ordering::Relaxed);
    }

    fn is_there(&self, now: Millis) -> bool {
        now.0 < self.0.load(Ordering::Relaxed)
    }
}

/// The topics of a batch: ready queues with work not taken here, changes of lanes, new queues, near due times, and ends.
pub(crate) fn of(shared: &Shared, partition: PartitionId, changes: &[Change]) -> Vec<String> {
    // Neighbouring changes mostly go to the same queue; one key is built for each run of them.
    let mut ready: Vec<&Execution> = changes.iter().filter_map(|change| ready(change.after.as_deref()?)).collect();
    ready.dedup_by(|one, other| {
        let queue = |of: &Execution| (of.namespace.clone(), of.lane.clone(), of.kind.clone());
        queue(one) == queue(other) && one.requires == other.requires
    });
    let queues: BTreeSet<QueueKey> = ready.into_iter().map(QueueKey::of).collect();
    let mut topics: Vec<String> = queues.iter().map(|queue| queue.index().as_str().to_owned()).collect();
    if changes.iter().any(|change| matches!(change.key, Key::LaneCopy(..)) || grew(change)) {
        topics.push(REGISTRY.to_owned());
    }
    let unsure = shared.unsure.load(Ordering::Relaxed);
    if unsure || !shared.is_home(partition) {
        let soon = shared.time.now() + Span(2 * shared.options.sweep_every.0);
        let due = changes.iter().filter_map(|change| falls_due(change, soon).map(|rank| (rank, &change.key)));
        name(&mut topics, DUE, due.map(|(rank, key)| format!("{rank}{RANKS}{key}")));
    }
    if unsure || shared.company.is_there(shared.clock.now()) {
        let ended = changes.iter().filter(|change| ends(change));
        name(&mut topics, ENDED, ended.map(|change| format!("{:016x}", short_name(&change.key))));
    }
    topics
}

/// Adds what a topic names, or the topic alone if that is too much.
fn name(topics: &mut Vec<String>, topic: &str, names: impl Iterator<Item = String>) {
    let before = topics.len();
    topics.extend(names.take(NAMES_MAX + 1).map(|name| format!("{topic}{NAMES}{name}")));
    if topics.len() - before > NAMES_MAX {
        topics.truncate(before);
        topics.push(topic.to_owned());
    }
}

/// The rank of a due time that a change sets, if a caller waits for it and it comes soon.
fn falls_due(change: &Change, soon: Millis) -> Option<u64> {
    let awaited = |record: &Record| index::due_as(record).filter(|(kind, _)| *kind != DueKind::Housekeeping);
    let (kind, due) = change.after.as_deref().and_then(awaited)?;
    (due <= soon && Some((kind, due)) != change.before.as_deref().and_then(awaited)).then(|| kind.rank(due))
}

/// Whether a change ends an execution.
fn ends(change: &Change) -> bool {
    let lives =
        |record: Option<&Record>| matches!(record, Some(Record::Execution(execution)) if !execution.is_finished());
    lives(change.before.as_deref()) && !lives(change.after.as_deref())
}

/// A short name of a key, the same in every process. Keys that share it are read for nothing, and no caller can choose ids
/// that do.
pub(crate) fn short_name(key: &Key) -> u64 {
    u64::try_from(digest([key.name().as_bytes()]) >> 64).unwrap_or_default()
}

/// Whether a change lists a queue that was not listed before.
fn grew(change: &Change) -> bool {
    let grown_at = |record: &Record| if let Record::Queues(registry) = record { Some(registry.grown_at) } else { None };
    let (before, after) = (change.before.as_deref().and_then(grown_at), change.after.as_deref().and_then(grown_at));
    after.is_some() && after != before
}

/// Executions of a partition that ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Those with these short names.
    Named(BTreeSet<u64>),
    /// Too many to name.
    Many,
}

/// A due time that another process set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DueNamed {
    pub(crate) partition: PartitionId,
    pub(crate) kind: DueKind,
    pub(crate) due: Millis,
    pub(crate) key: Key,
}

/// Wake-ups from other processes, merged.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Heard {
    /// Something unknown was committed.
    pub(crate) anything: bool,
    /// A partition was named, as stores do whose processes know of each other.
    named: bool,
    /// A lane changed, or a queue was added.
    pub(crate) registry: bool,
    /// Partitions with due times that may be unknown here.
    pub(crate) due: BTreeSet<PartitionId>,
    /// Due times that may be unknown here.
    pub(crate) due_named: Vec<DueNamed>,
    /// Executions that ended.
    pub(crate) ended: BTreeMap<PartitionId, Ended>,
    /// Ready queues with new work, and the partitions it is in.
    pub(crate) ready: BTreeMap<String, BTreeSet<PartitionId>>,
}

impl Heard {
    pub(crate) fn add(&mut self, wake: Wake) {
        let Some(partition) = wake.partition.map(|partition| PartitionId(partition.0)) else {
            self.anything = true;
            return;
        };
        self.named = true;
        for topic in wake.topics {
            let (of, name) = topic.split_once(NAMES).map_or((topic.as_str(), None), |(of, name)| (of, Some(name)));
            match of {
                REGISTRY => self.registry = true,
                DUE => self.add_due(partition, name),
                ENDED => self.add_ended(partition, name),
                _ => drop(self.ready.entry(topic).or_default().insert(partition)),
            }
        }
    }

    /// What names no due time makes the home read all of them.
    fn add_due(&mut self, partition: PartitionId, name: Option<&str>) {
        match name.and_then(|name| due_named(partition, name)) {
            Some(named) if self.due_named.len() < DUE_NAMED_MAX => self.due_named.push(named),
            _ => drop(self.due.insert(partition)),
        }
    }

    /// What names no execution may have been about any.
    fn add_ended(&mut self, partition: PartitionId, name: Option<&str>) {
        let is_short = |name: &&str| name.len() == 16 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        let name = name.filter(is_short).and_then(|name| u64::from_str_radix(name, 16).ok());
        let ended = self.ended.entry(partition).or_insert_with(|| Ended::Named(BTreeSet::new()));
        match (ended, name) {
            (Ended::Named(names), Some(name)) => drop(names.insert(name)),
            (ended, _) => *ended = Ended::Many,
        }
    }

    /// Notes that there are other processes, if that was heard.
    pub(crate) fn note_company(&self, shared: &Shared) {
        if self.named {
            shared.company.heard(shared.clock.now());
        }
    }
}

/// Parses the name of a due time that a caller waits for.
fn due_named(partition: PartitionId, name: &str) -> Option<DueNamed> {
    let (rank, key) = name.split_once(RANKS)?;
    let rank: u64 = rank.parse().ok().filter(|rank| *rank < DueKind::Housekeeping.first())?;
    let kind = DueKind::AWAITED.into_iter().filter(|kind| kind.first() <= rank).max_by_key(|kind| kind.first())?;
    let key: Key = key.parse().ok().filter(|key| lives_in(key, partition))?;
    Some(DueNamed { partition, kind, due: kind.time(rank), key })
}

/// Whether a key may live in a partition, as far as the key says.
fn lives_in(key: &Key, partition: PartitionId) -> bool {
    match key {
        Key::Execution(id) => id.partition() == partition,
        Key::Message(from, ..) => *from == partition,
        _ => true,
    }
}

/// Whether wake-ups say too little on this store: processes that share a file know nothing of each other.
pub(crate) fn say_nothing(shared: &Shared) -> bool {
    *shared.store.home().borrow() != Home::ByMembership
}

#[cfg(test)]
mod tests {
    use super::*;
    use onward_core::ExecutionId;
    use onward_fuzz::proptest::prelude::*;
    use onward_fuzz::{fuzz, near};
    use onward_store::Partition;
    use uuid::Uuid;

    #[test]
    fn hints_are_taken_together() {
        let mut heard = Heard::default();
        let hint = |partition: u16, topics: &[&str]| Wake {
            partition: Some(Partition(partition)),
            topics: topics.iter().map(|&topic| topic.to_owned()).collect(),
        };
        heard.add(hint(1, &[]));
        assert_eq!(heard, Heard { named: true, ..Heard::default() }, "events have no topic");
        heard.add(hint(1, &["ready/a", DUE]));
        heard.add(hint(2, &["ready/a", REGISTRY]));
        assert_eq!(heard.ready, BTreeMap::from([("ready/a".to_owned(), [1, 2].map(PartitionId).into())]));
        assert_eq!((heard.registry, heard.due.len(), heard.anything), (true, 1, false));
        heard.add(Wake { partition: None, topics: Vec::new() });
        assert!(heard.anything);
    }

    fn heard(topics: &[String]) -> Heard {
        let mut heard = Heard::default();
        heard.add(Wake { partition: Some(Partition(3)), topics: topics.to_vec() });
        heard
    }

    fn execution(partition: u16) -> Key {
        Key::Execution(ExecutionId::new(Uuid::from_u128(7), PartitionId(partition)))
    }

    #[test]
    fn a_few_are_named_and_many_are_not() {
        let names = |count: usize| {
            let mut topics = vec!["ready/a".to_owned()];
            name(&mut topics, ENDED, (0..count).map(|name| format!("{name:016x}")));
            topics
        };
        let few = heard(&names(NAMES_MAX));
        assert_eq!(few.ended, BTreeMap::from([(PartitionId(3), Ended::Named((0..NAMES_MAX as u64).collect()))]));
        assert_eq!(names(NAMES_MAX + 1), ["ready/a", ENDED]);
        let mut many = heard(&names(NAMES_MAX + 1));
        many.add(Wake { partition: Some(Partition(3)), topics: names(1) });
        assert_eq!(many.ended, BTreeMap::from([(PartitionId(3), Ended::Many)]), "more names change nothing");
        assert_eq!(many.ready.len(), 1);
    }

    #[test]
    fn due_times_are_named_with_what_is_due() {
        for kind in DueKind::AWAITED {
            let (key, due) = (execution(3), Millis(1_700_000_000_000));
            let heard = heard(&[format!("{DUE}={},{key}", kind.rank(due))]);
            assert_eq!(heard.due_named, [DueNamed { partition: PartitionId(3), kind, due, key }]);
            assert!(heard.due.is_empty());
        }
        let message = Key::Message(PartitionId(3), PartitionId(1), 7);
        assert_eq!(heard(&[format!("{DUE}=5,{message}")]).due_named[0].key, message);
        let many = vec![format!("{DUE}=5,{message}"); DUE_NAMED_MAX + 1];
        let many = heard(&many);
        assert_eq!((many.due_named.len(), many.due.len()), (DUE_NAMED_MAX, 1));
    }

    #[test]
    fn what_cannot_be_read_is_looked_for() {
        let elsewhere = execution(4);
        let housekeeping = DueKind::Housekeeping.rank(Millis(1));
        let own = execution(3);
        for wrong in
            ["", "5", "5,", &format!("5,{elsewhere}"), &format!("{housekeeping},{own}"), &format!("x,{own}"), "5,out/1"]
        {
            let heard = heard(&[format!("{DUE}={wrong}")]);
            assert_eq!((heard.due_named.len(), heard.due.len()), (0, 1), "{wrong}");
        }
        for wrong in ["", "7", "+00000000000000f", "00000000000000000000000007"] {
            assert_eq!(heard(&[format!("{ENDED}={wrong}")]).ended[&PartitionId(3)], Ended::Many, "{wrong}");
        }
    }

    #[test]
    fn fuzz_topics_of_other_processes() {
        let valid = (0_u64..3, "[0-9a-f]{16}").prop_map(|(kind, name)| match kind {
            0 => format!("{ENDED}={name}"),
            1 => format!("{DUE}=5,{}", execution(3)),
            _ => format!("{DUE}=2305843009213693957,{}", execution(3)),
        });
        fuzz(near(valid), |topic| {
            let heard = heard(std::slice::from_ref(&topic));
            let named = heard.due_named.len() + heard.ended.values().filter(|ended| **ended != Ended::Many).count();
            let parts = named + heard.due.len() + heard.ended.values().filter(|ended| **ended == Ended::Many).count();
            prop_assert_eq!(parts + heard.ready.len() + usize::from(heard.registry), 1, "each topic is one hint");
            prop_assert!(heard.due_named.iter().all(|due| due.kind != DueKind::Housekeeping));
            Ok(named == 1)
        });
    }
}
