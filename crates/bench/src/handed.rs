//! Callers that submit and workers that wait: a submit is handed to a worker in its own commit, and a worker that
//! completes asks for the next, so that a lifecycle is two commits instead of three.

use super::Error;
use super::measure::{Meter, Tally};
use super::side::Side;
use super::site::Fresh;
use super::work::{self, PATIENCE};
use async_trait::async_trait;
use futures_util::future::{join, join_all};
use onward_core::{Claimed, Lane, Span};
use onward_engine::{Engine, Options};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::Semaphore;

/// An engine on a fresh store, with as many workers as callers.
#[derive(Debug)]
pub(crate) struct HandedSide {
    engine: Engine,
    fresh: Fresh,
    lane: Lane,
    callers: usize,
}

/// What callers and workers of one run share.
#[derive(Debug)]
struct Run {
    /// Executions still to be submitted.
    left: AtomicUsize,
    /// Executions still to be completed.
    open: AtomicUsize,
    /// One for each execution that may be submitted.
    room: Semaphore,
    /// Never has any; closed when all has ended.
    over: Semaphore,
}

impl HandedSide {
    pub(crate) async fn start(fresh: Fresh, lane: &Lane, callers: usize, warm_up: usize) -> Result<Self, Error> {
        let engine = Engine::start(fresh.store.clone(), Options::default()).await?;
        work::visit(&engine, lane).await?;
        let mut side = Self { engine, fresh, lane: lane.clone(), callers };
        side.run(warm_up).await?;
        Ok(side)
    }
}

#[async_trait]
impl Side for HandedSide {
    async fn run(&mut self, amount: usize) -> Result<Tally, Error> {
        let run = Arc::new(Run {
            left: AtomicUsize::new(amount),
            open: AtomicUsize::new(amount),
            room: Semaphore::new(self.callers),
            over: Semaphore::new(0),
        });
        let meter = Meter::start(&self.fresh.store)?;
        let workers =
            (0..self.callers).map(|_| tokio::spawn(worker(self.engine.clone(), self.lane.clone(), run.clone())));
        let workers: Vec<_> = workers.collect();
        let callers =
            (0..self.callers).map(|_| tokio::spawn(caller(self.engine.clone(), self.lane.clone(), run.clone())));
        let mut ended: Vec<_> = join_all(callers).await;
        ended.extend(join_all(workers).await);
        meter.end(Tally::of(ended)?)
    }

    async fn end(self: Box<Self>) -> Result<(), Error> {
        self.engine.shutdown().await;
        self.fresh.discard().await
    }
}

/// Submits one execution after the other, each when an earlier one has ended.
async fn caller(engine: Engine, lane: Lane, run: Arc<Run>) -> Tally {
    let mut tally = Tally::default();
    let new = work::execution(&lane);
    while let Ok(permit) = run.room.acquire().await {
        permit.forget();
        if run.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_err() {
            break;
        }
        tally.tried += 1;
        if let Err(error) = engine.submit(new.clone()).await {
            tally.failure = tally.failure.or(Some(error.to_string()));
            settle(&run);
        }
    }
    tally
}

/// Runs what it is given until all has ended.
async fn worker(engine: Engine, lane: Lane, run: Arc<Run>) -> Tally {
    let mut tally = Tally::default();
    let (wants, result) = (work::patient(&lane), work::result());
    let mut next: Vec<Claimed> = Vec::new();
    while run.open.load(Ordering::Acquire) > 0 {
        let Some(claimed) = next.pop() else {
            let claim = tokio::select! {
                biased;
                claim = engine.claim(&wants, PATIENCE) => claim,
                _ = run.over.acquire() => break,
            };
            match claim {
                Ok(claimed) => next = claimed,
                Err(error) => {
                    tally.failure = tally.failure.or(Some(error.to_string()));
                    break;
                }
            }
            continue;
        };
        let complete = engine.complete(claimed.fence, result.clone());
        let (completed, more) = join(complete, engine.claim(&wants, Span(0))).await;
        match completed {
            Ok(()) => tally.done += 1,
            Err(error) => tally.failure = tally.failure.or(Some(error.to_string())),
        }
        next = more.unwrap_or_default();
        settle(&run);
    }
    tally
}

/// One execution needs no more work: its caller goes on, and the last one ends the run.
fn settle(run: &Run) {
    run.room.add_permits(1);
    if run.open.fetch_sub(1, Ordering::AcqRel) == 1 {
        run.room.close();
        run.over.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Site;

    #[tokio::test]
    async fn a_lifecycle_is_two_commits() {
        let fresh = Site::new("memory:").unwrap().fresh().await.unwrap();
        let mut side = HandedSide::start(fresh, &work::name("bench"), 1, 4).await.unwrap();
        let before = side.engine.metrics();
        let tally = side.run(50).await.unwrap();
        let after = side.engine.metrics();
        assert_eq!((tally.tried, tally.done), (50, 50));
        assert!(after.commits - before.commits <= 2 * 50 + 5, "{} commits", after.commits - before.commits);
        assert!(after.hand_offs - before.hand_offs >= 45);
    }
}
