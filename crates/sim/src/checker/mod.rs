//! What must always hold: watches every commit and every answer, and remembers the first violation.
//!
//! The checkers share no code with the rules. They decode what was committed, keep a model of their own, and compare.
//! Only the codec and the derivation of index entries are the product's, because they define what the bytes mean.
//!
//! What is checked about one kind of record stands in one module. The records of one protocol share a module:
//!
//! | kinds of record | module | note |
//! |---|---|---|
//! | Execution | `executions` | |
//! | Attempt, Payload, Errand | `pieces` | the same code checks all that stands beside an execution |
//! | History | `history` | what pages tell; that they are written once is for `pieces` |
//! | Idempotency | `idempotency` | |
//! | Unique | `unique` | |
//! | Signal, Wait | `waits` | with the suspension and the mailbox of their execution; that they are written once is for `pieces` too |
//! | LaneMaster, LaneCopy | `lanes` | a decision and its copies |
//! | Outbox, Message, Inbox, Dead | `messages` | the way of a message |
//! | Class, Member, ApiKey | none | nothing holds for them but what holds for every record |
//!
//! `at_rest` and this file check what holds for every record; the other modules, what callers asked and were told. By
//! the names under which they report:
//!
//! - *versions*: a commit found everything as it expected, in its window, under an id that is new.
//! - *executions*: transitions are legal, each with one event; epochs only grow; no lease ends early, is used late or
//!   overlaps another; one end; one execution for each submit and each remembered key; retries, pauses and lengths of
//!   leases as they were asked for; only too many lost leases are the end; a paused attempt goes on under its number;
//!   what was asked to stop is not tried again; time that is over ends what it belongs to, the earliest first.
//! - *history*: what an execution remembers of itself, in its record and in pages beside it, is what its events told.
//! - *pieces*: what stands beside an execution is written once and gone before it; only what ended is removed, when
//!   somebody asked or its time was over, and then for good.
//! - *unique*: a unique key stands for one execution that has not ended.
//! - *waits*: every accepted signal is in the mailbox, taken by one wait, or was ignored; a condition is met when it holds, and
//!   then the attempt goes on in the same commit and each wait that ends has a record; no signal counts at or after a
//!   timeout, and no proof at or after its end, by the store's clock; a timeout fires once and never early; a wait is
//!   answered in one way only.
//! - *requests*: an execution is born with the arguments and the delay of its submit, and with the right time once all
//!   clocks are corrected.
//! - *fence*: an attempt ends by the call of its own holder; what was refused did not happen.
//! - *lanes*: no claim in a paused lane, no submit into a draining one; an answered decision is everywhere; whoever is
//!   said to have a decision has it, and none goes back; at rest copies equal their master.
//! - *messages*: sent once, applied once unless an old delivery comes again, removed after that, never set aside.
//! - *feed*: a subscriber sees every event of every commit once, in order, and nothing else.
//! - *indexes, codec, keys*: entries and due times follow from the bodies; everything written can be read.
//! - *answers, repeats*: what was acknowledged is stored; a refusal was right at some moment during its call; a repeat
//!   gets the first answer.
//! - *durability*: what was acknowledged survives the loss of everything that no replica has.
//! - *reads*: what was looked up or listed was so during the call; listings are in order and leave nothing out.
//! - *liveness, livelock*: all work that can finish does; due times and ready work are noticed in time; every call is
//!   answered; time moves on.
//! - *logs*: at rest, the log of an execution tells what was told about it.
//! - *store, contract*: the store holds what was committed and never has to refuse a batch.
//! - *engine, panic*: nothing broke inside.

mod answers;
mod at_rest;
mod calls;
mod durability;
mod executions;
mod feed;
mod history;
mod idempotency;
mod lanes;
mod messages;
mod operations;
mod past;
mod pieces;
mod reads;
mod requests;
mod submits;
mod unique;
mod verbs;
mod waits;

pub(crate) use calls::Since;
pub(crate) use executions::Stage;
pub(crate) use reads::Walk;
pub use waits::Tally;
pub(crate) use waits::{is_same, named};

use durability::Acknowledged;
use executions::Executions;
use feed::Feed;
use history::Chronicle;
use lanes::Lanes;
use messages::Messages;
use onward_core::record::{Execution, Record};
use onward_core::{Event, Key, Millis, codec};
use onward_store as store;
use past::Past;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use waits::Waits;

/// The number of a commit and its time by the store's clock.
type When = (u64, Millis);

/// What does not hold, and who noticed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The checker that noticed.
    pub checker: &'static str,
    /// What it found.
    pub what: String,
}

/// A record as it was last committed.
#[derive(Debug, Clone)]
struct Seen {
    partition: store::Partition,
    stored: store::Record,
    key: Key,
    record: Arc<Record>,
    /// When it was committed, by the store's clock.
    at: Millis,
}

/// The model that everything is compared with.
#[derive(Debug, Default)]
pub(crate) struct Checker {
    partitions: u16,
    /// Counts commits; a call's answer must be true somewhere between the numbers at its beginning and at its end.
    seq: u64,
    mirror: BTreeMap<store::Key, Seen>,
    /// The keys of records about which something is still to do.
    open: BTreeSet<store::Key>,
    ids: BTreeSet<store::Version>,
    executions: Executions,
    past: Past,
    chronicle: Chronicle,
    lanes: Lanes,
    messages: Messages,
    feed: Feed,
    calls: calls::Calls,
    acknowledged: Acknowledged,
    waits: Waits,
    /// How often the store lost commits.
    rollbacks: u64,
    /// Everything that faults had cost is mended.
    quiet: bool,
    violation: Option<Violation>,
}

impl Checker {
    pub(crate) fn new(partitions: u16) -> Self {
        Self { partitions, ..Self::default() }
    }

    pub(crate) fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }

    /// Remembers the first violation; what follows from it is of no interest.
    pub(crate) fn violate(&mut self, checker: &'static str, what: String) {
        self.violation.get_or_insert(Violation { checker, what });
    }

    fn verdict(&mut self, checker: &'static str, verdict: Result<(), String>) {
        if let Err(what) = verdict {
            self.violate(checker, what);
        }
    }

    /// The version that a key has now.
    pub(crate) fn version(&self, key: &store::Key) -> Option<store::Version> {
        self.mirror.get(key).map(|seen| seen.stored.version)
    }

    /// A record as it is stored now.
    pub(crate) fn stored(&self, key: &store::Key) -> Option<&store::Record> {
        self.mirror.get(key).map(|seen| &seen.stored)
    }

    /// From now on everything that faults had cost is mended.
    pub(crate) fn quiet(&mut self) {
        self.quiet = true;
    }

    /// A record as it is now.
    pub(crate) fn record(&self, key: &Key) -> Option<&Record> {
        self.mirror.get(&store::Key::new(key.to_string())).map(|seen| &*seen.record)
    }

    /// A batch was committed at this time of the store.
    pub(crate) fn committed(&mut self, batch: &store::Batch, now: Millis) {
        self.seq += 1;
        let verdict = self.discipline(batch, now);
        self.verdict("versions", verdict);
        let events: Option<Vec<Event>> = batch.events.iter().flat_map(|body| codec::decode_events(body)).collect();
        let Some(events) = events else {
            return self.violate("events", "an event cannot be read".to_owned());
        };
        self.feed.expect(batch);
        let changes = self.changes(batch, now);
        self.past.note(self.seq, &changes);
        self.born(&changes, now);
        let verdicts = [
            ("executions", self.executions.committed((self.seq, now), &changes, &events)),
            ("waits", self.waiting((self.seq, now), &changes, &events)),
            ("history", self.chronicle.committed(&changes, &events)),
            ("pieces", self.pieces(&changes, &events).and_then(|()| self.removals(&changes, &events, now))),
            ("unique", self.unique_keys(&changes)),
            ("lanes", self.lanes.committed((self.seq, now), &changes, &events, batch.partition)),
            ("messages", self.messages.committed(&changes)),
            ("fence", self.calls.committed(&changes)),
        ];
        for (checker, verdict) in verdicts {
            self.verdict(checker, verdict);
        }
    }

    /// Everything the batch relied on is as it expected, it was written in its window, and its id is new.
    fn discipline(&mut self, batch: &store::Batch, now: Millis) -> Result<(), String> {
        if !self.ids.insert(batch.id) {
            return Err(format!("commit id {:?} was used twice", batch.id));
        }
        if !batch.window.contains(now.0) {
            return Err(format!("a batch was written at {now}, outside its window {:?}", batch.window));
        }
        for (key, expected) in &batch.expect {
            let found = self.version(key);
            if found != *expected {
                return Err(format!("a batch expected {key} as {expected:?} and was written over {found:?}"));
            }
        }
        Ok(())
    }

    /// Takes a batch's writes into the mirror and answers what changed.
    fn changes(&mut self, batch: &store::Batch, now: Millis) -> Vec<Change> {
        let mut changes = Vec::new();
        for row in &batch.put {
            let known = self.mirror.get(&row.key).map(|seen| seen.key.clone());
            let Some(key) = known.or_else(|| row.key.as_str().parse().ok()) else {
                self.violate("keys", format!("{} is no key", row.key));
                continue;
            };
            let record = Arc::new(codec::decode(&key, &row.body));
            self.indexed(row, &key, &record);
            let (partition, stored) = (batch.partition, row.clone());
            let seen = Seen { partition, stored, key: key.clone(), record: record.clone(), at: now };
            let before = self.keep(&row.key, Some(seen)).map(|seen| seen.record);
            changes.push(Change { key, before, after: Some(record) });
        }
        for name in &batch.delete {
            if let Some(seen) = self.keep(name, None) {
                changes.push(Change { key: seen.key, before: Some(seen.record), after: None });
            }
        }
        changes
    }

    /// Takes a record into the mirror, or out of it; answers what was there before.
    fn keep(&mut self, name: &store::Key, seen: Option<Seen>) -> Option<Seen> {
        if seen.as_ref().is_some_and(|seen| at_rest::is_open(&seen.record)) {
            self.open.insert(name.clone());
        } else {
            self.open.remove(name);
        }
        match seen {
            Some(seen) => self.mirror.insert(name.clone(), seen),
            None => self.mirror.remove(name),
        }
    }

    /// The store lost commits of a partition: what is acknowledged about the records they touched counts no more.
    pub(crate) fn rolled_back(
        &mut self,
        partition: store::Partition,
        before: &BTreeMap<store::Key, Option<store::Record>>,
        now: Millis,
    ) {
        self.seq += 1;
        self.rollbacks += 1;
        let mut changes = Vec::new();
        for (name, row) in before {
            let Ok(key) = name.as_str().parse::<Key>() else { continue };
            let seen = row.as_ref().map(|row| {
                let record = Arc::new(codec::decode(&key, &row.body));
                Seen { partition, stored: row.clone(), key: key.clone(), record, at: now }
            });
            let after = seen.as_ref().map(|seen| seen.record.clone());
            let before = self.keep(name, seen).map(|seen| seen.record);
            changes.push(Change { key, before, after });
        }
        self.past.note(self.seq, &changes);
        self.executions.rolled_back(self.seq, &changes);
        self.chronicle.rolled_back(&changes);
        self.lanes.rolled_back((self.seq, now), &changes);
        self.messages.rolled_back(&changes);
        self.calls.rolled_back(&changes);
        self.waits_rolled_back(&changes);
    }
}

/// A record that a commit changed.
#[derive(Debug)]
struct Change {
    key: Key,
    before: Option<Arc<Record>>,
    after: Option<Arc<Record>>,
}

/// The execution that a record holds, if there is one and it does.
fn execution(record: Option<&Record>) -> Option<&Execution> {
    match record {
        Some(Record::Execution(execution)) => Some(execution),
        _ => None,
    }
}
