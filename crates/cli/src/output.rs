//! How things are printed: to a pipe that may be closed, in colour where a person looks, and logs on request.

use std::io::{IsTerminal, Write};
use tracing_subscriber::EnvFilter;

/// Prints a text and a line end. A reader that has gone away is no reason to fail.
pub(crate) fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let _closed = writeln!(out, "{}", text.trim_end()).and_then(|()| out.flush()).is_err();
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
    let level = match verbose {
        0 => return,
        1 => "info",
        2 => "debug",
        _ => "trace",
    };
    let builder = tracing_subscriber::fmt().with_env_filter(EnvFilter::new(level));
    builder.with_writer(std::io::stderr).with_ansi(std::io::stderr().is_terminal()).init();
}
