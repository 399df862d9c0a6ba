//! Subscriptions: filtered events from any cursor on, in order for each execution, with waiting for new ones.

use crate::events::cursor::EventCursor;
use crate::events::reads::{Commit, PAGE};
use crate::members::roster::Homes;
use crate::shared::Shared;
use crate::{Engine, Error};
use onward_core::{Event, ExecutionId, Lane, Millis, Namespace, PartitionId, Rejection, Span, codec, limits};
use onward_store::{Batch, Cursor, ErrorKind, Partition, Trim, Version};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// Which events a reader wants; an unset field matches everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventFilter {
    /// Only events of this namespace, and those about all namespaces.
    pub namespace: Option<Namespace>,
    /// Only events of this lane.
    pub lane: Option<Lane>,
    /// Only events of this execution.
    pub execution: Option<ExecutionId>,
    /// Only events with these names; all when empty.
    pub names: BTreeSet<String>,
    /// Only events that end an execution.
    pub endings: bool,
}

impl EventFilter {
    /// Whether an event passes the filter.
    #[must_use]
    pub fn lets_through(&self, event: &Event) -> bool {
        // What concerns all namespaces concerns each.
        let of = |namespace: &Namespace| event.namespace().is_none_or(|its| its == namespace);
        self.namespace.as_ref().is_none_or(of)
            && self.lane.as_ref().is_none_or(|lane| Some(lane) == event.lane())
            && self.execution.is_none_or(|execution| Some(execution) == event.execution())
            && (self.names.is_empty() || self.names.contains(event.what.name()))
            && (!self.endings || event.what.outcome().is_some())
    }
}

/// What a subscription returns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// An event that passes the filter.
    Event {
        /// The event itself.
        event: Event,
        /// Cursor after the event; a reader that stores it together with its own work sees every event once.
        cursor: String,
    },
    /// Events before the next one were removed before this reader came, or a server that lost its last moments undid
    /// what was delivered last.
    Gap,
}

/// Reads events from a cursor on and waits for more.
#[derive(Debug)]
pub struct Subscription {
    shared: Arc<Shared>,
    filter: EventFilter,
    place: EventCursor,
    read: VecDeque<Told>,
    pace: Span,
}

impl Engine {
    /// Reads events after a cursor, or from the oldest one on; see [`Subscription::next`].
    #[must_use]
    pub fn subscribe(&self, filter: EventFilter, cursor: Option<String>) -> Subscription {
        let place = cursor.map_or_else(EventCursor::default, |text| EventCursor::parse(&text));
        Subscription { shared: self.shared.clone(), filter, place, read: VecDeque::new(), pace: Span(0) }
    }
}

/// The store's part of a reader's cursor: the commits up to it were delivered in full.
#[must_use]
pub fn store_cursor(cursor: &str) -> Cursor {
    EventCursor::parse(cursor).cursor
}

impl Subscription {
    /// Waits for the next event; `None` when the engine stops.
    ///
    /// # Errors
    /// A failure of the store. The next call continues where this one failed.
    pub async fn next(&mut self) -> Result<Option<Told>, Error> {
        loop {
            // A commit after this line is noticed, so nothing can fall between reading and waiting.
            let shared = self.shared.clone();
            let news = shared.event_reads.news();
            if let Some(told) = self.read(true).await? {
                return Ok(Some(told));
            }
            if self.shared.is_stopping() {
                return Ok(None);
            }
            let heal = self.shared.clock.sleep(self.shared.options.sweep_every);
            tokio::select! { biased; () = news => {}, () = self.shared.stopped() => {}, () = heal => {} }
            if self.pace > Span(0) {
                self.shared.clock.sleep(self.shared.chance.jittered(self.pace)).await;
            }
        }
    }

    /// Sets the longest pause between a notification and the read. It keeps many readers from reading at once, and lets
    /// each find more.
    pub fn set_pace(&mut self, pace: Span) {
        self.pace = pace;
    }

    /// Returns the next event if there is one already.
    ///
    /// # Errors
    /// A failure of the store, or a cursor that the store did not make.
    pub async fn next_now(&mut self) -> Result<Option<Told>, Error> {
        self.read(false).await
    }

    /// Returns the next event if there is one already; with `follows`, the read is shared with other readers.
    async fn read(&mut self, follows: bool) -> Result<Option<Told>, Error> {
        loop {
            if let Some(told) = self.read.pop_front() {
                return Ok(Some(told));
            }
            let (store, reading) = (&*self.shared.store, &self.shared.event_reads);
            let page = match follows {
                true => reading.shared(store, &self.place.cursor).await,
                false => reading.fresh(store, &self.place.cursor).await,
            };
            let page = page.map_err(refused)?;
            let end = page.commits.is_empty();
            if page.gap {
                self.read.push_back(Told::Gap);
            }
            for commit in &page.commits {
                self.tell(commit);
            }
            self.place.cursor = page.cursor.clone();
            if end && self.read.is_empty() {
                return Ok(None);
            }
        }
    }

    /// Queues the events of one commit, except those delivered before.
    fn tell(&mut self, Commit { found, events }: &Commit) {
        let (told, all) = (self.place.told_of(found), events.len());
        if told.is_none() {
            self.read.push_back(Told::Gap);
        }
        let told = told.unwrap_or(0).min(all);
        for (count, event) in (1..).zip(events).skip(told) {
            if count < all {
                self.place.tell(found, count);
            } else {
                self.place.pass(found.partition, found.cursor.clone());
            }
            // Events that a newer version wrote are skipped: this one does not know what they mean.
            if let Some(event) = event.as_ref().filter(|event| self.filter.lets_through(event)) {
                self.read.push_back(Told::Event { event: event.clone(), cursor: self.place.text() });
            }
        }
        if told == all {
            self.place.pass(found.partition, found.cursor.clone());
        }
    }

    /// The cursor of this reader: every event before it was delivered or filtered out. `None` while events are queued.
    #[must_use]
    pub fn cursor(&self) -> Option<String> {
        self.read.is_empty().then(|| self.place.text())
    }
}

/// Turns the store's refusal of a cursor that it did not make into the reader's invalid argument.
fn refused(error: Error) -> Error {
    match &error {
        Error::Store { kind: ErrorKind::Invalid, message } => {
            Rejection::InvalidArgument { field: "cursor", why: message.clone() }.into()
        }
        _ => error,
    }
}

/// Removes events older than their retention from the partitions whose home this process is.
pub(crate) async fn trim(shared: Arc<Shared>) {
    loop {
        let retention = shared.options.event_retention;
        let pause = Span((retention.0 / 8).clamp(limits::TRIM_EVERY_MIN.0, limits::TRIM_EVERY_MAX.0));
        tokio::select! {
            biased;
            () = shared.stopped() => return,
            () = shared.clock.sleep(shared.chance.jittered(pause)) => {}
        }
        let homes = shared.homes();
        if homes == Homes::Nowhere {
            continue;
        }
        if let Err(error) = trim_once(&shared, &homes, shared.time.now() - retention).await {
            tracing::warn!(%error, "old events could not be removed; trying again later");
        }
    }
}

/// Removes events older than `before`.
///
/// Only the events of one partition are ordered by time. So the end is where every partition has shown a newer event,
/// or where as many pages in a row as there are partitions had nothing old: pages take turns.
async fn trim_once(shared: &Shared, homes: &Homes, before: Millis) -> Result<(), Error> {
    let all = (0..shared.partitions).filter(|partition| homes.contains(PartitionId(*partition))).count();
    let (mut cursor, mut reached, mut idle) = (Cursor::start(), BTreeSet::new(), 0);
    loop {
        let page = shared.store.read_feed(&cursor, PAGE).await?;
        let mut old: BTreeMap<Partition, u64> = BTreeMap::new();
        for found in page.events.iter().filter(|found| homes.contains(PartitionId(found.partition.0))) {
            match codec::decode_events(&found.body).pop().flatten() {
                Some(event) if event.at >= before => {
                    reached.insert(found.partition);
                }
                _ if reached.contains(&found.partition) => {}
                _ => {
                    old.insert(found.partition, found.position);
                }
            }
        }
        idle = if old.is_empty() { idle + 1 } else { 0 };
        let batches: Vec<Batch> = old
            .into_iter()
            .map(|(partition, through)| {
                let mut batch = Batch::new(partition, Version(shared.chance.id()));
                batch.trim.push(Trim::Feed { through });
                batch
            })
            .collect();
        if !batches.is_empty() {
            shared.metrics.events_trimmed.add(1);
            shared.store.commit(batches).await?;
        }
        if page.events.is_empty() || reached.len() == all || idle >= shared.partitions {
            return Ok(());
        }
        cursor = page.cursor;
    }
}
