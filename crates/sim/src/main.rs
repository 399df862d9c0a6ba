//! The command line of the simulation: replay a seed, run many, look further, or plant faults and see them found.

use clap::{ArgGroup, Parser};
use onward_engine::clock::{Clock, SystemClock};
use onward_sim::{
    Entry, FAILED, Fault, Keep, Mutant, NOT_APPLICABLE, REGRESSION, Report, Tally, Totals, first_failure, fresh_seeds,
    line, many, next_seed, run,
};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

/// Steps of the trace shown with a failure.
const LAST_STEPS: usize = 40;
/// Failing seeds shown in full after many runs, and failures after which a soak stops.
const SHOWN_MAX: usize = 3;
/// The first seed in which faults are planted unless told otherwise; worlds behind the kept seeds know every kind of fault.
const PLANTED_FROM: u64 = 1_000_000;
/// Seconds between two lines of progress.
const PROGRESS_SECONDS: u64 = 10;

/// Runs the real engine in a simulated, broken world and checks that everything that must hold does.
///
/// Equal seeds give equal runs. Exit codes: 0 when everything held, 1 when something did not or a planted fault was not
/// found, 2 when the arguments make no sense.
#[derive(Debug, Parser)]
#[command(name = "onward-sim", version, arg_required_else_help = true)]
#[command(group = ArgGroup::new("what").args(["seed", "mutants", "kept", "soak"]))]
struct Arguments {
    /// Replay one seed and print its trace hash
    #[arg(long, value_name = "N", conflicts_with = "seeds")]
    seed: Option<u64>,

    /// Run this many seeds
    #[arg(long, value_name = "N")]
    seeds: Option<u64>,

    /// The first of them
    #[arg(long, value_name = "K", requires = "seeds", conflicts_with = "kept")]
    from: Option<u64>,

    /// Run the regression seeds (2,000, or as many as --seeds says) and every seed that ever failed
    #[arg(long)]
    kept: bool,

    /// Add this many seeds that follow from --commit, so that each commit runs others
    #[arg(long, value_name = "N", requires_all = ["kept", "commit"])]
    fresh: Option<u64>,

    /// Run seeds behind the last one of the ledger for this many minutes, and write a line into it
    #[arg(long, value_name = "MINUTES", requires_all = ["ledger", "commit", "date"], conflicts_with = "seeds")]
    soak: Option<u64>,

    /// The ledger
    #[arg(long, value_name = "FILE", requires = "soak")]
    ledger: Option<PathBuf>,

    /// The commit that is run
    #[arg(long, value_name = "HASH")]
    commit: Option<String>,

    /// The day to write into the ledger
    #[arg(long, value_name = "YYYY-MM-DD", requires = "soak")]
    date: Option<String>,

    /// Plant each known fault in turn and look for it in the given number of seeds, 500 unless told otherwise
    #[arg(long)]
    mutants: bool,

    /// Replay the seed with this fault planted, for instance "no fence"
    #[arg(long, value_name = "NAME", requires = "seed", value_parser = parse_mutant)]
    mutant: Option<Mutant>,

    /// Print every step of the trace
    #[arg(long, requires = "seed")]
    verbose: bool,
}

fn parse_mutant(text: &str) -> Result<Mutant, String> {
    let names = || Mutant::ALL.map(Mutant::name).join(", ");
    Mutant::ALL.into_iter().find(|mutant| mutant.name() == text).ok_or_else(|| format!("known are: {}", names()))
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let held = match &arguments {
        Arguments { seed: Some(seed), .. } => replay(*seed, arguments.mutant, arguments.verbose),
        Arguments { mutants: true, seeds, from, .. } => plant(from.unwrap_or(PLANTED_FROM), seeds.unwrap_or(500)),
        Arguments { kept: true, seeds, .. } => run_kept(*seeds, arguments.fresh, arguments.commit.as_deref()),
        Arguments { soak: Some(minutes), ledger: Some(ledger), commit: Some(commit), date: Some(date), .. } => {
            soak(*minutes, ledger, commit, date)
        }
        Arguments { seeds, from, .. } => {
            let (from, count) = (from.unwrap_or(0), seeds.unwrap_or(100));
            run_all((from..from.saturating_add(count)).collect())
        }
    };
    if held { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn replay(seed: u64, mutant: Option<Mutant>, verbose: bool) -> bool {
    let report = run(seed, mutant, if verbose { Keep::Print(LAST_STEPS) } else { Keep::Last(LAST_STEPS) });
    show(&report);
    println!("{}", faults(&report.faults));
    println!("{}", waits(&report.waits));
    println!(
        "1 seeds, {} commands, {} operations, {} faults in {} of simulated time",
        report.commands,
        report.operations,
        report.fault_count(),
        report.lasted
    );
    report.violation.is_none()
}

/// Prints how a run ended, with its last steps when something did not hold.
fn show(report: &Report) {
    match &report.violation {
        None => println!("seed {} held, trace {:016x}", report.seed, report.hash),
        Some(violation) => {
            println!("last steps:");
            for step in report.last_steps.iter().rev().take(LAST_STEPS).rev() {
                println!("  {step}");
            }
            println!("seed {} FAILED, trace {:016x}", report.seed, report.hash);
            println!("  checker {}: {}", violation.checker, violation.what);
            println!("  replay  onward-sim --seed {}", report.seed);
        }
    }
}

/// Prints the steps of a failed run that name the execution it failed about, or its last ones when it names none.
fn show_failure(seed: u64) {
    // Equal seeds give equal runs, so the steps need not be kept the first time.
    let mut report = run(seed, None, Keep::Last(usize::MAX));
    let what = report.violation.as_ref().map_or("", |violation| violation.what.as_str());
    let id = what.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').find(|word| word.starts_with("x-"));
    if let Some(id) = id.map(str::to_owned) {
        report.last_steps.retain(|step| step.contains(&id));
    }
    show(&report);
}

fn faults(counts: &onward_sim::FaultCounts) -> String {
    let shown = Fault::ALL.iter().map(|fault| format!("{} {}", counts.get(fault).unwrap_or(&0), fault.name()));
    format!("faults: {}", shown.collect::<Vec<_>>().join(", "))
}

fn waits(tally: &Tally) -> String {
    let shown = tally.iter().map(|(what, count)| format!("{count} {what}"));
    format!("waits: {}", shown.collect::<Vec<_>>().join(", "))
}

/// Runs the seeds of every test run.
fn run_kept(regression: Option<u64>, fresh: Option<u64>, commit: Option<&str>) -> bool {
    let mut seeds: Vec<u64> =
        REGRESSION.take(usize::try_from(regression.unwrap_or(u64::MAX)).unwrap_or(usize::MAX)).collect();
    println!("{} regression seeds and {} that failed once", seeds.len(), FAILED.len());
    seeds.extend(FAILED.iter().map(|failed| failed.seed));
    if let (Some(count), Some(commit)) = (fresh, commit) {
        let fresh = fresh_seeds(commit, count);
        println!("{count} fresh seeds of {commit}: {} to {}", fresh.start, fresh.end.saturating_sub(1));
        seeds.extend(fresh);
    }
    run_all(seeds)
}

fn run_all(seeds: Vec<u64>) -> bool {
    let (begin, count) = (SystemClock.now(), seeds.len() as u64);
    let step = (count / 10).max(1);
    let totals = many(seeds.into_iter(), |totals: &Totals| {
        if totals.seeds.is_multiple_of(step) && totals.seeds < count {
            let passed = (SystemClock.now() - begin).0 / 1_000;
            eprintln!("{} of {count} seeds after {passed} s, {} failed", totals.seeds, totals.failures.len());
        }
        true
    });
    conclude(&totals, (SystemClock.now() - begin).0)
}

/// Prints what many runs came to; answers whether everything held.
fn conclude(totals: &Totals, took_ms: u64) -> bool {
    for failure in totals.failures.iter().take(SHOWN_MAX) {
        show_failure(failure.seed);
    }
    for failure in totals.failures.iter().skip(SHOWN_MAX) {
        if let Some(violation) = &failure.violation {
            println!("seed {} FAILED, checker {}: {}", failure.seed, violation.checker, violation.what);
        }
    }
    println!("{}", faults(&totals.faults));
    println!("{}", waits(&totals.waits));
    println!("each seed had at least {} commands and {} faults", totals.commands_least, totals.faults_least);
    println!("all traces together {:016x}", totals.hash);
    println!(
        "{} seeds, {} commands, {} operations, {} faults, {} failed, {:.1} s",
        totals.seeds,
        totals.commands,
        totals.operations,
        totals.fault_count(),
        totals.failures.len(),
        took_ms as f64 / 1_000.0
    );
    totals.failures.is_empty()
}

/// Looks further than ever before, and writes down how far.
fn soak(minutes: u64, ledger: &Path, commit: &str, date: &str) -> bool {
    let text = match std::fs::read_to_string(ledger) {
        Ok(text) => text,
        Err(error) => {
            eprintln!("the ledger {} cannot be read: {error}", ledger.display());
            return false;
        }
    };
    let (begin, from, told) = (SystemClock.now(), next_seed(&text), AtomicU64::new(0));
    println!("fresh seeds from {from} on for {minutes} min; the first {SHOWN_MAX} failures end it sooner");
    let totals = many(from.., |totals: &Totals| {
        let passed = (SystemClock.now() - begin).0 / 1_000;
        if passed / PROGRESS_SECONDS > told.fetch_max(passed / PROGRESS_SECONDS, Ordering::Relaxed) {
            eprintln!("{} seeds after {passed} s, {} failed", totals.seeds, totals.failures.len());
        }
        passed < minutes * 60 && totals.failures.len() < SHOWN_MAX
    });
    let held = conclude(&totals, (SystemClock.now() - begin).0);
    let line = line(&Entry { date, commit, from }, &totals);
    print!("{line}");
    if let Err(error) = append(ledger, &line) {
        eprintln!("the line could not be written into {}: {error}", ledger.display());
        return false;
    }
    held
}

fn append(ledger: &Path, line: &str) -> std::io::Result<()> {
    std::fs::OpenOptions::new().append(true).open(ledger)?.write_all(line.as_bytes())
}

/// Plants every fault; each must be found by a checker that is made for it, at a seed that passes without it.
fn plant(from: u64, count: u64) -> bool {
    let (begin, mut held) = (SystemClock.now(), true);
    println!("{:<24} {:>13}  {:<12} what", "planted fault", "found at seed", "by checker");
    for mutant in Mutant::ALL {
        let Some(report) = first_failure(mutant, from..from.saturating_add(count)) else {
            println!("{:<24} {:>13}  not within {count} seeds", mutant.name(), "-");
            held = false;
            continue;
        };
        let Some(violation) = &report.violation else { continue };
        let what: String = violation.what.chars().take(90).collect();
        println!("{:<24} {:>13}  {:<12} {what}", mutant.name(), report.seed, violation.checker);
        if !mutant.finders().contains(&violation.checker) {
            println!("  the WRONG checker found it; expected {}", mutant.finders().join(" or "));
            held = false;
        }
        let without = run(report.seed, None, Keep::Last(LAST_STEPS));
        if without.violation.is_some() {
            show(&without);
            held = false;
        }
    }
    for name in NOT_APPLICABLE {
        println!("{name:<24} {:>13}  not applicable: the rules have no such feature yet", "-");
    }
    let seconds = (SystemClock.now() - begin).0 as f64 / 1_000.0;
    let verdict =
        if held { "every planted fault was found" } else { "NOT every planted fault was found as it should be" };
    println!("{verdict}, {seconds:.1} s");
    held
}
