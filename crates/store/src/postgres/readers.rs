//! Which connection a read goes to: a few are shared by all readers, and calls on one of them queue up behind each other.

use super::address::Address;
use super::link::{Link, Values};
use super::statement::Ask;
use crate::{ErrorKind, Result, check};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::Semaphore;
use tokio_postgres::Row;

/// How many connections read at the same time.
const READERS: usize = 3;
/// How many reads may be under way before further ones wait to be taken.
const READS_MAX: usize = 256;

/// The connections that read.
pub(super) struct Readers {
    links: Vec<Link>,
    room: Semaphore,
    reads: AtomicU64,
}

impl Readers {
    pub(super) fn new(address: &Arc<Address>) -> Self {
        let links = (0..READERS).map(|_| Link::new(Arc::clone(address))).collect();
        Self { links, room: Semaphore::new(READS_MAX), reads: AtomicU64::new(0) }
    }

    /// How many reads there were.
    pub(super) fn reads(&self) -> u64 {
        self.reads.load(Ordering::Relaxed)
    }

    /// Counts a call as a read.
    pub(super) fn count(&self) {
        self.reads.fetch_add(1, Ordering::Relaxed);
    }

    /// Asks on the least busy connection; when that one cannot be made, on one that is there.
    pub(super) async fn read(&self, ask: Ask, values: &Values<'_>) -> Result<Vec<Row>> {
        let _room = self.room.acquire().await.map_err(|_| check::closed())?;
        let first =
            self.links.iter().min_by_key(|link| (link.calls(), !link.is_connected())).ok_or_else(check::closed)?;
        match first.read(ask, values).await {
            Err(error) if error.kind() == ErrorKind::Unavailable => {
                match self.links.iter().find(|link| link.is_connected()) {
                    Some(other) => other.read(ask, values).await,
                    None => Err(error),
                }
            }
            answer => answer,
        }
    }

    /// Refuses further reads and ends the connections once theirs are answered.
    pub(super) async fn close(&self) {
        self.room.close();
        for link in &self.links {
            link.close().await;
        }
    }
}
