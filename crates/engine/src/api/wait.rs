//! Waits for the end of an execution: notified at once when it ends here, polling for ends in other processes.

use crate::partition::batch::Change;
use crate::{Engine, Error};
use onward_core::record::{Execution, Record};
use onward_core::{ExecutionId, Key, Span};
use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::Notify;

/// The first pause between two reads; it doubles up to the longest.
const PAUSE_FIRST: Span = Span(10);
/// The longest pause while other processes may end the execution, and so the longest delay until that is noticed.
const PAUSE_MAX: Span = Span(250);
/// The longest pause of a process that knows it is alone: every end is notified, and this only covers a lost
/// notification. Processes that share a file do not know of each other.
const PAUSE_MAX_ALONE: Span = Span::seconds(10);

/// Waiting calls, by execution.
#[derive(Debug, Default)]
pub(crate) struct EndWaiters(Mutex<BTreeMap<ExecutionId, Awaited>>);

#[derive(Debug, Default)]
struct Awaited {
    waiting: usize,
    ended: Arc<Notify>,
}

impl EndWaiters {
    /// Notifies the calls whose execution has ended.
    pub(crate) fn learn(&self, changes: &[Change]) {
        let awaited = self.lock();
        if awaited.is_empty() {
            return;
        }
        for change in changes {
            if let Key::Execution(id) = &change.key
                && let Some(found) = awaited.get(id)
                && change.after.as_deref().is_none_or(is_over)
            {
                found.ended.notify_waiters();
            }
        }
    }

    /// Notifies the calls whose execution may have ended, so that they read it again.
    pub(crate) fn suspect(&self, changes: &[Change]) {
        let awaited = self.lock();
        for change in changes {
            if let Key::Execution(id) = &change.key
                && let Some(found) = awaited.get(id)
            {
                found.ended.notify_waiters();
            }
        }
    }

    fn enter(&self, id: ExecutionId) -> EndWaiter<'_> {
        let mut awaited = self.lock();
        let found = awaited.entry(id).or_default();
        found.waiting += 1;
        EndWaiter { ends: self, id, ended: found.ended.clone() }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ExecutionId, Awaited>> {
        self.0.lock()
    }
}

fn is_over(record: &Record) -> bool {
    matches!(record, Record::Execution(execution) if execution.is_finished())
}

/// One waiting call; dropping it removes it from the waiters.
struct EndWaiter<'a> {
    ends: &'a EndWaiters,
    id: ExecutionId,
    ended: Arc<Notify>,
}

impl Drop for EndWaiter<'_> {
    fn drop(&mut self) {
        let mut awaited = self.ends.lock();
        if let Some(found) = awaited.get_mut(&self.id) {
            found.waiting -= 1;
            if found.waiting == 0 {
                awaited.remove(&self.id);
            }
        }
    }
}

impl Engine {
    /// Waits until an execution ends or `time` is up, and returns it as it is then; `None` if there is none.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn wait(&self, id: ExecutionId, time: Span) -> Result<Option<Execution>, Error> {
        let shared = &self.shared;
        let deadline = shared.clock.now() + time;
        let waiting = shared.ends.enter(id);
        let mut pause = PAUSE_FIRST;
        loop {
            // A commit after this line is noticed, so that no end falls between reading and waiting.
            let ended = waiting.ended.notified();
            let mut ended = std::pin::pin!(ended);
            ended.as_mut().enable();
            let found = self.get(id).await;
            let left = deadline - shared.clock.now();
            let over = match &found {
                Ok(Some(execution)) => execution.is_finished(),
                Ok(None) => true,
                // The end may come, and be read, when the store is available again.
                Err(error) => !error.is_temporary(),
            };
            if over || left == Span(0) || shared.is_stopping() {
                return found;
            }
            let longest = if self.is_only_member() { PAUSE_MAX_ALONE } else { PAUSE_MAX };
            tokio::select! {
                biased;
                () = ended => {}
                () = shared.stopped() => {}
                () = shared.clock.sleep(pause.min(left)) => pause = Span(pause.0 * 2).min(longest),
            }
        }
    }
}
