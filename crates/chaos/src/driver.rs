//! One run from its first server to its verdict, the same for every plan.

use crate::args::{AllArgs, CommonArgs, RunArgs};
use crate::child::Child;
use crate::clock::{now, rest};
use crate::other_build::OtherBuild;
use crate::plan::{self, LEASE, PARTITIONS, Plan, StoreKind};
use crate::plan_servers::PlanServers;
use crate::progress::{Progress, last_cursor};
use crate::upgrade_probes::UpgradeProbes;
use crate::{poison, verdict};
use onward_checker::Line;
use onward_engine::clock::Chance;
use onward_store::Store;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;

/// How often somebody is told how far it is.
const REPORT_EVERY: u64 = 5_000;
/// The driver's own tick.
const TICK: u64 = 100;
/// The time before the first fault, in which everybody gets to work.
const WARM_UP: u64 = 2_000;
/// When nothing has changed for so long at the end of a run, nothing will.
const STUCK_AFTER: u64 = 90_000;

/// Runs one plan; whether every promise was kept.
pub(crate) fn run(args: &RunArgs) -> io::Result<bool> {
    let Some(plan) = plan::named(&args.plan) else {
        let names: Vec<&str> = plan::every().map(|plan| plan.name).collect();
        return Err(io::Error::other(format!("there is no plan {}; there are {}", args.plan, names.join(", "))));
    };
    let mut held = true;
    for store in plan.stores {
        held &= one(plan, *store, &args.common)?.held;
    }
    Ok(held)
}

/// Runs every plan and prints a summary; whether every promise was kept.
pub(crate) fn all(args: &AllArgs) -> io::Result<bool> {
    let (mut held, mut lines) = (true, Vec::new());
    for (plan, store) in plan::ALL.iter().flat_map(|plan| plan.stores.iter().map(move |store| (plan, *store))) {
        let started = now();
        let (good, summary) = match one(plan, store, &args.common) {
            Ok(verdict) => (verdict.held, verdict.summary),
            Err(error) => (false, format!("{}: {error}", plan.title(store))),
        };
        held &= good;
        lines.push(format!("{} {:>4} s  {summary}", if good { "ok    " } else { "BROKEN" }, (now() - started) / 1_000));
    }
    println!("\nsummary\n{}", lines.join("\n"));
    Ok(held)
}

/// Runs a plan on one kind of store.
fn one(plan: &Plan, store: StoreKind, args: &CommonArgs) -> io::Result<verdict::Verdict> {
    let seed = args.seed.unwrap_or_else(|| Chance::from_os().word() >> 32);
    let title = plan.title(store);
    println!("{title}: {}; seed {seed}", plan.about);
    let directory = tempfile::Builder::new().prefix("chaos-").tempdir()?;
    let place = match &args.keep {
        Some(keep) => {
            let place = keep.join(&title);
            std::fs::create_dir_all(&place)?;
            if std::fs::read_dir(&place)?.next().is_some() {
                // The checker reads every file of the directory.
                return Err(io::Error::other(format!("{} is not empty", place.display())));
            }
            place
        }
        None => directory.path().to_owned(),
    };
    let other = match (&args.previous, plan.mixed) {
        (None, true) => return Err(io::Error::other(format!("{title} needs another build: --previous FILE"))),
        (previous, mixed) => previous.as_ref().filter(|_| mixed),
    };
    let other = other.map(|program| OtherBuild::new(program, args.previous_formats));
    let seconds = args.seconds.unwrap_or(plan.seconds);
    let judged = Run::start(plan, store, &place, seed, other, seconds).and_then(|mut run| {
        run.break_things(args.seconds)?;
        run.go_back()?;
        run.finish()?;
        let lost = run.lost()?;
        drop(run);
        let verdict = verdict::judge(&place)?;
        lost.iter().for_each(|what| println!("  LOST {what}"));
        Ok(verdict::Verdict { held: verdict.held && lost.is_empty(), ..verdict })
    });
    let held = judged.as_ref().is_ok_and(|verdict| verdict.held);
    if !held && args.keep.is_none() {
        println!("{title}: the history is kept in {}", directory.keep().display());
    }
    judged
}

/// A run under way.
#[derive(Debug)]
pub(crate) struct Run<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) directory: PathBuf,
    lines: File,
    pub(crate) chance: Chance,
    pub(crate) engines: Vec<Child>,
    pub(crate) senders: Vec<Child>,
    pub(crate) reader: Option<Child>,
    /// Where the next life of the reader goes on.
    pub(crate) cursor: Option<String>,
    /// How many processes were started.
    pub(crate) born: usize,
    /// The build that takes turns with this one, and then goes on alone.
    pub(crate) other: Option<OtherBuild>,
    /// What that build did and should not have done.
    pub(crate) wrongs: Vec<String>,
    upgrade_probes: Option<UpgradeProbes>,
    progress: Progress,
    started: u64,
    reported: (u64, u64),
    pub(crate) store: Arc<dyn Store>,
    pub(crate) runtime: Runtime,
    pub(crate) url: String,
    /// Last, so that it outlives the processes.
    pub(crate) servers: PlanServers,
}

impl<'a> Run<'a> {
    fn start(
        plan: &'a Plan,
        kind: StoreKind,
        directory: &Path,
        seed: u64,
        other: Option<OtherBuild>,
        seconds: u64,
    ) -> io::Result<Self> {
        let servers = PlanServers::start(kind, plan.settings)?;
        let url = servers.url(plan);
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        // The addresses of servers say it.
        let partitions = (kind == StoreKind::Sqlite).then_some(PARTITIONS);
        let options = onward::ClientOptions { partitions, ..onward::ClientOptions::default() };
        let store = runtime.block_on(onward::open_store(&url, &options)).map_err(io::Error::other)?;
        // The driver opens a file first, and runs no engine that could be its home.
        store.yield_home(Duration::from_secs(24 * 3_600));
        let mut run = Self {
            plan,
            directory: directory.to_owned(),
            lines: File::create(directory.join("driver.jsonl"))?,
            chance: Chance::seeded(seed),
            engines: Vec::new(),
            senders: Vec::new(),
            reader: None,
            cursor: None,
            born: 0,
            other,
            wrongs: Vec::new(),
            upgrade_probes: None,
            progress: Progress::default(),
            started: now(),
            reported: (now(), 0),
            store,
            runtime,
            url,
            servers,
        };
        run.tell(&Line::Plan(onward_checker::Plan {
            name: plan.title(kind),
            lease: LEASE,
            partitions: u64::from(PARTITIONS),
            losses: plan.losses,
            live_within: plan.live_within,
            expects_poison: plan.poison,
            expects_waits: plan.waits,
        }))?;
        if plan.mixed {
            let asked = now();
            let upgrade_probes = run.runtime.block_on(UpgradeProbes::make(&run.store, &run.url, seconds))?;
            for id in upgrade_probes.ids() {
                run.tell(&Line::Submitted { execution: id.to_string(), asked, at: now() })?;
            }
            run.upgrade_probes = Some(upgrade_probes);
        }
        run.start_engines()?;
        run.start_senders()?;
        run.start_reader()?;
        Ok(run)
    }

    /// How many executions have not ended.
    fn unfinished(&mut self) -> io::Result<u64> {
        self.runtime.block_on(verdict::unfinished(&*self.store))
    }

    /// What the other build did wrong, and what records say no more that was said when they were made.
    fn lost(&self) -> io::Result<Vec<String>> {
        let mut lost = self.wrongs.clone();
        if let Some(upgrade_probes) = &self.upgrade_probes {
            lost.extend(self.runtime.block_on(upgrade_probes.lost(&*self.store))?);
        }
        Ok(lost)
    }

    /// Where the history is written.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Adds a line to the history.
    pub(crate) fn tell(&mut self, line: &Line) -> io::Result<()> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        self.lines.write_all(&text)
    }

    /// One of so many.
    pub(crate) fn draw(&self, of: usize) -> usize {
        usize::try_from(self.chance.word() >> 1).unwrap_or(0) % of.max(1)
    }

    /// Injects the plan's faults until there were enough.
    fn break_things(&mut self, seconds: Option<u64>) -> io::Result<()> {
        let least = seconds.map_or(self.plan.rounds, |_| 1);
        let until = self.started + 1_000 * seconds.unwrap_or(self.plan.seconds);
        let poison_at = self.started + (until - self.started) / 3;
        let mut poisoned = !self.plan.poison;
        let beats = self.plan.beats;
        let mut next: Vec<(u64, u64)> = beats.iter().map(|beat| (self.started + WARM_UP + beat.every / 2, 0)).collect();
        while now() < until || next[0].1 < least {
            if !poisoned && now() >= poison_at {
                let dead = self.runtime.block_on(poison::plant(&*self.store, &self.chance))?;
                self.tell(&Line::Poisoned { dead, at: now() })?;
                poisoned = true;
            }
            for (beat, next) in beats.iter().zip(&mut next).filter(|(_, next)| next.0 <= now()) {
                self.inject(beat.fault, next.1)?;
                let pause = beat.every / 2 + self.chance.word() % (beat.every / 2 + 1);
                *next = (now() + pause, next.1 + 1);
            }
            rest(TICK);
            self.watch()?;
        }
        // What was hit last gets as long to show that it lives as what was hit before.
        let shown = now() + self.plan.live_within.unwrap_or(0);
        while now() < shown {
            rest(TICK);
            self.watch()?;
        }
        Ok(())
    }

    /// Makes sure that everybody lives, and tells how far it is.
    fn watch(&mut self) -> io::Result<()> {
        self.check_processes()?;
        let (reported, submits) = self.reported;
        let time = now();
        if time < reported + REPORT_EVERY {
            return Ok(());
        }
        self.progress.look(&self.directory)?;
        let submitted = self.progress.count("submitted");
        let rate = (submitted - submits) * 1_000 / (time - reported).max(1);
        println!(
            "  {:>4} s: {submitted} submits acknowledged ({rate}/s), {} events seen, {} faults",
            (time - self.started) / 1_000,
            self.progress.count("saw"),
            self.progress.count("fault"),
        );
        self.reported = (time, submitted);
        Ok(())
    }

    /// Lets everything end: no more submits, all work done, the reader at the end of the feed; then looks at all of it.
    fn finish(&mut self) -> io::Result<()> {
        self.finish_processes()?;
        if self.other.is_some() {
            self.until_nothing_changes("work of the other build", Self::unfinished_there)?;
            self.come_back()?;
        }
        self.until_nothing_changes("work", Self::unfinished)?;
        self.end_processes()?;
        self.until_nothing_changes("events", |run| {
            if let Some(reader) = &run.reader
                && let Some(cursor) = last_cursor(&reader.file)?
            {
                run.cursor = Some(cursor);
            }
            run.runtime.block_on(verdict::unread(&*run.store, run.cursor.as_deref()))
        })?;
        self.end_reader()?;
        Child::start(&self.directory, "look", &["look", "--store", &self.url], &[])?.end()
    }

    /// Waits until nothing is left, or until what is left does not change for long; the verdict then tells what it is.
    fn until_nothing_changes(&mut self, what: &str, left: impl Fn(&mut Self) -> io::Result<u64>) -> io::Result<()> {
        let (mut last, mut since) = (u64::MAX, now());
        loop {
            let count = left(self)?;
            if count == 0 {
                return Ok(());
            }
            if count != last {
                (last, since) = (count, now());
            } else if now() > since + STUCK_AFTER {
                println!("  {count} of {what} are left and nothing changes any more");
                return Ok(());
            }
            rest(TICK);
            self.watch()?;
        }
    }
}
