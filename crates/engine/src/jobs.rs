//! Background jobs: started once, started again after a panic, stopped with the engine.

use crate::clock::Clock;
use onward_core::Span;
use std::future::{Future, poll_fn};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::task::JoinSet;

use futures_util::FutureExt;

/// The first pause before a job that panicked is started again; it doubles up to the longest.
const PAUSE_FIRST: Span = Span(100);
const PAUSE_MAX: Span = Span::seconds(30);

/// Every task of one engine, so that none outlives it.
#[derive(Debug, Default)]
pub(crate) struct Jobs {
    tasks: Mutex<JoinSet<()>>,
    /// Held by whoever waits for the ends, since a set of tasks tells only one.
    joining: tokio::sync::Mutex<()>,
}

impl Jobs {
    /// Runs a task with the engine.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut set = self.lock();
        while set.try_join_next().is_some() {}
        set.spawn(task);
    }

    /// Runs a job until it returns; a panic is counted, logged and followed by a fresh start.
    pub(crate) fn supervise<F>(
        &self,
        name: &'static str,
        clock: Arc<dyn Clock>,
        on_restart: impl Fn() + Send + 'static,
        job: impl Fn() -> F + Send + 'static,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        self.spawn(async move {
            let mut pause = PAUSE_FIRST;
            while AssertUnwindSafe(job()).catch_unwind().await.is_err() {
                on_restart();
                tracing::error!(job = name, pause = %pause, "a background job panicked and is started again");
                clock.sleep(pause).await;
                pause = Span((pause.0 * 2).min(PAUSE_MAX.0));
            }
        });
    }

    /// Ends every task where it stands.
    pub(crate) fn abort(&self) {
        self.lock().abort_all();
    }

    /// Waits until every task has ended. The tasks stay where they are: whoever stops waiting ends none of them.
    pub(crate) async fn join(&self) {
        let _turn = self.joining.lock().await;
        while poll_fn(|context| self.lock().poll_join_next(context)).await.is_some() {}
    }

    fn lock(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SystemClock;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[tokio::test(start_paused = true)]
    async fn a_job_that_panics_is_started_again() {
        let (jobs, runs) = (Jobs::default(), Arc::new(AtomicU32::new(0)));
        let (counted, restarts) = (runs.clone(), Arc::new(AtomicU32::new(0)));
        let noted = restarts.clone();
        let note = move || {
            noted.fetch_add(1, Ordering::Relaxed);
        };
        jobs.supervise("test", Arc::new(SystemClock), note, move || {
            let run = counted.fetch_add(1, Ordering::Relaxed);
            async move { assert!(run >= 2, "the first two runs break") }
        });
        jobs.join().await;
        assert_eq!((runs.load(Ordering::Relaxed), restarts.load(Ordering::Relaxed)), (3, 2));
    }
}
