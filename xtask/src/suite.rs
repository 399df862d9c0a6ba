//! `xtask suite`: builds every test program once, runs several beside each other, and names the slowest tests.
//!
//! `cargo test` runs one program after the other. Most of ours wait for disks and servers for much of their time, so two or
//! three beside each other use the processors better. Each test still runs inside its own program, which is what lets its
//! tests share one server.

mod build;
mod outcome;
mod pool;

use outcome::Outcome;
use std::io;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// How many of the slowest tests are printed.
const SLOWEST: usize = 10;

/// Which tests run, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Only tests that need no server.
    pub serverless: bool,
    /// Programs that run at the same time.
    pub jobs: usize,
}

/// Names of tests and programs that need a server.
const SERVERS: [&str; 4] = ["postgres", "valkey", "redis", "cluster"];

/// Runs the tests and prints their results; `true` when all passed.
///
/// # Errors
/// When the tests cannot be built or started.
pub fn run(root: &Path, options: &Options) -> io::Result<bool> {
    let began = now();
    let Some(mut programs) = build::test_programs(root)? else { return Ok(false) };
    let built = began.elapsed();
    if options.serverless {
        programs.retain(|program| !needs_server(&program.name) && program.package != "onward-chaos");
    }
    let skipped: &[&str] = if options.serverless { &SERVERS } else { &[] };
    let mut outcomes = pool::run(programs, skipped, options.jobs, print);
    if !options.serverless {
        let documented = documented(root)?;
        print(&documented);
        outcomes.push(documented);
    }
    summarise(&outcomes, built, began.elapsed());
    Ok(outcomes.iter().all(Outcome::is_ok))
}

/// The only clock of this program, which measures real programs.
#[allow(clippy::disallowed_methods)]
fn now() -> Instant {
    Instant::now()
}

fn needs_server(name: &str) -> bool {
    SERVERS.iter().any(|server| name.contains(server))
}

/// The examples in documentation, which cargo builds and runs by itself.
fn documented(root: &Path) -> io::Result<Outcome> {
    let began = now();
    let mut command = Command::new(build::cargo());
    let output =
        command.current_dir(root).args(["test", "--locked", "--workspace", "--all-features", "--doc"]).output()?;
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    Ok(Outcome::of_text("documentation", text, output.status.success(), began.elapsed()))
}

fn print(outcome: &Outcome) {
    println!("{}", outcome.line());
    if !outcome.is_ok() {
        println!("{}", outcome.failures());
    }
}

fn summarise(outcomes: &[Outcome], built: Duration, whole: Duration) {
    let mut slowest: Vec<_> = outcomes.iter().flat_map(Outcome::timed).collect();
    slowest.sort_by(|one, other| other.0.total_cmp(&one.0));
    println!("\nslowest tests:");
    for (seconds, program, test) in slowest.iter().take(SLOWEST) {
        println!("{seconds:>7.1} s  {program} {test}");
    }
    let failed: Vec<String> = outcomes.iter().flat_map(Outcome::failed_tests).collect();
    if !failed.is_empty() {
        println!("\nfailed tests:\n    {}", failed.join("\n    "));
    }
    let passed: u64 = outcomes.iter().map(|outcome| outcome.passed).sum();
    println!("\nbuilt in {:.0} s, all in {:.0} s", built.as_secs_f64(), whole.as_secs_f64());
    println!("tests: {passed} passed, {} failed", failed.len());
}
