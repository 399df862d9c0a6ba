//! The records at hand for one batch of commands: what was read, what was written, and which window they rely on.

use crate::record::{Execution, Format, HistoryPage, Record, Transition};
use crate::size::{self, Size};
use crate::{Actor, Candidate, Event, ExecutionId, Key, Millis, PageOf, PartitionId, Rejection, Subject, Want, limits};
use bytes::Bytes;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Why a rule did not finish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// The command is refused.
    Refuse(Rejection),
    /// These must be read, then the rule runs again from the start.
    Need(Vec<Want>),
}

impl From<Rejection> for Stop {
    fn from(rejection: Rejection) -> Self {
        Self::Refuse(rejection)
    }
}

/// The span of the store's clock in which what the commands decided is right: `not_before <= now < not_after`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Window {
    /// Earlier, somebody's time has not come yet.
    pub not_before: Option<Millis>,
    /// From here on, somebody's lease is dead.
    pub not_after: Option<Millis>,
}

/// What one command read and wrote, each key once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Step {
    /// Every key it read, written ones included.
    pub reads: Vec<Key>,
    /// Every key it wrote or deleted.
    pub writes: Vec<Key>,
}

/// What a batch of commands did with a record.
#[derive(Debug, Clone, Copy)]
pub enum Touch<'a> {
    /// It was only read.
    Read,
    /// This is its new content.
    Written(&'a Arc<Record>),
    /// It is gone.
    Deleted,
}

/// Where a view finds records that were not supplied one by one, such as a cache.
pub trait Source: std::fmt::Debug {
    /// The record, or the knowledge that there is none; the outer `None` means that nothing is known.
    fn find(&self, key: &Key) -> Option<Option<Arc<Record>>>;

    /// A page of candidates that was read for this batch; `None` when it was not.
    fn page(&self, _page: &PageOf) -> Option<Arc<[Candidate]>> {
        None
    }
}

/// What a batch of commands does to the log of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogChange {
    /// An entry is added; the record's own counter numbers them, from 1 on and without a gap.
    Append {
        /// The place of the entry.
        seq: u64,
        /// Its content.
        body: Bytes,
    },
    /// Entries up to this one are removed.
    Trim {
        /// The last of them.
        through: u64,
    },
}

/// Records of one partition, and the changes that a batch of commands makes to them.
#[derive(Debug)]
pub struct View<'a> {
    source: Option<&'a dyn Source>,
    partition: PartitionId,
    partitions: u16,
    slots: BTreeMap<Key, Slot>,
    pages: BTreeMap<PageOf, Arc<[Candidate]>>,
    logs: Vec<(Key, LogChange)>,
    events: Vec<Event>,
    window: Window,
    /// How much the batch writes so far, and how much it wrote before the running command.
    size: Size,
    size_before: Size,
    /// Counts the commands, from 1 on.
    steps: u32,
    step: Step,
    /// What the running command overwrote, newest last.
    undo: Vec<(Key, Slot)>,
    events_before: usize,
    logs_before: usize,
    /// Who sent the running command, if it was somebody with a name.
    actor: Option<Actor>,
}

/// One record at hand, and the newest commands that read and wrote it; 0 when none did.
#[derive(Debug, Clone)]
struct Slot {
    record: Option<Arc<Record>>,
    read_by: u32,
    written_by: u32,
    /// Where it was listed before the batch, and what the batch writes of it; known once it is written.
    places_before: usize,
    size: Size,
}

impl Slot {
    fn new(record: Option<Arc<Record>>) -> Self {
        Self { record, read_by: 0, written_by: 0, places_before: 0, size: Size::default() }
    }

    fn write(&mut self, record: Option<Record>, step: u32) {
        if self.written_by == 0 {
            self.places_before = self.record.as_deref().map_or(0, size::places);
        }
        self.size = Size::of(self.places_before, record.as_ref());
        (self.record, self.written_by) = (record.map(Arc::new), step);
    }
}

impl<'a> View<'a> {
    /// An empty view of one of the store's partitions.
    #[must_use]
    pub fn new(partition: PartitionId, partitions: u16) -> Self {
        Self {
            source: None,
            partition,
            partitions,
            slots: BTreeMap::new(),
            pages: BTreeMap::new(),
            logs: Vec::new(),
            events: Vec::new(),
            window: Window::default(),
            size: Size::default(),
            size_before: Size::default(),
            steps: 0,
            step: Step::default(),
            undo: Vec::new(),
            events_before: 0,
            logs_before: 0,
            actor: None,
        }
    }

    /// A view that looks into a source for what is not at hand.
    #[must_use]
    pub fn over(partition: PartitionId, partitions: u16, source: &'a dyn Source) -> Self {
        Self { source: Some(source), ..Self::new(partition, partitions) }
    }

    /// The partition.
    #[must_use]
    pub fn partition(&self) -> PartitionId {
        self.partition
    }

    /// How many partitions the store has.
    #[must_use]
    pub fn partitions(&self) -> u16 {
        self.partitions
    }

    /// Puts a loaded record, or the knowledge that there is none, at hand. What commands wrote is not replaced.
    pub fn supply(&mut self, key: Key, record: Option<Arc<Record>>) {
        self.slots.entry(key).or_insert_with(|| Slot::new(record));
    }

    /// Puts a page of candidates at hand.
    pub fn supply_page(&mut self, page: PageOf, found: Arc<[Candidate]>) {
        self.pages.insert(page, found);
    }

    /// Whether a page of candidates is at hand.
    #[must_use]
    pub fn has_page(&self, page: &PageOf) -> bool {
        self.pages.contains_key(page)
    }

    /// Whether a key's record, or its absence, is at hand.
    #[must_use]
    pub fn has(&self, key: &Key) -> bool {
        self.slots.contains_key(key)
    }

    /// How many records are at hand.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether no record is at hand.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Every key that a command read, in order; each must still be as it was when the batch commits.
    pub fn reads(&self) -> impl Iterator<Item = &Key> {
        self.slots.iter().filter(|(_, slot)| slot.read_by > 0).map(|(key, _)| key)
    }

    /// Every key that was written, with its new record or `None` when it was deleted.
    pub fn writes(&self) -> impl Iterator<Item = (&Key, Option<&Arc<Record>>)> {
        let written = self.slots.iter().filter(|(_, slot)| slot.written_by > 0);
        written.map(|(key, slot)| (key, slot.record.as_ref()))
    }

    /// Every key that a command read, in order, with what became of it.
    pub fn touched(&self) -> impl Iterator<Item = (&Key, Touch<'_>)> {
        let read = self.slots.iter().filter(|(_, slot)| slot.read_by > 0);
        read.map(|(key, slot)| match &slot.record {
            _ if slot.written_by == 0 => (key, Touch::Read),
            Some(record) => (key, Touch::Written(record)),
            None => (key, Touch::Deleted),
        })
    }

    /// What becomes of the logs of records, in order; the log of a deleted record goes with it.
    pub fn logs(&self) -> impl Iterator<Item = (&Key, &LogChange)> {
        let kept = |key: &Key| self.slots.get(key).is_some_and(|slot| slot.record.is_some());
        self.logs.iter().filter(move |(key, _)| kept(key)).map(|(key, change)| (key, change))
    }

    /// How much all commands together write.
    #[must_use]
    pub fn size(&self) -> Size {
        self.size
    }

    /// What happened, in order.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The window in which all of it is right.
    #[must_use]
    pub fn window(&self) -> Window {
        self.window
    }

    /// What the newest command read and wrote.
    #[must_use]
    pub fn step(&self) -> &Step {
        &self.step
    }

    /// The same, to keep.
    #[must_use]
    pub fn take_step(&mut self) -> Step {
        std::mem::take(&mut self.step)
    }

    pub(crate) fn begin(&mut self, actor: Option<&Actor>) {
        self.actor = actor.cloned();
        self.steps += 1;
        self.step = Step::default();
        self.undo.clear();
        self.events_before = self.events.len();
        self.logs_before = self.logs.len();
        self.size_before = self.size;
    }

    pub(crate) fn undo(&mut self) {
        while let Some((key, before)) = self.undo.pop() {
            self.slots.insert(key, before);
        }
        self.events.truncate(self.events_before);
        self.logs.truncate(self.logs_before);
        self.size = self.size_before;
        self.step.writes.clear();
    }

    /// Takes back what the newest command wrote: its rule panicked half-way, or it does not fit the batch.
    pub fn abandon(&mut self) {
        self.undo();
    }

    /// Reads a record of any kind.
    ///
    /// # Errors
    /// [`Stop::Need`] when it is not at hand.
    pub fn get(&mut self, key: &Key) -> Result<Option<Arc<Record>>, Stop> {
        self.read(key).map(|slot| slot.record.clone())
    }

    /// Finds a record and notes that the running command relies on it.
    fn read(&mut self, key: &Key) -> Result<&mut Slot, Stop> {
        let slot = match self.slots.entry(key.clone()) {
            Entry::Occupied(slot) => slot.into_mut(),
            Entry::Vacant(place) => match self.source.and_then(|source| source.find(key)) {
                Some(record) => place.insert(Slot::new(record)),
                None => return Err(Stop::Need(vec![key.clone().into()])),
            },
        };
        if slot.read_by != self.steps {
            slot.read_by = self.steps;
            self.step.reads.push(key.clone());
        }
        Ok(slot)
    }

    /// Reads a page of candidates: keys that an index lists, each with its rank. See [`PageOf`] for what it is worth.
    ///
    /// # Errors
    /// [`Stop::Need`] when it is not at hand.
    pub fn page(&mut self, page: &PageOf) -> Result<Arc<[Candidate]>, Stop> {
        let found = self.pages.get(page).cloned().or_else(|| self.source.and_then(|source| source.page(page)));
        found.ok_or_else(|| Stop::Need(vec![Want::Page(page.clone())]))
    }

    /// Adds an entry to the log of a record, which the running command has read and which exists afterwards.
    pub fn append(&mut self, log: Key, seq: u64, body: Bytes) {
        self.size += Size { rows: 1, bytes: body.len() };
        self.logs.push((log, LogChange::Append { seq, body }));
    }

    /// Removes the entries of a log up to one of them. The store removes the whole log with its record.
    pub fn trim(&mut self, log: Key, through: u64) {
        self.logs.push((log, LogChange::Trim { through }));
    }

    /// Does something for each of many items. When several of them lack records, all are asked for at once: one round
    /// for a hundred items, not a hundred.
    pub(crate) fn for_each<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        mut act: impl FnMut(&mut Self, T) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let mut lacking = BTreeSet::new();
        for item in items {
            match act(self, item) {
                Ok(()) => {}
                Err(Stop::Need(wanted)) => lacking.extend(wanted),
                Err(refusal) if lacking.is_empty() => return Err(refusal),
                // It may be due to what an earlier item could not do yet.
                Err(_) => break,
            }
        }
        if lacking.is_empty() { Ok(()) } else { Err(Stop::Need(lacking.into_iter().collect())) }
    }

    /// Reads an execution.
    ///
    /// # Errors
    /// [`Stop::Need`] when it is not at hand, a refusal when it cannot be read.
    pub(crate) fn execution(&mut self, id: ExecutionId) -> Result<Option<Arc<Execution>>, Stop> {
        let key = Key::Execution(id);
        match self.get(&key)?.as_deref() {
            None => Ok(None),
            Some(Record::Execution(execution)) => Ok(Some(execution.clone())),
            Some(_) => Err(unreadable(&key)),
        }
    }

    /// Writes an execution and says what happened to it, in its own history and to the world.
    pub(crate) fn put_execution(&mut self, mut shared: Arc<Execution>, event: crate::What) -> Result<(), Stop> {
        let execution = Arc::make_mut(&mut shared);
        if execution.history.len() >= limits::HISTORY_PAGE {
            let transitions = std::mem::take(&mut execution.history);
            let page = Key::History(execution.id, execution.pages);
            self.put_new(page, Record::History(HistoryPage { format: Format, transitions }))?;
            execution.pages += 1;
        }
        let by = self.actor.clone();
        execution.history.push(Transition { at: execution.changed_at, by: by.clone(), what: event.clone() });
        let (at, subject) = (execution.changed_at, Subject::of(execution));
        self.events.push(Event { by, ..Event::new(at, subject, event) });
        self.put(Key::Execution(execution.id), Record::Execution(shared))
    }

    /// Writes a record whole. A key is read before it is written, so that the commit expects what the rule saw; what
    /// cannot be read is not overwritten.
    pub(crate) fn put(&mut self, key: Key, record: Record) -> Result<(), Stop> {
        self.write(key, Some(record))
    }

    /// Writes a record under a key that is new by construction. Its absence is assumed instead of loaded; the commit
    /// checks the assumption, and when it was wrong the rule runs again with the record at hand.
    pub(crate) fn put_new(&mut self, key: Key, record: Record) -> Result<(), Stop> {
        if !self.has(&key) && self.source.is_none_or(|source| source.find(&key).is_none()) {
            self.supply(key.clone(), None);
        }
        self.put(key, record)
    }

    /// Writes a record again as it is, so that it gets a new version; answers whether there is one that can be read.
    ///
    /// # Errors
    /// [`Stop::Need`] when it is not at hand.
    pub fn rewrite(&mut self, key: &Key) -> Result<bool, Stop> {
        match self.get(key)?.as_deref() {
            None | Some(Record::Unreadable(_)) => Ok(false),
            Some(record) => self.put(key.clone(), record.clone()).map(|()| true),
        }
    }

    /// Whether any command wrote or deleted a record.
    #[must_use]
    pub fn is_written(&self, key: &Key) -> bool {
        self.slots.get(key).is_some_and(|slot| slot.written_by > 0)
    }

    /// Removes a record.
    pub(crate) fn delete(&mut self, key: Key) -> Result<(), Stop> {
        self.write(key, None)
    }

    fn write(&mut self, key: Key, record: Option<Record>) -> Result<(), Stop> {
        let step = self.steps;
        let slot = self.read(&key)?;
        if record.is_some() && matches!(slot.record.as_deref(), Some(Record::Unreadable(_))) {
            return Err(unreadable(&key));
        }
        let before = slot.clone();
        slot.write(record, step);
        let size = slot.size;
        self.size -= before.size;
        self.size += size;
        if before.written_by != step {
            self.step.writes.push(key.clone());
        }
        self.undo.push((key, before));
        Ok(())
    }

    /// Says what happened apart from any execution.
    pub(crate) fn event(&mut self, event: Event) {
        self.events.push(Event { by: self.actor.clone(), ..event });
    }

    /// What the command decides is right only from this time on.
    pub fn not_before(&mut self, time: Millis) {
        let earliest = self.window.not_before.map_or(time, |old| old.max(time));
        self.window.not_before = Some(earliest);
    }

    /// What the command decides is right only before this time.
    pub(crate) fn not_after(&mut self, time: Millis) {
        let latest = self.window.not_after.map_or(time, |old| old.min(time));
        self.window.not_after = Some(latest);
    }
}

/// The refusal for a record that this version cannot read.
pub(crate) fn unreadable(key: &Key) -> Stop {
    Stop::Refuse(Rejection::RecordUnreadable { key: key.to_string() })
}
