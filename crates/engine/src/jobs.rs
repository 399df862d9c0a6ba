//! Background jobs: started once, restarted after a panic, stopped with the engine.

use crate::clock::Clock;
use futures_util::FutureExt;
use onward_core::Span;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Pause before the first restart of a job that panicked; it doubles up to `PAUSE_MAX`.
const PAUSE_FIRST: Span = Span(100);
const PAUSE_MAX: Span = Span::seconds(30);

/// Tracks every task of one engine, so that none outlives it.
#[derive(Debug, Default)]
pub(crate) struct Jobs {
    tasks: TaskTracker,
    aborted: CancellationToken,
}

impl Jobs {
    /// Spawns a task that [`Self::abort`] drops and [`Self::join`] waits for.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let aborted = self.aborted.clone();
        self.tasks.spawn(async move { aborted.run_until_cancelled(task).await });
    }

    /// Runs a job until it returns; a panic is counted, logged and followed by a restart.
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
                tracing::error!(job = name, pause = %pause, "a background job panicked and is restarted");
                clock.sleep(pause).await;
                pause = Span((pause.0 * 2).min(PAUSE_MAX.0));
            }
        });
    }

    /// Drops every task at its next await point.
    pub(crate) fn abort(&self) {
        self.aborted.cancel();
    }

    /// Waits until every task has ended. Dropping this future ends none of them.
    pub(crate) async fn join(&self) {
        self.tasks.close();
        self.tasks.wait().await;
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
