//! One queue of ready work in memory: the best entries and the position up to which all are known.
//!
//! The queue is a hint. An entry in it may have been claimed by another worker; the claim's commit finds out. What must
//! not happen is the opposite, ready work that no worker ever sees, which is why the queue knows how far it is complete
//! and reads the store again after that position.

use onward_core::ExecutionId;
use onward_core::limits::READY_MAX;
use std::collections::BTreeSet;

/// Ready entries below which a queue counts as short.
const SHORT: usize = 64;

/// A position in the queue: rank and execution.
pub(crate) type Position = (u64, ExecutionId);

/// How much of the ready work memory holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    /// Nothing is known; the store must be read from the start.
    Nothing,
    /// Everything up to and including this position.
    Through(Position),
    /// Everything.
    All,
}

/// Ready work of one queue.
#[derive(Debug)]
pub(crate) struct ReadyQueue {
    entries: BTreeSet<Position>,
    known: Known,
    refilling: bool,
    /// Entries that became ready while the store was being read; the read may have missed them.
    meanwhile: Vec<Position>,
    /// Claims are refused here until the lane changes.
    stalled: bool,
    /// Whether it was used or registered since the registry was last read whole.
    pub(crate) touched: bool,
    /// Another process may have added entries: memory is used up first, then the store is read from the start.
    doubted: bool,
}

impl ReadyQueue {
    pub(crate) fn new() -> Self {
        Self {
            entries: BTreeSet::new(),
            known: Known::Nothing,
            refilling: false,
            meanwhile: Vec::new(),
            stalled: false,
            doubted: false,
            touched: true,
        }
    }

    /// The best entry in memory; `None` while the queue is stalled.
    pub(crate) fn best(&self) -> Option<Position> {
        if self.stalled { None } else { self.entries.first().copied() }
    }

    /// The best entries in memory.
    pub(crate) fn first(&self, count: usize) -> Vec<Position> {
        if self.stalled { Vec::new() } else { self.entries.iter().take(count).copied().collect() }
    }

    pub(crate) fn take(&mut self, place: &Position) {
        self.entries.remove(place);
    }

    /// Whether the store may hold ready work that memory does not.
    pub(crate) fn wants_refill(&self) -> bool {
        let incomplete = self.doubted || self.known != Known::All;
        !self.stalled && !self.refilling && self.entries.is_empty() && incomplete
    }

    /// Whether memory knows of little work, so that workers here will soon be idle.
    pub(crate) fn is_short(&self) -> bool {
        !matches!(self.known, Known::Through(_)) && self.entries.len() < SHORT
    }

    pub(crate) fn is_refilling(&self) -> bool {
        self.refilling
    }

    pub(crate) fn is_stalled(&self) -> bool {
        self.stalled
    }

    pub(crate) fn add(&mut self, place: Position) {
        if self.refilling {
            self.meanwhile.push(place);
        }
        let known = match self.known {
            Known::Nothing => false,
            Known::Through(last) => place <= last,
            Known::All => true,
        };
        if !known {
            return;
        }
        self.entries.insert(place);
        if self.entries.len() > READY_MAX {
            self.entries.pop_last();
            self.known = self.entries.last().map_or(Known::Nothing, |last| Known::Through(*last));
        }
    }

    /// Starts a read of the store; returns the position after which to read.
    pub(crate) fn begin_refill(&mut self) -> Option<Position> {
        self.refilling = true;
        self.meanwhile.clear();
        if std::mem::take(&mut self.doubted) {
            self.known = Known::Nothing;
        }
        match self.known {
            Known::Through(last) => Some(last),
            Known::Nothing | Known::All => None,
        }
    }

    /// Takes in a page from the store; `more` says whether there are further entries.
    pub(crate) fn end_refill(&mut self, page: Vec<Position>, more: bool) {
        self.refilling = false;
        self.known = match page.last() {
            Some(last) if more => Known::Through(*last),
            _ if more => self.known,
            _ => Known::All,
        };
        self.entries.extend(page);
        for place in std::mem::take(&mut self.meanwhile) {
            self.add(place);
        }
    }

    /// Ends a failed read of the store.
    pub(crate) fn fail_refill(&mut self) {
        self.refilling = false;
        self.doubted = true;
        self.meanwhile.clear();
    }

    /// Drops everything, so that the store is read again from the start.
    pub(crate) fn reset(&mut self) {
        self.entries.clear();
        self.known = Known::Nothing;
        self.stalled = false;
        // A read in progress started after a position that means nothing now.
        self.doubted |= self.refilling;
    }

    /// Notes that another process may have added entries.
    pub(crate) fn doubt(&mut self) {
        self.doubted = true;
        self.stalled = false;
    }

    /// Drops everything and keeps the queue out of use until it is reset or doubted: claims are refused here.
    pub(crate) fn stall(&mut self) {
        self.reset();
        self.stalled = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onward_core::PartitionId;

    fn place(rank: u64) -> Position {
        let id = format!("x-00000000-0000-7000-8000-{rank:012x}-{}", PartitionId(1));
        (rank, id.parse().unwrap())
    }

    #[test]
    fn nothing_ready_is_overlooked() {
        let mut queue = ReadyQueue::new();
        queue.add(place(5));
        assert!(queue.best().is_none() && queue.wants_refill(), "unknown places are read, not remembered");
        assert_eq!(queue.begin_refill(), None);
        queue.add(place(1));
        queue.add(place(900));
        queue.end_refill(vec![place(5), place(6)], true);
        assert_eq!(queue.best(), Some(place(1)), "what became ready meanwhile");
        for rank in [1, 5, 6] {
            queue.take(&place(rank));
        }
        assert!(queue.wants_refill());
        assert_eq!(queue.begin_refill(), Some(place(6)));
        queue.end_refill(vec![place(900)], false);
        assert!(!queue.wants_refill());
        queue.add(place(1_000));
        queue.take(&place(900));
        assert_eq!(queue.best(), Some(place(1_000)));
    }

    #[test]
    fn a_doubted_queue_is_read_from_the_start_once_it_is_used_up() {
        let mut queue = ReadyQueue::new();
        queue.begin_refill();
        queue.end_refill(vec![place(5)], false);
        queue.doubt();
        assert_eq!(queue.best(), Some(place(5)));
        assert!(!queue.wants_refill());
        queue.take(&place(5));
        assert!(queue.wants_refill());
        assert_eq!(queue.begin_refill(), None);
        queue.doubt();
        queue.end_refill(Vec::new(), false);
        assert!(queue.wants_refill(), "a doubt that arose during the reading is not forgotten");
    }

    #[test]
    fn memory_is_bounded_and_remembers_where_it_was_cut() {
        let mut queue = ReadyQueue::new();
        queue.begin_refill();
        queue.end_refill(Vec::new(), false);
        for rank in (0..3_000).rev() {
            queue.add(place(rank));
        }
        assert_eq!(queue.entries.len(), READY_MAX);
        assert_eq!(queue.known, Known::Through(place(1_023)));
    }
}
