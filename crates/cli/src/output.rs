//! How things are printed: to a pipe that may be closed, in colour where a person looks, and logs on request.

use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use tracing_subscriber::EnvFilter;

/// Why something could not be printed, the first time it happened.
static LOST: OnceLock<String> = OnceLock::new();
static CLOSED: AtomicBool = AtomicBool::new(false);

/// Prints a text and a line end. A reader that has gone away is no reason to fail, and anything else is one.
pub(crate) fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    match writeln!(out, "{}", text.trim_end()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => CLOSED.store(true, Ordering::Relaxed),
        Err(error) => {
            LOST.get_or_init(|| error.to_string());
        }
        Ok(()) => {}
    }
}

/// Whether the reader has gone away, so that there is no point in printing more.
pub(crate) fn closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

/// Why a part of the answer could not be printed, if so.
pub(crate) fn lost() -> Option<&'static str> {
    LOST.get().map(String::as_str)
}

/// The same, to standard error.
pub(crate) fn print_error(text: &str) {
    let _closed = writeln!(std::io::stderr().lock(), "{text}").is_err();
}

/// Whether to use colour: only for a person, and not for one who asked for none.
pub(crate) fn in_colour() -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    std::io::stdout().is_terminal() && !refused
}

/// Logs to standard error as verbosely as asked.
pub(crate) fn log(verbose: u8) {
    if let Some(level) = level(verbose) {
        let lines = tracing_subscriber::fmt().with_env_filter(EnvFilter::new(level)).with_writer(std::io::stderr);
        lines.with_ansi(std::io::stderr().is_terminal()).init();
    }
}

/// Log level for the number of times `--verbose` was given.
pub(crate) fn level(verbose: u8) -> Option<&'static str> {
    match verbose {
        0 => None,
        1 => Some("info"),
        2 => Some("debug"),
        _ => Some("trace"),
    }
}
