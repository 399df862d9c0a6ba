//! Shared reads of the event feed: readers at the same position share what one of them reads from the store.

use crate::Error;
use onward_core::{Event, codec};
use onward_store::{Cursor, Event as Found, Store};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::futures::Notified;
use tokio::sync::{Notify, OnceCell};

/// Commits whose events are read from the store at once.
pub(crate) const PAGE: usize = 256;
/// Pages that are kept for readers that reach the same position a little later.
const KEPT_MAX: usize = 8;
/// The largest page that is kept, in bytes of its events.
const KEPT_BYTES_MAX: usize = 1024 * 1024;

/// One commit of the feed, with its events.
#[derive(Debug)]
pub(crate) struct Commit {
    pub(crate) found: Found,
    /// In order; `None` for each that a newer version wrote.
    pub(crate) events: Vec<Option<Event>>,
}

/// A page of events, read once.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) commits: Vec<Commit>,
    pub(crate) cursor: Cursor,
    pub(crate) gap: bool,
}

type Read = Arc<OnceCell<Result<Arc<Page>, Error>>>;

/// A page that is being read or was read.
#[derive(Debug)]
struct Kept {
    after: Cursor,
    turn: u64,
    read: Read,
}

/// The current and recent reads of the feed, and the notification that there is more.
#[derive(Debug, Default)]
pub(crate) struct EventReads {
    news: Notify,
    /// Counts the notifications.
    turn: AtomicU64,
    pages: Mutex<VecDeque<Kept>>,
}

impl EventReads {
    /// Notifies readers that there may be new events.
    pub(crate) fn tell(&self) {
        self.turn.fetch_add(1, Ordering::AcqRel);
        self.news.notify_waiters();
    }

    /// Waits for a notification from now on.
    pub(crate) fn news(&self) -> Notified<'_> {
        self.news.notified()
    }

    /// Reads the events after a cursor, as the store has them now.
    pub(crate) async fn fresh(&self, store: &dyn Store, after: &Cursor) -> Result<Arc<Page>, Error> {
        Ok(Arc::new(read(store, after).await?))
    }

    /// Reads the events after a cursor, for a reader that has called [`Self::news`] before. It may share another
    /// reader's page: no commit announced before this call is missing, and the reader will be notified of a later one.
    pub(crate) async fn shared(&self, store: &dyn Store, after: &Cursor) -> Result<Arc<Page>, Error> {
        let page = self.join(after);
        let read = page.get_or_init(|| async { read(store, after).await.map(Arc::new) }).await.clone();
        let keeps = read.as_ref().is_ok_and(|page| {
            let bytes: usize = page.commits.iter().map(|commit| commit.found.body.len()).sum();
            !page.commits.is_empty() && bytes <= KEPT_BYTES_MAX
        });
        if !keeps {
            // Only readers that wait for it now get a page that is empty, failed or too large to keep.
            self.lock().retain(|kept| !Arc::ptr_eq(&kept.read, &page));
        }
        read
    }

    /// Returns the page that another reader reads or has read, or a new one.
    fn join(&self, after: &Cursor) -> Read {
        let turn = self.turn.load(Ordering::Acquire);
        let mut pages = self.lock();
        // A page with commits stays valid after later notifications; an empty one is valid for its turn only.
        let found = |read: &Read| matches!(read.get(), Some(Ok(page)) if !page.commits.is_empty());
        let known = pages.iter().find(|kept| kept.after == *after && (kept.turn == turn || found(&kept.read)));
        if let Some(kept) = known {
            return kept.read.clone();
        }
        let read = Read::default();
        pages.push_back(Kept { after: after.clone(), turn, read: read.clone() });
        if pages.len() > KEPT_MAX {
            pages.pop_front();
        }
        read
    }

    fn lock(&self) -> parking_lot::MutexGuard<'_, VecDeque<Kept>> {
        self.pages.lock()
    }
}

async fn read(store: &dyn Store, after: &Cursor) -> Result<Page, Error> {
    let page = store.read_feed(after, PAGE).await?;
    let commit = |found: Found| Commit { events: codec::decode_events(&found.body), found };
    Ok(Page { commits: page.events.into_iter().map(commit).collect(), cursor: page.cursor, gap: page.gap })
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use onward_store::memory::Memory;
    use onward_store::{Batch, Partition, Version};

    fn store() -> Memory {
        Memory::new(1, Arc::new(|| 1), 1)
    }

    async fn commit(store: &Memory, id: u128) {
        let mut batch = Batch::new(Partition(0), Version(id));
        batch.events = vec![b"{}".to_vec().into()];
        store.commit(vec![batch]).await.unwrap();
    }

    #[tokio::test]
    async fn readers_at_one_place_share_what_one_of_them_found() {
        let (store, reading, start) = (store(), EventReads::default(), Cursor::start());
        assert!(reading.shared(&store, &start).await.unwrap().commits.is_empty());
        commit(&store, 1).await;
        let one = reading.shared(&store, &start).await.unwrap();
        assert_eq!(one.commits.len(), 1, "that nothing was there is not kept");
        commit(&store, 2).await;
        let other = reading.shared(&store, &start).await.unwrap();
        assert!(Arc::ptr_eq(&one, &other), "what was there still is");
        assert_eq!(reading.fresh(&store, &start).await.unwrap().commits.len(), 2);
        assert_eq!(reading.shared(&store, &one.cursor).await.unwrap().commits.len(), 1);
    }

    #[test]
    fn nobody_joins_a_reading_that_began_before_the_news() {
        let (reading, start) = (EventReads::default(), Cursor::start());
        let pending = reading.join(&start);
        assert!(Arc::ptr_eq(&pending, &reading.join(&start)), "no news");
        let mut news = Box::pin(reading.news());
        assert!(news.as_mut().now_or_never().is_none());
        reading.tell();
        assert!(news.now_or_never().is_some());
        assert!(!Arc::ptr_eq(&pending, &reading.join(&start)), "it may have missed what the news was about");
    }

    #[test]
    fn few_pages_are_kept() {
        let reading = EventReads::default();
        for at in 0..100 {
            reading.join(&Cursor::from_text(at.to_string()));
        }
        assert_eq!(reading.lock().len(), KEPT_MAX);
    }
}
