//! The command line of the simulation: replay a seed, run many, or plant faults and see whether each is found.

use clap::Parser;
use onward_engine::clock::{Clock, SystemClock};
use onward_sim::{Fault, Keep, Mutant, NOT_APPLICABLE, Report, Totals, first_failure, many, run};
use std::process::ExitCode;

/// Steps of the trace shown with a failure.
const LAST_STEPS: usize = 40;
/// Failing seeds shown in full after many runs.
const SHOWN_MAX: usize = 3;

/// Runs the real engine in a simulated, broken world and checks that everything that must hold does.
///
/// Equal seeds give equal runs. Exit codes: 0 when everything held, 1 when something did not or a planted fault was not
/// found, 2 when the arguments make no sense.
#[derive(Debug, Parser)]
#[command(name = "onward-sim", version, arg_required_else_help = true)]
struct Arguments {
    /// Replay one seed and print its trace hash
    #[arg(long, value_name = "N", conflicts_with_all = ["seeds", "mutants"])]
    seed: Option<u64>,

    /// Run this many seeds
    #[arg(long, value_name = "N")]
    seeds: Option<u64>,

    /// The first of them
    #[arg(long, value_name = "K", default_value_t = 0, requires = "seeds")]
    from: u64,

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
    let held = match (arguments.seed, arguments.mutants) {
        (Some(seed), _) => replay(seed, arguments.mutant, arguments.verbose),
        (None, true) => plant(arguments.from, arguments.seeds.unwrap_or(500)),
        (None, false) => run_many(arguments.from, arguments.seeds.unwrap_or(100)),
    };
    if held { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn replay(seed: u64, mutant: Option<Mutant>, verbose: bool) -> bool {
    let report = run(seed, mutant, if verbose { Keep::Print(LAST_STEPS) } else { Keep::Last(LAST_STEPS) });
    show(&report);
    println!("{}", faults(&report.faults));
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
            for step in &report.last_steps {
                println!("  {step}");
            }
            println!("seed {} FAILED, trace {:016x}", report.seed, report.hash);
            println!("  checker {}: {}", violation.checker, violation.what);
            println!("  replay  onward-sim --seed {}", report.seed);
        }
    }
}

fn faults(counts: &onward_sim::FaultCounts) -> String {
    let shown = Fault::ALL.iter().map(|fault| format!("{} {}", counts.get(fault).unwrap_or(&0), fault.name()));
    format!("faults: {}", shown.collect::<Vec<_>>().join(", "))
}

fn run_many(from: u64, count: u64) -> bool {
    let begin = SystemClock.now();
    let step = (count / 10).max(1);
    let totals = many(from..from.saturating_add(count), |totals: &Totals| {
        if totals.seeds.is_multiple_of(step) && totals.seeds < count {
            let passed = SystemClock.now() - begin;
            eprintln!(
                "{} of {count} seeds after {} s, {} failed",
                totals.seeds,
                passed.0 / 1_000,
                totals.failures.len()
            );
        }
    });
    for failure in totals.failures.iter().take(SHOWN_MAX) {
        // Equal seeds give equal runs, so the steps need not be kept the first time.
        show(&run(failure.seed, None, Keep::Last(LAST_STEPS)));
    }
    for failure in totals.failures.iter().skip(SHOWN_MAX) {
        if let Some(violation) = &failure.violation {
            println!("seed {} FAILED, checker {}: {}", failure.seed, violation.checker, violation.what);
        }
    }
    println!("{}", faults(&totals.faults));
    println!("each seed had at least {} commands and {} faults", totals.commands_least, totals.faults_least);
    println!("all traces together {:016x}", totals.hash);
    let seconds = (SystemClock.now() - begin).0 as f64 / 1_000.0;
    println!(
        "{} seeds, {} commands, {} operations, {} faults, {} failed, {seconds:.1} s",
        totals.seeds,
        totals.commands,
        totals.operations,
        totals.fault_count(),
        totals.failures.len()
    );
    totals.failures.is_empty()
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
