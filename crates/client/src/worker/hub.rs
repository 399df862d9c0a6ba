//! The waits of one attempt: which ones its handler has open, and how those ended that are over.

use onward_core::record::{OnTimeout, WaitRef};
use onward_core::{Condition, Millis, NewSuspension, Reason, WaitName, WaitResult, Woken};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::task::Waker;

/// The waits of one attempt, shared by its context and the worker that polls its handler.
#[derive(Debug, Default)]
pub(crate) struct Hub(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// How many waits for each name the handler has come to in this run.
    counts: BTreeMap<WaitName, u32>,
    over: BTreeMap<WaitRef, WaitResult>,
    /// Since when each wait is open; timeouts count from it, also after other waits ended a suspension.
    since: BTreeMap<WaitRef, Millis>,
    open: BTreeMap<u64, Open>,
    next: u64,
}

/// What one future of the handler waits for.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    pub(crate) condition: Condition,
    /// What ends the execution or hands it to an operator unless the condition is met in time.
    pub(crate) otherwise: Option<(Millis, OnTimeout)>,
    pub(crate) reason: Reason,
}

#[derive(Debug)]
struct Open {
    wanted: Wanted,
    waker: Waker,
}

impl Hub {
    /// The waits of an attempt that was told this when it was claimed.
    pub(crate) fn new(woke: Option<&Woken>, open: &BTreeMap<WaitRef, Millis>) -> Self {
        let hub = Self::default();
        hub.0.lock().since.clone_from(open);
        woke.map(|woke| hub.learn(woke));
        hub
    }

    /// The next wait for a name.
    pub(crate) fn next(&self, name: &WaitName) -> WaitRef {
        let mut inner = self.0.lock();
        let count = inner.counts.entry(name.clone()).or_default();
        *count += 1;
        WaitRef::new(name.clone(), *count)
    }

    /// The next wait for a name, without coming to it.
    pub(crate) fn coming(&self, name: &WaitName) -> WaitRef {
        let count = self.0.lock().counts.get(name).copied().unwrap_or_default();
        WaitRef::new(name.clone(), count + 1)
    }

    /// Since when waits are open: the first that was opened decides.
    pub(crate) fn open_since(&self, waits: &[WaitRef], now: Millis) -> Millis {
        let mut inner = self.0.lock();
        waits.iter().map(|wait| *inner.since.entry(wait.clone()).or_insert(now)).min().unwrap_or(now)
    }

    /// How a wait ended, if it is over.
    pub(crate) fn over(&self, wait: &WaitRef) -> Option<WaitResult> {
        self.0.lock().over.get(wait).cloned()
    }

    /// Opens a wait of the handler, or keeps it open; the answer names it.
    pub(crate) fn open(&self, known: Option<u64>, wanted: impl FnOnce() -> Wanted, waker: &Waker) -> u64 {
        let mut inner = self.0.lock();
        if let Some(open) = known.and_then(|known| inner.open.get_mut(&known)) {
            open.waker.clone_from(waker);
            return known.unwrap_or_default();
        }
        inner.next += 1;
        let name = inner.next;
        inner.open.insert(name, Open { wanted: wanted(), waker: waker.clone() });
        name
    }

    /// Closes what the handler has stopped waiting for.
    pub(crate) fn close(&self, name: u64) {
        self.0.lock().open.remove(&name);
    }

    /// What to suspend on: any of the open waits; nothing when there is none.
    pub(crate) fn suspension(&self) -> Option<NewSuspension> {
        let inner = self.0.lock();
        let mut parts: Vec<Condition> = inner.open.values().map(|open| open.wanted.condition.clone()).collect();
        let condition = match parts.len() {
            0 => return None,
            1 => parts.remove(0),
            _ => Condition::Any { of: parts },
        };
        let first = inner.open.values().filter_map(|open| open.wanted.otherwise).min_by_key(|(at, _)| *at);
        let reason = inner.open.values().map(|open| &open.wanted.reason).find(|reason| !reason.is_empty());
        Some(NewSuspension {
            timeout_at: first.map(|(at, _)| at),
            on_timeout: first.map(|(_, then)| then).unwrap_or_default(),
            reason: reason.cloned().unwrap_or_default(),
            ..NewSuspension::new(condition)
        })
    }

    /// Takes note of waits that are over, and wakes the handler; answers whether anything is new.
    pub(crate) fn learn(&self, woken: &Woken) -> bool {
        let mut inner = self.0.lock();
        let mut news = false;
        for wait in &woken.waits {
            news |= inner.over.insert(wait.wait.clone(), wait.clone()).is_none();
        }
        inner.open.values().for_each(|open| open.waker.wake_by_ref());
        news
    }
}
