//! The feed: a subscriber sees every event of every commit once, in order, and nothing else.

use super::Checker;
use bytes::Bytes;
use futures_util::FutureExt;
use onward_store::memory::Memory;
use onward_store::{Batch, Cursor, Partition, Store};
use std::collections::{BTreeMap, VecDeque};

/// Events read at once; no batch of a run has more.
const PAGE: usize = 4_096;

/// What a subscriber must see next, and how far it has read.
#[derive(Debug, Default)]
pub(super) struct Feed {
    due: VecDeque<(Partition, Bytes)>,
    cursor: Cursor,
    positions: BTreeMap<Partition, u64>,
}

impl Feed {
    pub(super) fn expect(&mut self, batch: &Batch) {
        self.due.extend(batch.events.iter().map(|event| (batch.partition, event.clone())));
    }

    fn read(&mut self, memory: &Memory) -> Result<(), String> {
        let page = match memory.read_feed(&self.cursor, PAGE).now_or_never() {
            Some(Ok(page)) => page,
            other => return Err(format!("the feed cannot be read: {other:?}")),
        };
        for event in &page.events {
            let text = String::from_utf8_lossy(&event.body);
            match self.due.pop_front() {
                None => return Err(format!("partition {} shows an event of no commit: {text}", event.partition)),
                Some(due) if due != (event.partition, event.body.clone()) => {
                    return Err(format!("partition {} shows an event out of order: {text}", event.partition));
                }
                Some(_) => {}
            }
            let last = self.positions.insert(event.partition, event.position);
            if last.is_some_and(|last| last >= event.position) {
                return Err(format!("position {} of partition {} goes back", event.position, event.partition));
            }
        }
        if !self.due.is_empty() {
            return Err(format!("{} events of committed batches are not in the feed", self.due.len()));
        }
        self.cursor = page.cursor;
        Ok(())
    }
}

impl Checker {
    /// Reads on as a subscriber would.
    pub(crate) fn read_feed(&mut self, memory: &Memory) {
        let verdict = self.feed.read(memory);
        self.verdict("feed", verdict);
    }
}
