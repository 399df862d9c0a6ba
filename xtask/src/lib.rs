//! What the compiler cannot check about this repository: sizes, layers, words, links and documented error codes.
//!
//! [`tidy`] reads the repository once and hands it to every check in `checks/`, one small file each.

mod cargo;
mod checks;
mod finding;
pub mod lines;
mod rust;
pub mod suite;
mod tree;
mod words;

pub use finding::{Finding, Report};

use std::io;
use std::path::{Path, PathBuf};

/// The root of the repository in which cargo runs this program.
#[must_use]
pub fn root() -> PathBuf {
    // Two clones may share a target folder, and then the path at build time is that of the other one.
    let running = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let package = running.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")));
    package.parent().unwrap_or(&package).to_path_buf()
}

/// Runs every check on the repository at `root`.
///
/// # Errors
///
/// When a folder or file of the repository cannot be read.
pub fn tidy(root: &Path) -> io::Result<Report> {
    let tree = tree::Tree::read(root)?;
    let mut report = Report { files: tree.files.len(), ..Report::default() };
    for check in checks::ALL {
        report.findings.extend(check(&tree));
    }
    report.findings.sort();
    report.notes = checks::file_length::notes(&tree);
    Ok(report)
}
