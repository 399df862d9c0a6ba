//! What sharing a store costs: one process with all callers, against three processes that share them; and how soon one
//! process wakes another.

use super::child::{Ask, Child, Counted};
use super::lifecycle::{self, WARM_UP};
use super::measure::{Stopwatch, Tally};
use super::report::Report;
use super::side::{Rounds, Side, end_all, take_turns};
use super::work::{self, PATIENCE};
use super::{Error, Site, Size, progress, site, wake};
use async_trait::async_trait;
use futures_util::future::try_join_all;
use onward_core::Span;
use onward_engine::clock::{Clock, SystemClock};
use parking_lot::Mutex;
use std::sync::Arc;

const ONE: usize = 0;
const THREE: usize = 1;
const NAMES: [&str; 2] = ["one process", "three processes"];
const SEVERAL: usize = 3;

const LANE: &str = "bench";
/// Fewer and longer turns than elsewhere: at the end of each, callers may wait for work that is another process's first.
const TURNS: usize = 2;
/// How often processes are asked whether they agree on who is the home of what.
const LOOK_EVERY: Span = Span(50);

/// Both crews live through all rounds: it takes processes some seconds to notice each other.
pub(crate) async fn measure(site: &Site, size: &Size) -> Result<Report, Error> {
    let mut report = Report::new("processes", site.url());
    let stores = [site.shared_address()?, site.shared_address()?];
    let amount = lifecycle::amount(site, size, &work::name(LANE)).await? * size.turns / TURNS;
    let one = Crew::start(&stores[ONE], 1, size.callers, site.is_files()).await?;
    let three = Crew::start(&stores[THREE], SEVERAL, size.callers, site.is_files()).await?;
    let log = three.log.clone();
    let mut sides: Vec<Box<dyn Side>> = vec![Box::new(one), Box::new(three)];
    for side in &mut sides {
        side.run(size.callers * WARM_UP).await?;
    }
    let (mut rounds, mut conflicts) = (Rounds::default(), Vec::new());
    for round in 1..=size.rounds {
        progress(&format!("processes, round {round} of {}", size.rounds));
        take(&log);
        let sums = take_turns(&mut sides, TURNS, amount).await?;
        sums.iter().zip(NAMES).for_each(|(sum, name)| report.count(name, sum));
        rounds.add(sums);
        let did = take(&log);
        conflicts.push(100.0 * did.conflicts as f64 / did.commits.max(1) as f64);
    }
    end_all(sides).await?;
    for address in &stores {
        site.clear(address).await?;
    }
    report.figure("callers", size.callers as f64, "");
    for (side, name) in NAMES.into_iter().enumerate() {
        report.spread(name, &rounds.side(side, Tally::rate), "lifecycles/s");
    }
    let ratio = report.spread("three / one", &rounds.ratios(THREE, ONE), "");
    let refused = report.spread("conflicts of three", &conflicts, "% of commits");
    wake::measure(site, size, &mut report).await?;
    if site.is_files() {
        report.note("No bar: one process at a time writes a file, so three of them never sync together as one does.");
    } else {
        report.at_least("three / one", ratio, 0.8, "");
        report.at_most("conflicts of three", refused, 5.0, "%");
    }
    Ok(report)
}

/// Processes on one store that share the callers.
struct Crew {
    children: Vec<Child>,
    callers: usize,
    /// What their engines did in the runs since somebody took it.
    log: Arc<Mutex<Counted>>,
}

impl Crew {
    async fn start(address: &str, count: usize, callers: usize, one_home: bool) -> Result<Self, Error> {
        let partitions = {
            let store = site::open(address).await?;
            let partitions = usize::from(store.meta().partitions);
            store.close().await?;
            partitions
        };
        let mut children = Vec::new();
        for _ in 0..count {
            children.push(Child::start(address).await?);
        }
        let mut crew = Self { children, callers, log: Arc::default() };
        crew.settle(partitions, one_home).await?;
        Ok(crew)
    }

    /// Waits until every partition has one home; on a server each process is the home of some.
    async fn settle(&mut self, partitions: usize, one_home: bool) -> Result<(), Error> {
        let watch = Stopwatch::start();
        loop {
            let counted = try_join_all(self.children.iter_mut().map(Child::counted)).await?;
            let homes = counted.iter().map(|counted| counted.homes);
            let each = one_home || homes.clone().all(|homes| homes > 0);
            if each && homes.sum::<usize>() == partitions {
                return Ok(());
            }
            if watch.elapsed().as_millis() as u64 > PATIENCE.0 {
                return Err(Error::Broken(format!("the processes do not share {partitions} partitions: {counted:?}")));
            }
            SystemClock.sleep(LOOK_EVERY).await;
        }
    }

    async fn counted(&mut self) -> Result<Counted, Error> {
        let all = try_join_all(self.children.iter_mut().map(Child::counted)).await?;
        let sum = |of: fn(&Counted) -> u64| all.iter().map(of).sum();
        Ok(Counted { commits: sum(|one| one.commits), conflicts: sum(|one| one.conflicts), homes: 0 })
    }
}

#[async_trait]
impl Side for Crew {
    async fn run(&mut self, amount: usize) -> Result<Tally, Error> {
        let before = self.counted().await?;
        let count = self.children.len();
        let asks = shares(self.callers, count).zip(shares(amount, count));
        let asks: Vec<Ask> = asks
            .map(|(callers, amount)| Ask::Lifecycles { lane: LANE.to_owned(), callers: callers.max(1), amount })
            .collect();
        let tallies = try_join_all(self.children.iter_mut().zip(&asks).map(|(child, ask)| child.tally(ask))).await?;
        // They begin together, so the work is done when the last of them is.
        let seconds = tallies.iter().map(|tally| tally.seconds).fold(0.0, f64::max);
        let mut sum = Tally::default();
        tallies.into_iter().for_each(|tally| sum.add(tally));
        let after = self.counted().await?;
        let mut log = self.log.lock();
        log.commits += after.commits - before.commits;
        log.conflicts += after.conflicts - before.conflicts;
        Ok(Tally { seconds, ..sum })
    }

    async fn end(self: Box<Self>) -> Result<(), Error> {
        Ok(())
    }
}

/// Nearly equal parts of a number.
fn shares(whole: usize, count: usize) -> impl Iterator<Item = usize> {
    (0..count).map(move |at| whole * (at + 1) / count - whole * at / count)
}

fn take(log: &Mutex<Counted>) -> Counted {
    std::mem::take(&mut *log.lock())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_to_the_whole() {
        assert_eq!(shares(64, 3).collect::<Vec<_>>(), [21, 21, 22]);
        assert_eq!(shares(64, 1).collect::<Vec<_>>(), [64]);
    }
}
