//! Whether a store answers like the reference: random batches in random groups, applied to both and compared.

use super::Subject;
use super::kit::{Chance, entry, fresh, index, key};
use crate::memory::Memory;
use crate::{
    Append, Batch, Cursor, Direction, Entry, Event, Key, Outcome, Partition, Partitions, Range, Record, Store, Trim,
    Version,
};
use bytes::Bytes;
use std::sync::Arc;

const BATCHES: usize = 10_000;
const SEED: u64 = 0x0123_4567_89ab_cdef;
const PARTITIONS: u16 = 4;
const KEYS: usize = 48;
const INDEXES: [&str; 6] = ["a", "a/b", "ab", "list/x", "ready/ä", "z"];
const RANKS: [u64; 9] = [0, 1, 2, 1000, 1 << 53, (1 << 63) - 1, 1 << 63, u64::MAX - 1, u64::MAX];

/// Ten thousand batches: every outcome, and again and again everything that can be read, equals the reference's.
pub async fn random_batches_agree_with_memory(subject: &dyn Subject) {
    let mut pair = Pair::new(subject.open().await);
    let mut chance = Chance::new(SEED);
    let (mut done, mut group, mut expected) = (0, Vec::new(), Vec::new());
    while done < BATCHES {
        let (mine, theirs) = pair.invent(&mut chance).await;
        expected.push(pair.memory.commit(vec![mine]).await.expect("the reference takes it").remove(0));
        group.push(theirs);
        done += 1;
        if done == BATCHES || chance.once_in(8) {
            let outcomes = pair.store.commit(std::mem::take(&mut group)).await.expect("the store takes a group");
            pair.compare_outcomes(&outcomes, &std::mem::take(&mut expected));
            pair.groups += 1;
            if done == BATCHES || chance.once_in(12) {
                pair.compare_reads(&mut chance).await;
            }
        }
    }
    let (mine, theirs) = (pair.memory.stats(), pair.store.stats());
    assert_eq!((mine.batches, mine.conflicts), (theirs.batches, theirs.conflicts));
    assert_eq!((mine.rows, mine.bytes), (theirs.rows, theirs.bytes), "both count the same work");
    let Pair { groups, conflicts, outside, reads, .. } = pair;
    println!("random batches compared: {done} (seed {SEED:#x})");
    println!("in {groups} groups, with {conflicts} conflicts, {outside} outside their window, {reads} reads compared");
    assert!(conflicts > BATCHES / 50 && outside > BATCHES / 100 && reads > BATCHES / 2, "too tame to show anything");
}

/// The reference and the store, with what is known of both.
struct Pair {
    memory: Memory,
    store: Arc<dyn Store>,
    /// For each partition, the positions of its events in the reference and in the store.
    positions: Vec<Vec<(u64, u64)>>,
    seq: u64,
    groups: usize,
    conflicts: usize,
    outside: usize,
    reads: usize,
}

impl Pair {
    fn new(store: Arc<dyn Store>) -> Self {
        let positions = vec![Vec::new(); usize::from(PARTITIONS)];
        let memory = Memory::new(PARTITIONS, Arc::new(|| 1_000), 1);
        Self { memory, store, positions, seq: 0, groups: 0, conflicts: 0, outside: 0, reads: 0 }
    }

    /// A batch for the reference and the same for the store; they differ only in the feed positions they trim.
    async fn invent(&mut self, chance: &mut Chance) -> (Batch, Batch) {
        let partition = Partition(u16::try_from(chance.below(usize::from(PARTITIONS))).expect("small"));
        let mut batch = Batch::new(partition, fresh());
        let mut names: Vec<Key> = Vec::new();
        for _ in 0..=chance.below(4) {
            let name = key_of(partition, chance.below(KEYS / usize::from(PARTITIONS)));
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let current = self.memory.load(partition, &names).await.expect("the reference loads");
        for (name, now) in names.iter().zip(current) {
            self.touch(&mut batch, name, now.map(|now| now.version), chance);
        }
        for _ in 0..chance.below(3) {
            batch.events.push(random_body(chance));
        }
        if chance.once_in(20) {
            batch.window.not_before = Some(u64::MAX);
        }
        let mut theirs = batch.clone();
        let known = &self.positions[usize::from(partition.0)];
        if chance.once_in(10) && known.len() > 1 {
            let (mine, other) = known[chance.below(known.len() - 1)];
            batch.trim.push(Trim::Feed { through: mine });
            theirs.trim.push(Trim::Feed { through: other });
        }
        (batch, theirs)
    }

    /// Expects a key, most often rightly, and writes it, deletes it, logs to it or leaves it.
    fn touch(&mut self, batch: &mut Batch, name: &Key, now: Option<Version>, chance: &mut Chance) {
        let wrong = chance.once_in(12);
        let expected = match (wrong, chance.once_in(2)) {
            (false, _) => now,
            (true, false) => Some(fresh()),
            (true, true) => None,
        };
        batch.expect.push((name.clone(), expected));
        let mut owned = expected.is_some();
        match chance.below(8) {
            0..4 => {
                batch.put.push(random_record(name, batch.id, chance));
                owned = true;
            }
            4 => {
                batch.delete.push(name.clone());
                owned = false;
            }
            _ => {}
        }
        if owned && chance.once_in(2) {
            self.seq += 1;
            let seq = if chance.once_in(4) { 1 + chance.next() % self.seq } else { self.seq };
            batch.append.push(Append { log: name.clone(), seq, body: random_body(chance) });
        }
        if chance.once_in(8) {
            batch.trim.push(Trim::Log { log: name.clone(), through: chance.next() % (self.seq + 1) });
        }
    }

    fn compare_outcomes(&mut self, outcomes: &[Outcome], expected: &[Outcome]) {
        assert_eq!(outcomes.len(), expected.len());
        for pair in outcomes.iter().zip(expected) {
            match pair {
                (Outcome::Committed { .. }, Outcome::Committed { .. }) => {}
                (Outcome::Outside { .. }, Outcome::Outside { .. }) => self.outside += 1,
                (Outcome::Conflict { current: theirs, .. }, Outcome::Conflict { current: mine, .. }) => {
                    assert_eq!(theirs, mine);
                    self.conflicts += 1;
                }
                (theirs, mine) => panic!("the store said {theirs:?}, the reference {mine:?}"),
            }
        }
    }

    async fn compare_reads(&mut self, chance: &mut Chance) {
        for partition in (0..PARTITIONS).map(Partition) {
            let names: Vec<Key> = (0..KEYS / usize::from(PARTITIONS)).map(|at| key_of(partition, at)).collect();
            let mine = self.memory.load(partition, &names).await.expect("the reference loads");
            assert_eq!(self.store.load(partition, &names).await.expect("the store loads"), mine);
            let name = chance.pick(&names);
            let (after, limit) = (chance.next() % (self.seq + 1), chance.below(40));
            let mine = self.memory.read_log(partition, &name, after, limit).await.expect("the reference reads logs");
            assert_eq!(self.store.read_log(partition, &name, after, limit).await.expect("the store reads logs"), mine);
            self.reads += 2;
        }
        for _ in 0..40 {
            self.compare_scan(chance).await;
        }
        for _ in 0..4 {
            self.compare_scans(chance).await;
        }
        self.compare_feeds().await;
    }

    async fn compare_scan(&mut self, chance: &mut Chance) {
        let name = index(chance.pick(&INDEXES));
        let partitions = random_partitions(chance);
        let (range, limit) = (random_range(chance), chance.below(30));
        let mine = self.memory.scan(&name, &partitions, range.clone(), limit).await.expect("the reference scans");
        let theirs = self.store.scan(&name, &partitions, range.clone(), limit).await.expect("the store scans");
        assert_eq!(theirs.items, mine.items, "{name} {partitions:?} {range:?} {limit}");
        assert!(theirs.more || !mine.more, "{name} {partitions:?} {range:?} {limit}: more was hidden");
        let cap = chance.next() % 60;
        let mine = self.memory.count(&name, &partitions, cap).await.expect("the reference counts");
        assert_eq!(self.store.count(&name, &partitions, cap).await.expect("the store counts"), mine);
        let range = random_range(chance);
        let mine = self.memory.due(&partitions, range.clone(), limit).await.expect("the reference tells due times");
        let theirs = self.store.due(&partitions, range.clone(), limit).await.expect("the store tells due times");
        assert_eq!(theirs.items, mine.items, "{partitions:?} {range:?} {limit}");
        assert!(theirs.more || !mine.more, "{partitions:?} {range:?} {limit}: more was hidden");
        self.reads += 3;
    }

    /// Compares a scan of several indexes at once.
    async fn compare_scans(&mut self, chance: &mut Chance) {
        let count = 1 + chance.below(8);
        let wanted: Vec<_> = (0..count).map(|_| (index(chance.pick(&INDEXES)), random_range(chance))).collect();
        let (partitions, limit) = (random_partitions(chance), chance.below(30));
        let mine = self.memory.scan_many(&wanted, &partitions, limit).await.expect("the reference scans");
        let theirs = self.store.scan_many(&wanted, &partitions, limit).await.expect("the store scans");
        assert_eq!(theirs.len(), mine.len());
        for (wanted, (mine, theirs)) in wanted.iter().zip(mine.iter().zip(&theirs)) {
            assert_eq!(theirs.items, mine.items, "{wanted:?} {partitions:?} {limit}");
            assert!(theirs.more || !mine.more, "{wanted:?} {partitions:?} {limit}: more was hidden");
        }
        self.reads += 1;
    }

    /// Compares the whole feeds partition by partition, and learns the positions of both.
    async fn compare_feeds(&mut self) {
        let mine = self.memory.read_feed(&Cursor::start(), usize::MAX).await.expect("the reference reads feeds");
        let theirs = self.store.read_feed(&Cursor::start(), usize::MAX).await.expect("the store reads feeds");
        assert_eq!(theirs.gap, mine.gap);
        for (at, positions) in self.positions.iter_mut().enumerate() {
            let own = |event: &&Event| usize::from(event.partition.0) == at;
            let mine: Vec<&Event> = mine.events.iter().filter(own).collect();
            let theirs: Vec<&Event> = theirs.events.iter().filter(own).collect();
            let bodies = |events: &[&Event]| events.iter().map(|event| event.body.clone()).collect::<Vec<Bytes>>();
            assert_eq!(bodies(&theirs), bodies(&mine), "the feed of partition {at}");
            assert!(theirs.windows(2).all(|pair| pair[0].position < pair[1].position));
            *positions = mine.iter().zip(theirs).map(|(mine, theirs)| (mine.position, theirs.position)).collect();
        }
        self.reads += 1;
    }
}

fn key_of(partition: Partition, at: usize) -> Key {
    let shapes = ["k", "k/", "K", "ä", "k0/"];
    key(&format!("{}{at}-{partition}", shapes[at % shapes.len()]))
}

fn random_body(chance: &mut Chance) -> Bytes {
    match chance.below(5) {
        0 => Bytes::new(),
        1 => Bytes::from(vec![0xff, 0, u8::try_from(chance.below(256)).expect("small")]),
        2 => Bytes::from("x".repeat(chance.below(6_000))),
        _ => Bytes::from(format!(r#"{{"n":{},"text":"ä"}}"#, chance.next())),
    }
}

fn random_record(name: &Key, version: Version, chance: &mut Chance) -> Record {
    let mut entries: Vec<Entry> = Vec::new();
    for name in INDEXES {
        if chance.once_in(3) {
            entries.push(entry(name, chance.pick(&RANKS)));
        }
    }
    if chance.once_in(2) {
        entries.reverse();
    }
    let due = chance.once_in(2).then(|| chance.pick(&RANKS));
    Record { key: name.clone(), version, body: random_body(chance), entries, due }
}

fn random_partitions(chance: &mut Chance) -> Partitions {
    if chance.once_in(2) {
        return Partitions::All;
    }
    Partitions::Some((0..PARTITIONS).filter(|_| chance.once_in(2)).map(Partition).collect())
}

fn random_range(chance: &mut Chance) -> Range {
    let after = chance.once_in(2).then(|| {
        let partition = Partition(u16::try_from(chance.below(usize::from(PARTITIONS))).expect("small"));
        (chance.pick(&RANKS), key_of(partition, chance.below(KEYS / usize::from(PARTITIONS))))
    });
    let from = chance.once_in(3).then(|| chance.pick(&RANKS));
    let until = chance.once_in(3).then(|| chance.pick(&RANKS));
    let direction = if chance.once_in(2) { Direction::Ascending } else { Direction::Descending };
    Range { after, from, until, direction }
}
