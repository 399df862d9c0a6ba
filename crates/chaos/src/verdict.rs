//! Whether a run is over, and what the checker says of its history.

use onward_core::record::Outcome;
use onward_core::{Namespace, index};
use onward_store::{Cursor, IndexName, Partitions, Store};
use std::io;
use std::path::Path;
use std::process::Command;

/// The name of the program that judges, which is built beside this one.
const CHECKER: &str = "onward-checker";
/// No run has more executions.
const COUNT_MAX: u64 = 100_000_000;
/// The longest stretch of the feed that is looked at to see whether the reader is behind.
const UNREAD_MAX: usize = 500;

/// What came of a run.
#[derive(Debug)]
pub(crate) struct Verdict {
    /// Whether every promise was kept.
    pub(crate) held: bool,
    /// The run in one line.
    pub(crate) summary: String,
}

/// How many executions have not ended.
pub(crate) async fn unfinished(store: &dyn Store) -> io::Result<u64> {
    let namespace = Namespace::default();
    let count = async |name: String| {
        let counted = store.count(&IndexName::new(name), &Partitions::All, COUNT_MAX).await;
        counted.map(|count| count.n).map_err(io::Error::other)
    };
    let mut ended = 0;
    for outcome in [Outcome::Success, Outcome::Failed, Outcome::Cancelled, Outcome::Expired] {
        ended += count(index::ended(&namespace, outcome.as_str())).await?;
    }
    // Work that ends meanwhile is in both counts, and nothing is taken away.
    Ok(count(index::list(&namespace)).await?.saturating_sub(ended))
}

/// How many commits told something behind a cursor, as far as that matters.
pub(crate) async fn unread(store: &dyn Store, cursor: Option<&str>) -> io::Result<u64> {
    let cursor = cursor.map_or_else(Cursor::start, onward::engine::store_cursor);
    let page = store.read_feed(&cursor, UNREAD_MAX).await.map_err(io::Error::other)?;
    Ok(page.events.len() as u64)
}

/// Has the history judged and prints what the checker says.
pub(crate) fn judge(directory: &Path) -> io::Result<Verdict> {
    let program = std::env::current_exe()?.with_file_name(CHECKER);
    if !program.is_file() {
        return Err(io::Error::other(format!("{CHECKER} is not built: cargo build -p {CHECKER}")));
    }
    let output = Command::new(program).arg(directory).output()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    print!("{said}{}", String::from_utf8_lossy(&output.stderr));
    let summary = said.lines().last().unwrap_or_default().to_owned();
    Ok(Verdict { held: output.status.success(), summary })
}
