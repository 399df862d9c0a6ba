//! What held leases cost: lifecycles beside thousands of leases that heartbeats keep alive, against none.

use super::lifecycle::{self, WARM_UP};
use super::load::EngineSide;
use super::measure::{Stopwatch, Tally};
use super::report::Report;
use super::side::{Rounds, Side, end_all, take_turns};
use super::work::{self, PATIENCE};
use super::{Error, Site, Size, progress};
use async_trait::async_trait;
use onward_core::{Fence, Lane, Span};
use onward_engine::clock::{Clock, SystemClock};
use onward_engine::{Engine, Wants};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::watch;
use tokio::task::JoinHandle;

const FREE: usize = 0;
const HOLDING: usize = 1;

/// Both engines live through all rounds, so that every lease would run out without its heartbeats.
pub(crate) async fn measure(site: &Site, size: &Size) -> Result<Report, Error> {
    let mut report = Report::new("leases", site.url());
    let lane: Lane = work::name("bench");
    // Twice as long as elsewhere: a heartbeat comes around once in half a lease.
    let amount = 2 * lifecycle::amount(site, size, &lane).await?;
    let warm_up = size.callers * WARM_UP;
    let free = EngineSide::start(site.fresh().await?, &lane, size.callers, warm_up).await?;
    let busy = EngineSide::start(site.fresh().await?, &lane, size.callers, warm_up).await?;
    let engine = busy.engine.clone();
    let holders = Arc::new(Holders::claim(&engine, size).await?);
    let holding = HoldingSide { engine: busy, holders: holders.clone() };
    let mut sides: Vec<Box<dyn Side>> = vec![Box::new(free), Box::new(holding)];
    let (mut rounds, mut seconds) = (Rounds::default(), 0.0);
    for round in 1..=size.rounds {
        progress(&format!("leases, round {round} of {}", size.rounds));
        let sums = take_turns(&mut sides, size.turns, amount).await?;
        seconds += sums[HOLDING].seconds;
        report.count("the engine without leases", &sums[FREE]);
        report.count("the engine beside held leases", &sums[HOLDING]);
        rounds.add(sums);
    }
    let renewals = holders.renewed.load(Ordering::Relaxed) as f64 / seconds;
    holders.renew_all(&engine).await;
    let lost = holders.lost.load(Ordering::Relaxed).max(engine.metrics().lease_expiry);
    end_all(sides).await?;
    report.figure("callers", size.callers as f64, "");
    report.figure("held leases", size.held as f64, "");
    report.figure("renewals", renewals, "/s");
    report.spread("without leases", &rounds.side(FREE, Tally::rate), "lifecycles/s");
    report.spread("beside held leases", &rounds.side(HOLDING, Tally::rate), "lifecycles/s");
    let ratio = report.spread("beside / without", &rounds.ratios(HOLDING, FREE), "");
    report.at_most("cost of held leases", 100.0 * (1.0 - ratio).max(0.0), 15.0, "%");
    report.at_most("leases that expired", lost as f64, 0.0, "");
    Ok(report)
}

/// Workers that hold leases and renew all of theirs in one call, as the worker of the client does.
struct Holders {
    workers: Vec<Vec<Fence>>,
    /// How long a lease lasts here. Heartbeats rest while the other side is measured, so this is longer than the
    /// lease whose pace they keep.
    lease: Span,
    pace: Span,
    next: AtomicU64,
    renewed: AtomicU64,
    lost: AtomicU64,
}

impl Holders {
    async fn claim(engine: &Engine, size: &Size) -> Result<Self, Error> {
        let lane: Lane = work::name("held");
        let lease = Span(size.held_lease.0 * 3 / 2);
        let each = size.held / size.holders;
        let mut workers = Vec::new();
        work::submit_all(engine, &vec![work::execution(&lane); size.held]).await?;
        for _ in 0..size.holders {
            let mut fences = Vec::new();
            while fences.len() < each {
                let wants = Wants { max: each - fences.len(), ..work::wants(&lane, lease) };
                let claimed = engine.claim(&wants, PATIENCE).await?;
                if claimed.is_empty() {
                    return Err(Error::Broken("work to hold leases on was not to be had".to_owned()));
                }
                fences.extend(claimed.iter().map(|claimed| claimed.fence));
            }
            workers.push(fences);
        }
        let pace = Span(size.held_lease.0 / 2 / size.holders as u64);
        let zero = || AtomicU64::new(0);
        Ok(Self { workers, lease, pace, next: zero(), renewed: zero(), lost: zero() })
    }

    /// Renews the leases of one worker after the other until it is told to stop.
    async fn beat(&self, engine: &Engine, mut stop: watch::Receiver<bool>) {
        let watch = Stopwatch::start();
        for beat in 1.. {
            let at = self.next.fetch_add(1, Ordering::Relaxed) as usize % self.workers.len();
            self.renew(engine, at).await;
            let elapsed = watch.elapsed().as_millis() as u64;
            let pause = SystemClock.sleep(Span((beat * self.pace.0).saturating_sub(elapsed)));
            tokio::select! { biased; _ = stop.wait_for(|stop| *stop) => return, () = pause => {} }
        }
    }

    async fn renew(&self, engine: &Engine, at: usize) {
        let answers = engine.renew(&self.workers[at], self.lease).await;
        let lost = answers.iter().filter(|answer| answer.is_err()).count();
        self.renewed.fetch_add(answers.len() as u64, Ordering::Relaxed);
        self.lost.fetch_add(lost as u64, Ordering::Relaxed);
    }

    /// Renews everything once; what cannot be renewed is lost.
    async fn renew_all(&self, engine: &Engine) {
        for at in 0..self.workers.len() {
            self.renew(engine, at).await;
        }
    }
}

/// Callers beside workers that hold leases.
struct HoldingSide {
    engine: EngineSide,
    holders: Arc<Holders>,
}

#[async_trait]
impl Side for HoldingSide {
    async fn run(&mut self, amount: usize) -> Result<Tally, Error> {
        let (stop, stopped) = watch::channel(false);
        let (holders, engine) = (self.holders.clone(), self.engine.engine.clone());
        let heart: JoinHandle<()> = tokio::spawn(async move { holders.beat(&engine, stopped).await });
        let tally = self.engine.run(amount).await;
        stop.send_replace(true);
        heart.await.map_err(|panic| Error::Broken(panic.to_string()))?;
        tally
    }

    async fn end(self: Box<Self>) -> Result<(), Error> {
        Box::new(self.engine).end().await
    }
}
