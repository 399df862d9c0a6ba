//! How soon the work of a killed process can be claimed again, whoever else is alive.

use super::child::{self, Ask, Child};
use super::measure::{Stopwatch, sorted};
use super::report::Report;
use super::{Error, Site, Size, progress, site, work};
use onward_core::{Lane, PartitionId, Span};
use onward_engine::clock::{Chance, Clock, SystemClock};
use onward_engine::{Engine, Options};
use onward_store::Home;

/// What a lost lease may take beyond its length while the partition's home lives.
const HOME_LIVES: f64 = 1_000.0;
/// What it may take when the home dies too and another process must become it.
const HOME_DIES: f64 = 10_000.0;

const LANE: &str = "bench";
/// How often a trial may be repeated because the partition changed hands.
const TRIES_MAX: usize = 5;
/// How often the homes are looked at while a child has not been seen.
const LOOK_AGAIN: Span = Span(50);

/// Work that does not come back is a broken promise that ends the scenario, so there is no success ratio.
pub(crate) async fn measure(site: &Site, size: &Size) -> Result<Report, Error> {
    let mut report = Report::new("recovery", site.url());
    let stores = [site.shared_address()?, site.shared_address()?, site.shared_address()?];
    progress(&format!("recovery, {} kills in each of three settings", size.trials));
    // The settings use stores of their own and wait most of the time, so they can run beside each other.
    let (worker, home, only) =
        tokio::join!(worker_dies(&stores[0], size), home_dies(&stores[1], size), only_one_dies(&stores[2], size));
    for address in &stores {
        site.clear(address).await?;
    }
    let lease = size.trial_lease.0 as f64;
    report.figure("lease", lease, "ms");
    report.figure("leases of each killed process", size.held_by_trial as f64, "");
    report.figure("kills in each setting", size.trials as f64, "");
    judge(&mut report, "worker killed", &worker?, lease + HOME_LIVES);
    judge(&mut report, "home killed", &home?, lease + HOME_DIES);
    judge(&mut report, "only process killed, less its start", &only?, lease + HOME_LIVES);
    Ok(report)
}

/// Every trial must stay within the limit, so the bar is the worst of them.
fn judge(report: &mut Report, name: &str, trials: &[f64], limit: f64) {
    report.list(&format!("{name}, each"), &sorted(trials), "ms");
    let worst = trials.iter().copied().fold(0.0, f64::max);
    report.at_most(&format!("{name}, to claimed again"), worst, limit, "ms");
}

/// A worker's process is killed while the home of the partitions lives elsewhere.
async fn worker_dies(address: &str, size: &Size) -> Result<Vec<f64>, Error> {
    let chance = Chance::from_os();
    let store = site::open(address).await?;
    let engine = Engine::start(store.clone(), Options::default()).await?;
    let mut trials = Vec::new();
    for _ in 0..TRIES_MAX * size.trials {
        let mut child = Child::start(address).await?;
        let home = own_partition(&engine).await?;
        for _ in 0..size.held_by_trial {
            work::submit_to(&engine, &work::name(LANE), home).await?;
        }
        lend(&mut child, size).await?;
        let mut trial = std::pin::pin!(kill_and_take(&mut child, &engine, size, &chance));
        let mut changed_hands = false;
        let took = loop {
            tokio::select! {
                biased;
                took = &mut trial => break took?,
                () = SystemClock.sleep(LOOK_AGAIN) => changed_hands |= !engine.homes().contains(&home),
            }
        };
        // A partition that had become the child's lost its home with it, which is the other setting.
        if !changed_hands {
            trials.push(took);
        }
        if trials.len() == size.trials {
            break;
        }
    }
    engine.shutdown().await;
    store.close().await?;
    Ok(trials)
}

/// The process that is worker and home at once is killed; another one lives and must become the home.
async fn home_dies(address: &str, size: &Size) -> Result<Vec<f64>, Error> {
    let chance = Chance::from_os();
    let mut trials = Vec::new();
    for _ in 0..size.trials {
        let mut child = Child::start(address).await?;
        let store = site::open(address).await?;
        let engine = Engine::start(store.clone(), Options::default()).await?;
        hold(&mut child, size).await?;
        trials.push(kill_and_take(&mut child, &engine, size, &chance).await?);
        engine.shutdown().await;
        store.close().await?;
    }
    Ok(trials)
}

/// The only process is killed and started again; what the start takes is not counted.
async fn only_one_dies(address: &str, size: &Size) -> Result<Vec<f64>, Error> {
    let chance = Chance::from_os();
    let mut trials = Vec::new();
    let mut child = Child::start(address).await?;
    for _ in 0..size.trials {
        hold(&mut child, size).await?;
        pause(size, &chance).await;
        let watch = Stopwatch::start();
        child.kill()?;
        let start = Stopwatch::start();
        child = Child::start(address).await?;
        let start = start.millis();
        child.ask(&Ask::Take { lane: LANE.to_owned(), amount: size.held_by_trial }).await?;
        trials.push(watch.millis() - start);
    }
    Ok(trials)
}

/// Lets a child hold leases on executions of its own.
async fn hold(child: &mut Child, size: &Size) -> Result<(), Error> {
    child.ask(&Ask::Submit { lane: LANE.to_owned(), amount: size.held_by_trial }).await?;
    lend(child, size).await
}

/// Lets a child hold leases on what waits.
async fn lend(child: &mut Child, size: &Size) -> Result<(), Error> {
    let (lane, amount) = (LANE.to_owned(), size.held_by_trial);
    child.ask(&Ask::Hold { lane, amount, lease_ms: size.trial_lease.0 }).await?;
    Ok(())
}

/// A partition whose home this process is, also when a child shares the partitions with it.
async fn own_partition(engine: &Engine) -> Result<PartitionId, Error> {
    let shared = *engine.store().home().borrow() == Home::ByMembership;
    let partitions = usize::from(engine.store().meta().partitions);
    let homes = loop {
        let homes = engine.homes();
        // A child that has come is seen at the next look.
        if !shared || homes.len() < partitions {
            break homes;
        }
        SystemClock.sleep(LOOK_AGAIN).await;
    };
    homes.first().copied().ok_or_else(|| Error::Broken("this process is nobody's home".to_owned()))
}

/// Waits for some moment between two heartbeats or in the middle of one.
async fn pause(size: &Size, chance: &Chance) {
    SystemClock.sleep(Span(chance.word() % size.trial_lease.0)).await;
}

/// Kills the child; the answer is how long it took until all its work was claimed again, in milliseconds.
async fn kill_and_take(child: &mut Child, engine: &Engine, size: &Size, chance: &Chance) -> Result<f64, Error> {
    pause(size, chance).await;
    let watch = Stopwatch::start();
    child.kill()?;
    let lane: Lane = work::name(LANE);
    let claimed = child::take(engine, &work::patient(&lane), size.held_by_trial).await?;
    let took = watch.millis();
    for claimed in claimed {
        engine.complete(claimed.fence, work::result()).await?;
    }
    Ok(took)
}
