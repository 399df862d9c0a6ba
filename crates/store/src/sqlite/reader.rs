//! Who reads: a few threads with a connection each, fed from one queue, so that a long scan delays nobody else.

use crate::{Error, ErrorKind, Result, check};
use parking_lot::{Condvar, Mutex};
use rusqlite::Connection;
use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::sync::oneshot;

/// How many reads may wait; beyond it the store says so instead of growing.
const WAITING_MAX: usize = 16 * 1024;

type Query = Box<dyn FnOnce(&Connection) + Send>;

/// The queue that the reading threads share.
pub(super) struct Readers {
    queue: Mutex<Queue>,
    filled: Condvar,
}

#[derive(Default)]
struct Queue {
    queries: VecDeque<Query>,
    closed: bool,
}

impl Readers {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { queue: Mutex::default(), filled: Condvar::new() })
    }

    /// Starts a thread that reads through this connection.
    pub(super) fn start(self: &Arc<Self>, conn: Connection) -> std::io::Result<JoinHandle<()>> {
        let readers = Arc::clone(self);
        std::thread::Builder::new().name("store-reader".into()).spawn(move || {
            while let Some(query) = readers.next() {
                query(&conn);
            }
        })
    }

    /// Runs a query on the next free thread.
    pub(super) async fn read<T, F>(&self, query: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        self.push(Box::new(move |conn| {
            // Nobody waits for an answer that was given up.
            let _ = reply.send(query(conn));
        }))?;
        answer.await.unwrap_or_else(|_| Err(check::closed()))
    }

    /// Lets the threads finish what is queued, then ends them.
    pub(super) fn close(&self) {
        self.queue.lock().closed = true;
        self.filled.notify_all();
    }

    fn push(&self, query: Query) -> Result<()> {
        let mut queue = self.queue.lock();
        if queue.closed {
            return Err(check::closed());
        }
        if queue.queries.len() >= WAITING_MAX {
            let message = "too many reads are waiting for the disk: try again";
            return Err(Error::new(ErrorKind::Unavailable, message).unwritten());
        }
        queue.queries.push_back(query);
        drop(queue);
        self.filled.notify_one();
        Ok(())
    }

    fn next(&self) -> Option<Query> {
        let mut queue = self.queue.lock();
        loop {
            if let Some(query) = queue.queries.pop_front() {
                return Some(query);
            }
            if queue.closed {
                return None;
            }
            self.filled.wait(&mut queue);
        }
    }
}
