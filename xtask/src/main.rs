//! The command line of the repository's own tools: `cargo run -p xtask -- tidy`.

use std::process::ExitCode;

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("tidy") if std::env::args().len() == 2 => tidy(),
        _ => {
            eprintln!("usage: cargo run -p xtask -- tidy");
            ExitCode::from(2)
        }
    }
}

fn tidy() -> ExitCode {
    let report = match xtask::tidy(&xtask::root()) {
        Ok(report) => report,
        Err(error) => {
            eprintln!("tidy: cannot read the repository: {error}");
            return ExitCode::from(2);
        }
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
