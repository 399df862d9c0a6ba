//! Who waits for the end of an execution: told at once when it ends here, and looking now and then for ends elsewhere.

use crate::batch::Change;
use crate::{Engine, Error};
use onward_core::record::{Execution, Record, State};
use onward_core::{ExecutionId, Key, Span};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// The first pause between two looks; it doubles up to the longest.
const PAUSE_FIRST: Span = Span(10);
/// The longest pause while other processes may end the execution, and so the most that such an end is noticed late.
const PAUSE_MAX: Span = Span(250);
/// The longest pause of a process that knows to be alone: every end is told, and this only heals what was not. Those who
/// share a file do not know of each other.
const PAUSE_MAX_ALONE: Span = Span::seconds(10);

/// Those who wait, by execution.
#[derive(Debug, Default)]
pub(crate) struct Ends(Mutex<BTreeMap<ExecutionId, Awaited>>);

#[derive(Debug, Default)]
struct Awaited {
    waiting: usize,
    ended: Arc<Notify>,
}

impl Ends {
    /// Tells those whose execution has ended.
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

    /// Has those look again whose execution may have ended.
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

    fn enter(&self, id: ExecutionId) -> Waiting<'_> {
        let mut awaited = self.lock();
        let found = awaited.entry(id).or_default();
        found.waiting += 1;
        Waiting { ends: self, id, ended: found.ended.clone() }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ExecutionId, Awaited>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_over(record: &Record) -> bool {
    matches!(record, Record::Execution(Execution { state: State::Finished(_), .. }))
}

/// One who waits; leaves when it is dropped.
struct Waiting<'a> {
    ends: &'a Ends,
    id: ExecutionId,
    ended: Arc<Notify>,
}

impl Drop for Waiting<'_> {
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
    /// An execution as it is when it ends, or as it is when the time is up; nothing when there is none.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn wait(&self, id: ExecutionId, time: Span) -> Result<Option<Execution>, Error> {
        let shared = &self.shared;
        let deadline = shared.clock.now() + time;
        let waiting = shared.ends.enter(id);
        let mut pause = PAUSE_FIRST;
        loop {
            // Whoever commits after this line is heard, so that no end falls between looking and waiting.
            let ended = waiting.ended.notified();
            let mut ended = std::pin::pin!(ended);
            ended.as_mut().enable();
            let found = self.get(id).await;
            let left = deadline - shared.clock.now();
            let over = match &found {
                Ok(Some(execution)) => matches!(execution.state, State::Finished(_)),
                Ok(None) => true,
                // The end may come, and be seen, when the store is back.
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
