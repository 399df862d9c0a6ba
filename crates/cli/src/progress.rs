//! How far long work is: a bar where a person looks, a line now and then where a log is kept.

use crate::output;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::time::Duration;

/// How much work passes between two lines of a log.
const LOGGED_EVERY: u64 = 100_000;
/// How often a sign of life is given while nothing is counted.
const TICK: Duration = Duration::from_millis(120);

/// Tells how far long work is, on standard error.
pub(crate) struct Progress {
    what: &'static str,
    total: Option<u64>,
    bar: Option<ProgressBar>,
    quiet: bool,
    logged: u64,
}

impl Progress {
    /// Work that is `total` long if that is known; said to nobody when it is to be quiet.
    pub(crate) fn new(what: &'static str, total: Option<u64>, quiet: bool) -> Self {
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| bar(what, total));
        Self { what, total, bar, quiet, logged: 0 }
    }

    /// So much is done.
    pub(crate) fn at(&mut self, done: u64, message: &str) {
        match &self.bar {
            Some(bar) => {
                bar.set_position(done);
                bar.set_message(message.to_owned());
            }
            None if !self.quiet && done >= self.logged + LOGGED_EVERY => {
                self.logged = done;
                let of = self.total.map(|total| format!(" of {total}")).unwrap_or_default();
                output::print_error(&format!("{}: {done}{of}; {message}", self.what));
            }
            None => {}
        }
    }

    /// It is over; what was drawn goes.
    pub(crate) fn end(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

fn bar(what: &'static str, total: Option<u64>) -> ProgressBar {
    let (bar, look) = match total {
        Some(total) => (ProgressBar::new(total), "{prefix} {wide_bar} {pos}/{len} {per_sec}, {eta} left  {msg}"),
        None => (ProgressBar::new_spinner(), "{prefix} {spinner} {per_sec}  {msg}"),
    };
    if let Ok(style) = ProgressStyle::with_template(look) {
        bar.set_style(style);
    }
    bar.set_prefix(what);
    bar.enable_steady_tick(TICK);
    bar
}
