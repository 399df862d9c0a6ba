//! A wall clock of its own for one process, which the driver sets while the process runs.

use crate::driver::Run;
use std::io;
use std::path::{Path, PathBuf};

/// Where Debian's package `faketime` puts its library, below the directory of the machine's kind.
const LIBRARY: &str = "faketime/libfaketimeMT.so.1";
/// The file that says how far the clock is off.
const FILE: &str = "clock";

/// The library, wherever this kind of machine has it.
fn library() -> io::Result<PathBuf> {
    let found = std::fs::read_dir("/usr/lib")?.flatten().map(|entry| entry.path().join(LIBRARY));
    let mut found = found.filter(|file| file.is_file());
    found.next().ok_or_else(|| io::Error::other("libfaketime is not installed: `make deps` installs what is needed"))
}

impl Run<'_> {
    /// What a process needs to have a wall clock that [`Run::set_clock`] moves. Its monotonic clock stays as it is.
    pub(crate) fn own_clock(&mut self) -> io::Result<Vec<(String, String)>> {
        if !self.directory().join(FILE).exists() {
            self.set_clock("+0")?;
        }
        let text = |path: &Path| path.display().to_string();
        let variables = [
            ("LD_PRELOAD", text(&library()?)),
            ("FAKETIME_TIMESTAMP_FILE", text(&self.directory().join(FILE))),
            ("FAKETIME_NO_CACHE", "1".to_owned()),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
            ("DONT_FAKE_MONOTONIC", "1".to_owned()),
        ];
        Ok(variables.map(|(name, value)| (name.to_owned(), value)).to_vec())
    }

    /// Moves that clock to so many seconds from the right time. The file is exchanged whole: it is read at any moment.
    pub(crate) fn set_clock(&mut self, seconds: &str) -> io::Result<()> {
        let (file, new) = (self.directory().join(FILE), self.directory().join("clock.new"));
        std::fs::write(&new, format!("{seconds}\n"))?;
        std::fs::rename(new, file)
    }
}
