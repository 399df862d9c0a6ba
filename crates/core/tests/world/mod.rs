//! A store in one map: runs commands the way an engine does, asks for what a rule lacks, commits what it wrote.
#![allow(dead_code, unreachable_pub, unused_imports, unused_macros, reason = "each test program uses a part of it")]

pub mod make;
pub mod vector;

use onward_core::record::{Execution, LaneMaster, Message, Record};
use onward_core::{
    Candidate, Command, Deliver, Event, ExecutionId, Forget, Key, Lane, Millis, Namespace, PageOf, PartitionId,
    Rejection, Reply, Span, Step, Stop, Verb, View, Want, Window, apply, codec, index, limits,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// All records of all partitions, and a clock.
#[derive(Debug, Clone)]
pub struct World {
    pub partitions: u16,
    pub now: Millis,
    pub records: BTreeMap<Key, Arc<Record>>,
    pub events: Vec<Event>,
    /// Keys that no page of candidates shows, as if their commit were in flight.
    pub hidden: BTreeSet<String>,
    /// What every page shows beside them, as if its removal were in flight.
    pub stale: Vec<Candidate>,
}

/// What one command did.
#[derive(Debug, Clone)]
pub struct Done {
    pub result: Result<Reply, Rejection>,
    pub step: Step,
    pub events: Vec<Event>,
    pub window: Window,
    /// How often the rule asked for more records.
    pub rounds: usize,
}

impl World {
    pub fn new(partitions: u16) -> Self {
        Self {
            partitions,
            now: Millis(1_000_000),
            records: BTreeMap::new(),
            events: Vec::new(),
            hidden: BTreeSet::new(),
            stale: Vec::new(),
        }
    }

    pub fn pass(&mut self, span: Span) {
        self.now = self.now + span;
    }

    /// Runs a command in a partition until it has everything it asks for, and commits it.
    pub fn run(&mut self, partition: PartitionId, command: &Command) -> Done {
        self.attempt(partition, command, command.keys(partition))
    }

    /// The same, with nothing at hand at first.
    pub fn run_from_nothing(&mut self, partition: PartitionId, command: &Command) -> Done {
        self.attempt(partition, command, Vec::new())
    }

    fn attempt(&mut self, partition: PartitionId, command: &Command, at_hand: Vec<Key>) -> Done {
        let mut view = View::new(partition, self.partitions);
        let mut supplied: BTreeSet<Key> = BTreeSet::new();
        let mut wanted: Vec<Want> = at_hand.into_iter().map(Want::Key).collect();
        let mut rounds = 0;
        let result = loop {
            for want in wanted {
                match want {
                    Want::Key(key) => {
                        let record = self.records.get(&key).cloned();
                        supplied.insert(key.clone());
                        view.supply(key, record);
                    }
                    Want::Page(page) => {
                        let found = self.page(&page);
                        view.supply_page(page, found);
                    }
                }
            }
            match apply(&mut view, command, self.now) {
                Ok(reply) => break Ok(reply),
                Err(Stop::Refuse(rejection)) => break Err(rejection),
                Err(Stop::Need(needs)) => {
                    assert!(view.step().writes.is_empty() && view.writes().count() == 0, "a stopped rule wrote");
                    let at_hand = |want: &Want| match want {
                        Want::Key(key) => view.has(key),
                        Want::Page(page) => view.has_page(page),
                    };
                    assert!(!needs.iter().any(at_hand), "a rule asked for what it has: {needs:?}");
                    rounds += 1;
                    assert!(rounds <= limits::NEED_ROUNDS_MAX, "{} asked too often", command.name());
                    wanted = needs;
                }
            }
        };
        let assumed = view.reads().filter(|key| !supplied.contains(*key) && self.records.contains_key(*key));
        let wrong: Vec<Key> = assumed.cloned().collect();
        if !wrong.is_empty() {
            // The commit of a rule that took a key for new is refused, and it runs again with the record at hand.
            return self.attempt(partition, command, supplied.into_iter().chain(wrong).collect());
        }
        self.check_view(&view, result.is_err());
        self.commit(&view);
        let (step, window) = (view.step().clone(), view.window());
        Done { result, step, events: view.events().to_vec(), window, rounds }
    }

    /// A page of an index as it is now, and at times as it was: without what is in `hidden`, and with what is gone.
    fn page(&self, page: &PageOf) -> Arc<[Candidate]> {
        let listed = self.records.iter().flat_map(|(key, record)| {
            let at = index::entries(key, record).into_iter().filter(|entry| entry.name == page.index);
            at.map(|entry| Candidate { rank: entry.rank, key: key.name() })
        });
        let mut listed: Vec<Candidate> = listed.chain(self.stale.iter().cloned()).collect();
        listed.retain(|found| page.after.as_ref().is_none_or(|after| after < found));
        listed.retain(|found| !self.hidden.contains(&*found.key));
        listed.sort();
        listed.truncate(limits::CANDIDATES_MAX);
        listed.into()
    }

    fn check_view(&self, view: &View, refused: bool) {
        if refused {
            assert!(view.writes().count() == 0 && view.step().writes.is_empty(), "a refused command wrote");
            assert!(view.events().is_empty(), "a refused command told something");
        }
        assert!(view.step().writes.iter().all(|key| view.step().reads.contains(key)), "written without being read");
        let unread = view.reads().filter(|key| !view.step().reads.contains(*key)).count();
        assert!(refused || unread == 0, "an earlier round read what the last one did not");
        let (mut rows, mut bytes) = (0, 0);
        for (key, record) in view.writes() {
            rows += 1;
            let Some(record) = record else { continue };
            rows += index::entries(key, record).len() + usize::from(index::due(record).is_some());
            bytes += codec::encode(record).len();
        }
        assert!(rows <= view.size().rows, "{rows} rows are written and {:?} was measured", view.size());
        let most = 2 * view.size().bytes + 1_024 * view.writes().count();
        assert!(bytes <= most, "{bytes} bytes are written and {:?} was measured", view.size());
        let Window { not_before, not_after } = view.window();
        assert!(not_before.is_none_or(|time| time <= self.now), "the window begins after now");
        assert!(not_after.is_none_or(|time| self.now < time), "the window ended before now");
    }

    /// Stores what a view wrote, through its bytes.
    fn commit(&mut self, view: &View) {
        for (key, record) in view.writes() {
            let text = key.to_string();
            assert_eq!(text.parse::<Key>().as_ref(), Ok(key), "a key must survive printing and parsing");
            assert!(text.len() <= 200, "{text}");
            let before = self.records.get(key).map(|record| &**record);
            assert!(
                !matches!(before, Some(Record::Unreadable(_))) || record.is_none(),
                "{key} cannot be read and was rewritten"
            );
            match record {
                None => drop(self.records.remove(key)),
                Some(record) => {
                    let back = codec::decode(key, &codec::encode(record));
                    assert_eq!(&back, &**record, "{key} must survive its bytes");
                    self.records.insert(key.clone(), Arc::new(back));
                }
            }
        }
        let told = codec::encode_events(view.events()).map(|body| codec::decode_events(&body)).unwrap_or_default();
        assert_eq!(told.into_iter().collect::<Option<Vec<_>>>().as_deref(), Some(view.events()));
        self.events.extend(view.events().iter().cloned());
    }

    pub fn record(&self, key: &Key) -> Option<&Record> {
        self.records.get(key).map(|record| &**record)
    }

    pub fn put(&mut self, key: Key, record: Record) {
        self.records.insert(key, Arc::new(record));
    }

    pub fn find(&self, id: ExecutionId) -> Option<&Execution> {
        match self.record(&Key::Execution(id)) {
            Some(Record::Execution(execution)) => Some(execution),
            _ => None,
        }
    }

    pub fn execution(&self, id: ExecutionId) -> &Execution {
        self.find(id).unwrap_or_else(|| panic!("there is no {id}"))
    }

    pub fn executions(&self) -> impl Iterator<Item = &Execution> {
        self.records.values().filter_map(|record| match &**record {
            Record::Execution(execution) => Some(&**execution),
            _ => None,
        })
    }

    pub fn master(&self, namespace: &Namespace, lane: &Lane) -> &LaneMaster {
        match self.record(&Key::LaneMaster(namespace.clone(), lane.clone())) {
            Some(Record::LaneMaster(master)) => master,
            other => panic!("no master but {other:?}"),
        }
    }

    /// The messages from one partition to another, in order, with their sequences.
    pub fn outgoing(&self, from: PartitionId, to: PartitionId) -> Vec<(u64, Message)> {
        let between = Key::Message(from, to, 0)..=Key::Message(from, to, u64::MAX);
        let messages = self.records.range(between).filter_map(|(key, record)| match (key, &**record) {
            (Key::Message(_, _, seq), Record::Message(message)) => Some((*seq, message.clone())),
            _ => None,
        });
        messages.collect()
    }

    /// Delivers what waits between two partitions and removes it; says how many messages were new.
    pub fn deliver(&mut self, from: PartitionId, to: PartitionId) -> usize {
        let waiting: Vec<_> = self.outgoing(from, to).into_iter().take(limits::MESSAGES_MAX).collect();
        let Some(&(through, _)) = waiting.last() else { return 0 };
        let messages: Vec<_> = waiting.into_iter().map(|(_, message)| message).collect();
        let ids = messages.iter().map(|message| message.id).collect();
        let done = self.run(to, &Command::Deliver(Deliver { from, messages }));
        let Ok(Reply::Deliver(applied)) = done.result else { panic!("not delivered: {:?}", done.result) };
        let done = self.run(from, &Command::Forget(Forget { to, through, ids }));
        assert_eq!(done.result, Ok(Reply::Forget(())));
        applied
    }

    /// Delivers until nothing is on its way.
    pub fn settle(&mut self) {
        let everyone: Vec<_> = (0..self.partitions).map(PartitionId).collect();
        for _ in 0..10 {
            let mut moved = false;
            for &from in &everyone {
                for &to in &everyone {
                    moved |= !self.outgoing(from, to).is_empty();
                    self.deliver(from, to);
                }
            }
            if !moved {
                return;
            }
        }
        panic!("messages never come to rest");
    }
}
