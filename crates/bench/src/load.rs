//! Callers on an engine: each loops submit, claim, complete.

use super::Error;
use super::measure::{Meter, Stopwatch, Tally};
use super::side::Side;
use super::site::Fresh;
use super::work::{self, NEVER, PATIENCE};
use async_trait::async_trait;
use futures_util::future::join_all;
use onward_core::{Lane, NewExecution, Payload};
use onward_engine::{Engine, Options};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// An engine on a fresh store, with callers.
#[derive(Debug)]
pub(crate) struct EngineSide {
    pub(crate) engine: Engine,
    fresh: Fresh,
    lane: Lane,
    callers: usize,
}

impl EngineSide {
    /// Starts it and runs enough work that nothing happens for the first time when it is measured.
    pub(crate) async fn start(fresh: Fresh, lane: &Lane, callers: usize, warm_up: usize) -> Result<Self, Error> {
        Self::start_with(fresh, lane, callers, warm_up, Options::default()).await
    }

    /// The same, with choices.
    pub(crate) async fn start_with(
        fresh: Fresh,
        lane: &Lane,
        callers: usize,
        warm_up: usize,
        options: Options,
    ) -> Result<Self, Error> {
        let engine = Engine::start(fresh.store.clone(), options).await?;
        work::visit(&engine, lane).await?;
        let mut side = Self { engine, fresh, lane: lane.clone(), callers };
        side.run(warm_up).await?;
        Ok(side)
    }
}

#[async_trait]
impl Side for EngineSide {
    async fn run(&mut self, amount: usize) -> Result<Tally, Error> {
        lifecycles(&self.engine, &self.lane, self.callers, amount).await
    }

    async fn end(self: Box<Self>) -> Result<(), Error> {
        self.engine.shutdown().await;
        self.fresh.discard().await
    }
}

/// Runs lifecycles with several callers at once, and measures what they take.
pub(crate) async fn lifecycles(engine: &Engine, lane: &Lane, callers: usize, amount: usize) -> Result<Tally, Error> {
    let meter = Meter::start(engine.store())?;
    meter.end(call(engine, &work::execution(lane), &work::result(), callers, amount).await?)
}

/// Lets several callers at once submit, claim and complete executions like `new`. Whatever a caller claims, it completes.
pub(crate) async fn call(
    engine: &Engine,
    new: &NewExecution,
    result: &Payload,
    callers: usize,
    amount: usize,
) -> Result<Tally, Error> {
    let left = Arc::new(AtomicUsize::new(amount));
    let start = || tokio::spawn(caller(engine.clone(), new.clone(), result.clone(), left.clone()));
    let tasks = (0..callers).map(|_| start());
    Tally::of(join_all(tasks).await)
}

async fn caller(engine: Engine, new: NewExecution, result: Payload, left: Arc<AtomicUsize>) -> Tally {
    let mut tally = Tally::default();
    let wants = work::patient(&new.lane);
    while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok() {
        tally.tried += 1;
        let mut took = NEVER;
        let lifecycle = async {
            engine.submit(new.clone()).await?;
            let watch = Stopwatch::start();
            let claimed = work::one(engine.claim(&wants, PATIENCE).await?)?;
            took = watch.millis();
            engine.complete(claimed.fence, result.clone()).await?;
            Ok::<(), Error>(())
        };
        let ended = lifecycle.await;
        tally.claims.push(took);
        match ended {
            Ok(()) => tally.done += 1,
            Err(error) => tally.failure = tally.failure.or(Some(error.to_string())),
        }
    }
    tally
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Site;

    #[tokio::test]
    async fn claims_that_never_came_are_the_worst_ones() {
        let (fresh, lane) = (Site::new("memory:").unwrap().fresh().await.unwrap(), work::name("bench"));
        let mut side = EngineSide::start(fresh, &lane, 2, 4).await.unwrap();
        let good = side.run(4).await.unwrap();
        assert_eq!((good.tried, good.done, good.claims.len()), (4, 4, 4));
        side.engine.shutdown().await;
        let bad = side.run(4).await.unwrap();
        assert_eq!((bad.tried, bad.done, bad.claims), (4, 0, vec![NEVER; 4]));
        assert!(bad.failure.is_some());
    }
}
