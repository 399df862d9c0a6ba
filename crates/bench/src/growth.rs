//! What a long life costs: the same work on a grown store and on an empty one, each in a process of its own.

use super::child::{Answer, Ask, Child};
use super::lifecycle::{self, WARM_UP};
use super::measure::{Stopwatch, Tally, percentile, sorted};
use super::report::Report;
use super::seed::{self, Seed};
use super::side::Rounds;
use super::{Error, Site, Size, progress, site, work};

const GROWN: usize = 0;
const EMPTY: usize = 1;
const NAMES: [&str; 2] = ["the engine on the grown store", "the engine on the empty store"];

/// Claims taken one at a time in each turn from the lane with waiting work.
const CLAIMS_PER_TURN: usize = 100;
/// What the measured process may hold for itself.
const MEMORY_MIB_MAX: f64 = 300.0;

pub(crate) async fn measure(site: &Site, size: &Size) -> Result<Report, Error> {
    let mut report = Report::new("growth", site.url());
    let stores = [site.shared_address()?, site.shared_address()?];
    let turns = size.rounds * size.turns;
    if size.waiting < turns {
        return Err(Error::Option(format!("--waiting is at least {turns} here, one for each turn of each round")));
    }
    let amount = lifecycle::amount(site, size, &work::name(seed::LANES[0])).await?;
    grow(&stores[GROWN], size).await?;
    let watch = Stopwatch::start();
    let grown = Child::start(&stores[GROWN]).await?;
    let start = watch.millis();
    let mut children = [grown, Child::start(&stores[EMPTY]).await?];
    let first = first_answer(&mut children[GROWN]).await?;
    let per_turn = CLAIMS_PER_TURN.min(size.waiting / turns);
    for (child, name) in children.iter_mut().zip(NAMES) {
        let ask = Ask::Lifecycles { lane: lane(0), callers: size.callers, amount: size.callers * WARM_UP };
        report.count(name, &child.tally(&ask).await?);
    }
    let mut found = Found::default();
    for round in 1..=size.rounds {
        progress(&format!("growth, round {round} of {}", size.rounds));
        found.round(&mut children, size, amount, per_turn, &mut report).await?;
    }
    let Answer::Looks(looks) = children[GROWN].ask(&Ask::Look { times: size.looks }).await? else {
        return Err(Error::Child("did not say how long looking takes".to_owned()));
    };
    let Answer::Memory(memory) = children[GROWN].ask(&Ask::Memory).await? else {
        return Err(Error::Child("did not say how much memory it has".to_owned()));
    };
    let file = site::file(&stores[GROWN]).map(std::fs::metadata).transpose()?;
    drop(children);
    for address in &stores {
        site.clear(address).await?;
    }
    report.figure("finished executions", size.finished as f64, "");
    report.figure("waiting executions", size.waiting as f64, "");
    if let Some(file) = file {
        report.figure("file", file.len() as f64 / 1_048_576.0, "MiB");
    }
    report.figure("first lifecycle after the start", first, "ms");
    found.judge(&mut report);
    looks.judge(&mut report);
    report.at_most("start to ready", start, 1_000.0, "ms");
    report.at_most("anonymous memory", memory, MEMORY_MIB_MAX, "MiB");
    Ok(report)
}

fn lane(at: usize) -> String {
    seed::LANES[at].to_owned()
}

/// Fills a store, and closes it so that the measured process starts like any other.
async fn grow(address: &str, size: &Size) -> Result<(), Error> {
    let store = site::open(address).await?;
    let seed = Seed { finished: size.finished, waiting: size.waiting, retention: None, life: seed::LIFE };
    seed::fill(&store, &seed).await?;
    Ok(store.close().await?)
}

async fn first_answer(child: &mut Child) -> Result<f64, Error> {
    let watch = Stopwatch::start();
    let tally = child.tally(&Ask::Lifecycles { lane: lane(0), callers: 1, amount: 1 }).await?;
    let took = watch.millis();
    tally.failure.map_or(Ok(took), |why| Err(Error::Broken(format!("the first lifecycle failed: {why}"))))
}

/// What was done on both stores, round by round.
#[derive(Default)]
struct Found {
    lifecycles: Rounds,
    claims: Rounds,
}

impl Found {
    async fn round(
        &mut self,
        children: &mut [Child; 2],
        size: &Size,
        amount: usize,
        claims: usize,
        report: &mut Report,
    ) -> Result<(), Error> {
        let mut sums = vec![Tally::default(); children.len()];
        let mut claimed = sums.clone();
        for turn in 0..size.turns {
            for step in 0..children.len() {
                let at = (turn + step) % children.len();
                let lifecycles = Ask::Lifecycles { lane: lane(0), callers: size.callers, amount };
                sums[at].add(children[at].tally(&lifecycles).await?);
            }
            // The empty store gets as much waiting work as is claimed, so that neither lane runs dry.
            let submit = Ask::Submit { lane: seed::BACKLOG.to_owned(), amount: claims };
            children[EMPTY].ask(&submit).await?;
            for step in 0..children.len() {
                let at = (turn + step) % children.len();
                let ask = Ask::Claims { lane: seed::BACKLOG.to_owned(), amount: claims };
                claimed[at].add(children[at].tally(&ask).await?);
            }
        }
        for tallies in [&sums, &claimed] {
            tallies.iter().zip(NAMES).for_each(|(tally, name)| report.count(name, tally));
        }
        self.lifecycles.add(sums);
        self.claims.add(claimed);
        Ok(())
    }

    fn judge(&self, report: &mut Report) {
        report.spread("grown", &self.lifecycles.side(GROWN, Tally::rate), "lifecycles/s");
        report.spread("empty", &self.lifecycles.side(EMPTY, Tally::rate), "lifecycles/s");
        let ratio = report.spread("grown / empty", &self.lifecycles.ratios(GROWN, EMPTY), "");
        report.at_least("grown / empty", ratio, 0.8, "");
        let p99 = |tally: &Tally| percentile(&sorted(&tally.claims), 0.99);
        for (what, rounds) in
            [("claim p99 under load", &self.lifecycles), ("claim p99 beside waiting work", &self.claims)]
        {
            let grown = report.spread(&format!("{what}, grown"), &rounds.side(GROWN, p99), "ms");
            let empty = report.spread(&format!("{what}, empty"), &rounds.side(EMPTY, p99), "ms");
            report.at_most(&format!("{what} to 1.5 × empty + 1 ms"), grown, 1.5 * empty + 1.0, "ms");
        }
    }
}
