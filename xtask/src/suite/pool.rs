//! Runs test programs, several at a time, those that take longest first.

use super::build::{Program, cargo};
use super::outcome::Outcome;
use std::collections::VecDeque;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError, mpsc};

/// The programs that take longest, so that no single one is left at the end.
const FIRST: [&str; 6] = [
    "onward-chaos",
    "onward-store stores",
    "onward scenarios",
    "onward-engine scenarios",
    "onward-cli cli",
    "onward-server http",
];

/// Runs all programs and hands each outcome over as it is there; the outcomes come in the order in which they ended.
pub(super) fn run(
    mut programs: Vec<Program>,
    skipped: &[&str],
    jobs: usize,
    mut seen: impl FnMut(&Outcome),
) -> Vec<Outcome> {
    programs
        .sort_by_key(|program| FIRST.iter().position(|first| title(program).starts_with(first)).unwrap_or(FIRST.len()));
    let queue = Mutex::new(VecDeque::from(programs));
    let (sender, ended) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            let (queue, sender) = (&queue, sender.clone());
            scope.spawn(move || {
                while let Some(program) = take(queue) {
                    if sender.send(execute(&program, skipped)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        ended.into_iter().inspect(|outcome| seen(outcome)).collect()
    })
}

fn take(queue: &Mutex<VecDeque<Program>>) -> Option<Program> {
    queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
}

fn title(program: &Program) -> String {
    format!("{} {}", program.package, program.name)
}

fn execute(program: &Program, skipped: &[&str]) -> Outcome {
    let began = super::now();
    let mut command = Command::new(&program.path);
    command.current_dir(&program.folder).stdin(Stdio::null());
    command.env("CARGO", cargo()).env("CARGO_MANIFEST_DIR", &program.folder);
    // Events with times are what libtest calls unstable; this variable lets a stable toolchain print them.
    command.env("RUSTC_BOOTSTRAP", "1").args(["-Z", "unstable-options", "--format", "json", "--report-time"]);
    for name in skipped {
        command.args(["--skip", name]);
    }
    match command.output() {
        Ok(output) => {
            let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
            if !output.status.success() {
                text.push_str(&String::from_utf8_lossy(&output.stderr));
            }
            Outcome::of_events(&title(program), &text, output.status.success(), began.elapsed())
        }
        Err(error) => {
            Outcome::of_events(&title(program), &format!("it does not start: {error}"), false, began.elapsed())
        }
    }
}
