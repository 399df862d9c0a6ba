//! How far a run is, from the files that grow meanwhile.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Counts the lines of all files by what they are, reading only what is new.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    read: BTreeMap<PathBuf, u64>,
    counts: BTreeMap<String, u64>,
}

impl Progress {
    /// Reads what is new in a directory.
    pub(crate) fn look(&mut self, directory: &Path) -> io::Result<()> {
        for entry in std::fs::read_dir(directory)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "jsonl") {
                self.file(path)?;
            }
        }
        Ok(())
    }

    fn file(&mut self, path: PathBuf) -> io::Result<()> {
        let mut file = File::open(&path)?;
        let read = self.read.entry(path).or_default();
        file.seek(SeekFrom::Start(*read))?;
        let mut new = Vec::new();
        file.read_to_end(&mut new)?;
        // A line that is being written is left for the next look.
        let whole = new.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        *read += whole as u64;
        for line in new[..whole].split(|byte| *byte == b'\n') {
            let name = line.strip_prefix(b"{\"is\":\"").and_then(|rest| rest.split(|byte| *byte == b'"').next());
            if let Some(name) = name {
                *self.counts.entry(String::from_utf8_lossy(name).into_owned()).or_default() += 1;
            }
        }
        Ok(())
    }

    /// How many lines of a kind there are.
    pub(crate) fn count(&self, kind: &str) -> u64 {
        self.counts.get(kind).copied().unwrap_or(0)
    }
}

/// The cursor in the last whole line of a reader's file that has one.
pub(crate) fn last_cursor(file: &Path) -> io::Result<Option<String>> {
    let text = String::from_utf8_lossy(&std::fs::read(file)?).into_owned();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    Ok(whole.lines().rev().find_map(|line| {
        let line: serde_json::Value = serde_json::from_str(line).ok()?;
        Some(line.get("cursor")?.as_str()?.to_owned())
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn whole_lines_are_counted_once() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.jsonl");
        let mut file = File::create(&path).unwrap();
        let mut progress = Progress::default();
        let saw = "{\"is\":\"saw\",\"event\":{},\"at\":1,\"cursor\":\"7\"}\n";
        write!(file, "{saw}{{\"is\":\"gap\",\"at\":2}}\n{{\"is\":\"sa").unwrap();
        progress.look(directory.path()).unwrap();
        assert_eq!((progress.count("saw"), progress.count("gap"), progress.count("begun")), (1, 1, 0));
        assert_eq!(last_cursor(&path).unwrap().as_deref(), Some("7"));
        writeln!(file, "w\",\"event\":{{}},\"at\":1,\"cursor\":\"8\"}}").unwrap();
        progress.look(directory.path()).unwrap();
        progress.look(directory.path()).unwrap();
        assert_eq!((progress.count("saw"), progress.count("gap")), (2, 1));
        assert_eq!(last_cursor(&path).unwrap().as_deref(), Some("8"));
    }
}
