//! How the WAL is carried over into the main file without holding up commits.
//!
//! A second thread copies pages while the writer goes on. It rarely gets to the very end under load, and the WAL only
//! starts again from its beginning when every page was copied, so the writer copies the short rest between two groups.
//! Only the writer ever restarts the WAL: a restart by another connection would empty its page cache.

use super::turn;
use rusqlite::Connection;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// The WAL grows to this many pages before they are copied: 4 MiB.
const COPY_AT_PAGES: u32 = 1024;
/// With this many pages the writer waits for readers to leave, so that the WAL does not grow for ever: 64 MiB.
const FORCE_AT_PAGES: u32 = 16 * 1024;
/// A rest this short is left to the writer.
const REST_PAGES: u32 = 128;
/// The copying thread gives up after so many rounds and leaves a longer rest.
const ROUNDS_MAX: u32 = 4;

/// The writer's side: how long the WAL is, and when to do something about it.
pub(super) struct Checkpoints {
    /// Pages in the WAL after the last commit, set by SQLite's hook.
    pages: Arc<AtomicU32>,
    finish: Arc<AtomicBool>,
    start: SyncSender<()>,
    next_at: u32,
}

/// The copying thread's side.
pub(super) struct Copy {
    asked: Receiver<()>,
    pages: Arc<AtomicU32>,
    finish: Arc<AtomicBool>,
}

impl Checkpoints {
    /// Hooks into the writer's connection.
    pub(super) fn new(writer: &mut Connection) -> rusqlite::Result<(Self, Copy)> {
        let pages = Arc::new(AtomicU32::new(0));
        let finish = Arc::new(AtomicBool::new(false));
        let (start, asked) = sync_channel(1);
        let seen = Arc::clone(&pages);
        writer.wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, count: i32| {
            seen.store(u32::try_from(count).unwrap_or(0), Ordering::Relaxed);
            Ok(())
        }))?;
        let copy = Copy { asked, pages: Arc::clone(&pages), finish: Arc::clone(&finish) };
        Ok((Self { pages, finish, start, next_at: COPY_AT_PAGES }, copy))
    }

    /// What to do after a commit; called between two groups, when nobody waits for an answer.
    pub(super) fn after_commit(&mut self, writer: &Connection) {
        let pages = self.pages.load(Ordering::Relaxed);
        if pages < COPY_AT_PAGES {
            self.next_at = COPY_AT_PAGES;
        }
        if self.finish.swap(false, Ordering::Acquire) && pages >= COPY_AT_PAGES {
            log_failure(if pages > FORCE_AT_PAGES {
                // Commits wait with it, so a reader that stays is not waited for long.
                turn::impatiently(|| checkpoint(writer, "RESTART"))
            } else {
                checkpoint(writer, "PASSIVE")
            });
        } else if pages >= self.next_at && self.start.try_send(()).is_ok() {
            // A reader that stays can keep the WAL from starting again; asking on every commit would not help.
            self.next_at = pages + COPY_AT_PAGES;
        }
    }
}

impl Copy {
    /// Starts the thread; it ends with the writer.
    pub(super) fn start(self, conn: Connection) -> std::io::Result<JoinHandle<()>> {
        std::thread::Builder::new().name("store-checkpoint".into()).spawn(move || self.when_asked(&conn))
    }

    fn when_asked(&self, conn: &Connection) {
        while self.asked.recv().is_ok() {
            for _ in 0..ROUNDS_MAX {
                let Some(copied) = log_failure(checkpoint(conn, "PASSIVE")) else { break };
                // The writer has gone on meanwhile.
                if self.pages.load(Ordering::Relaxed).saturating_sub(copied) <= REST_PAGES {
                    break;
                }
            }
            self.finish.store(true, Ordering::Release);
        }
    }
}

/// Copies what it can and says up to which page of the WAL everything is copied.
fn checkpoint(conn: &Connection, mode: &str) -> rusqlite::Result<u32> {
    conn.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |row| {
        row.get::<_, i64>(2).map(|copied| u32::try_from(copied).unwrap_or(0))
    })
}

/// A checkpoint that fails loses nothing: the pages stay in the WAL and the next one copies them.
fn log_failure(result: rusqlite::Result<u32>) -> Option<u32> {
    result.map_err(|error| tracing::warn!(%error, "a checkpoint failed, the WAL stays longer")).ok()
}
