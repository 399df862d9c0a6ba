//! Who reads: a few threads with a connection each, fed from one queue, so that a long scan delays nobody else.

use crate::{Error, ErrorKind, Result, check};
use rusqlite::Connection;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use tokio::sync::oneshot;

/// How many reads may wait; beyond it the store says so instead of growing.
const WAITING_MAX: usize = 16 * 1024;

type Job = Box<dyn FnOnce(&Connection) + Send>;

/// The queue that the reading threads share.
pub(super) struct Readers {
    queue: Mutex<Queue>,
    filled: Condvar,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
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
            while let Some(job) = readers.next() {
                job(&conn);
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
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).closed = true;
        self.filled.notify_all();
    }

    fn push(&self, job: Job) -> Result<()> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.closed {
            return Err(check::closed());
        }
        if queue.jobs.len() >= WAITING_MAX {
            let message = "too many reads are waiting for the disk: try again";
            return Err(Error::new(ErrorKind::Unavailable, message).unwritten());
        }
        queue.jobs.push_back(job);
        drop(queue);
        self.filled.notify_one();
        Ok(())
    }

    fn next(&self) -> Option<Job> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(job) = queue.jobs.pop_front() {
                return Some(job);
            }
            if queue.closed {
                return None;
            }
            queue = self.filled.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }
}
