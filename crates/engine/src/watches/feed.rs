//! The reader of the event feed for watches, where wake-ups name nothing: one for each process, and only while it watches.

use crate::Error;
use crate::events::reads::{Commit, PAGE};
use crate::members::topics::{self, Ended};
use crate::shared::Shared;
use onward_core::{Key, PartitionId, Span};
use onward_store::Cursor;
use std::sync::Arc;

/// Commits read after one wake-up. Farther behind, the reader starts again at the end, and everything watched is read.
const COMMITS_MAX: usize = 4 * PAGE;
/// Pause after a failed read.
const RETRY_AFTER: Span = Span(250);

/// Tells the watches what the feed says, for as long as the engine runs.
pub(crate) async fn run(shared: Arc<Shared>) {
    let mut cursor = None;
    loop {
        tokio::select! {
            biased;
            () = shared.stopped() => return,
            () = shared.watches.news.notified() => {}
        }
        if shared.watches.is_empty() || !topics::say_nothing(&shared) {
            cursor = None;
            continue;
        }
        cursor = match follow(&shared, cursor.take()).await {
            Ok(cursor) => Some(cursor),
            Err(error) => {
                tracing::debug!(%error, "the events of other processes could not be read; trying again");
                tokio::select! {
                    biased;
                    () = shared.stopped() => return,
                    () = shared.clock.rest(RETRY_AFTER) => {}
                }
                shared.watches.news.notify_one();
                None
            }
        };
    }
}

/// Reads the events after a cursor, and returns the next one. Without a cursor it starts at the end, and what happened
/// before is found by reading everything watched.
async fn follow(shared: &Shared, from: Option<Cursor>) -> Result<Cursor, Error> {
    if let Some(mut cursor) = from {
        let mut read = 0;
        while read < COMMITS_MAX {
            let page = shared.event_reads.shared(&*shared.store, &cursor).await?;
            page.commits.iter().for_each(|commit| tell(shared, commit));
            if page.gap {
                shared.watches.suspect_all();
            }
            cursor = page.cursor.clone();
            // A page that is shared with other readers may be short although there is more.
            if page.commits.is_empty() {
                return Ok(cursor);
            }
            read += page.commits.len();
        }
    }
    let end = shared.store.read_feed(&Cursor::end(), 1).await?;
    shared.watches.suspect_all();
    Ok(end.cursor)
}

fn tell(shared: &Shared, Commit { found, events }: &Commit) {
    let ends = events.iter().flatten().filter(|event| event.what.outcome().is_some());
    let keys: Vec<Key> = ends.filter_map(|event| event.execution()).map(Key::Execution).collect();
    shared.watches.want(keys.iter());
    if events.iter().any(Option::is_none) {
        // A newer version wrote it, and what it says is not known here.
        shared.watches.tell(PartitionId(found.partition.0), Ended::Many);
    }
}
