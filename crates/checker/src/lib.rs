//! Whether a written history of a run kept every promise; it knows the format of the lines and nothing of the engine.
//!
//! A history is a directory of files with one JSON object on each line, as [`Line`] describes them. Each file belongs to
//! one process and is named after it. [`check`] reads all of them and answers a [`Report`].

mod checks;
mod event;
mod history;
mod line;
mod report;
mod wait_lines;

pub use event::Event;
pub use history::History;
pub use line::{Line, Losses, Plan};
pub use report::{Check, Report};
pub use wait_lines::{Accepted, Answered, NotTaken, Opened, Over, Script, Told, Waited};

use std::io;
use std::path::Path;

/// Reads a history and judges it.
///
/// # Errors
/// When the directory cannot be read or holds no plan.
pub fn check(directory: &Path) -> io::Result<Report> {
    Ok(checks::all(&History::read(directory)?))
}
