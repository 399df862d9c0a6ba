//! Gives the home of a file to another process when this build cannot read what a newer one wrote.
//!
//! On a server, members say which formats they read, and homes fall to those that read the newest. On a file the first
//! process has the lock, whatever it reads: it finds out by a record that it cannot.

use crate::shared::Shared;
use onward_core::{Key, Millis, PartitionId, Span, codec};
use onward_store::Home;
use parking_lot::Mutex;
use std::fmt::Display;

/// How long the home is left to other processes: longer than each of them waits between two tries for the lock.
const PAUSE: Span = Span::seconds(2);
/// How long this process keeps the home after it had it back, so that an older build alone serves what it can.
const KEPT: Span = Span::minutes(1);

/// When this process last gave its home away.
#[derive(Debug, Default)]
pub(crate) struct Handover(Mutex<Option<Millis>>);

/// Notes that background work met a record that this build cannot read.
pub(crate) async fn unreadable(shared: &Shared, partition: PartitionId, key: &str) {
    if *shared.store.home().borrow() == Home::ByMembership {
        return;
    }
    let Ok(key) = key.parse::<Key>() else { return };
    let name = crate::binding::store_key(&key);
    let row = match shared.store.load(crate::binding::partition(partition), &[name]).await {
        Ok(mut rows) => rows.pop().flatten(),
        Err(error) => return tracing::debug!(%error, %key, "a record could not be read again"),
    };
    if row.is_some_and(|row| codec::needs_newer(&row.body, shared.options.formats_known)) {
        newer(shared, &key);
    }
}

/// Notes that background work met a record that a newer build wrote.
pub(crate) fn newer(shared: &Shared, key: &impl Display) {
    if *shared.store.home().borrow() == Home::ByMembership {
        return;
    }
    let now = shared.clock.now();
    let mut last = shared.handover.0.lock();
    if last.is_some_and(|last| now < last + PAUSE + KEPT && last <= now) {
        return;
    }
    *last = Some(now);
    drop(last);
    tracing::warn!(%key, "a newer build wrote this record; its background work is left to other processes for a while");
    // Randomly longer, so that two old processes on a file do not take turns for ever.
    let pause = Span(PAUSE.0 + shared.chance.word() % PAUSE.0);
    shared.store.yield_home(std::time::Duration::from_millis(pause.0));
}
