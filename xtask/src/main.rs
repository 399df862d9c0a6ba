//! The command line of the repository's own tools: `tidy`, `suite` and `lines`.

use std::process::ExitCode;

const USAGE: &str = "usage: cargo run -p xtask -- COMMAND
  tidy                                check the repository's own rules
  suite [--serverless] [--jobs N]     run the tests, N programs at a time (3), and name the slowest
  lines [COMMIT]                      count lines of code by crate, now and at COMMIT (HEAD~1)";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["tidy"] => tidy(),
        ["suite", ref options @ ..] => suite_options(options).map_or_else(usage, |options| suite(&options)),
        ["lines"] => lines("HEAD~1"),
        ["lines", commit] => lines(commit),
        _ => usage(),
    }
}

fn usage() -> ExitCode {
    eprintln!("{USAGE}");
    ExitCode::from(2)
}

fn suite_options(mut args: &[&str]) -> Option<xtask::suite::Options> {
    let mut options = xtask::suite::Options { serverless: false, jobs: 3 };
    loop {
        args = match args {
            [] => return Some(options),
            ["--serverless", rest @ ..] => {
                options.serverless = true;
                rest
            }
            ["--jobs", number, rest @ ..] => {
                options.jobs = number.parse().ok().filter(|jobs| *jobs > 0)?;
                rest
            }
            _ => return None,
        };
    }
}

fn suite(options: &xtask::suite::Options) -> ExitCode {
    match xtask::suite::run(&xtask::root(), options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => failed("suite", &error),
    }
}

fn lines(commit: &str) -> ExitCode {
    match xtask::lines::table(&xtask::root(), commit) {
        Ok(table) => {
            print!("{table}");
            ExitCode::SUCCESS
        }
        Err(error) => failed("lines", &error),
    }
}

fn tidy() -> ExitCode {
    let report = match xtask::tidy(&xtask::root()) {
        Ok(report) => report,
        Err(error) => return failed("tidy", &error),
    };
    for note in &report.notes {
        println!("note: {note}");
    }
    for finding in &report.findings {
        println!("{finding}");
    }
    println!("{}", report.summary());
    if report.findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn failed(command: &str, error: &std::io::Error) -> ExitCode {
    eprintln!("{command}: {error}");
    ExitCode::from(2)
}
