//! Whose turn it is to write when several processes want to: a lock that is held while waiting for SQLite's own.
//!
//! SQLite's write lock is taken by whoever asks at the right moment, so a process that commits without a pause would
//! starve one that asks now and then. Here the one that waits holds the turn, and the busy one has to queue behind it.

use super::fault;
use crate::{Error, ErrorKind, Result};
use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;
use std::time::Duration;

const PAUSE: Duration = Duration::from_millis(1);
/// A process that is stopped in its turn must not stop the others for ever.
const TRIES_MAX: u32 = 5_000;

/// The file whose lock is the turn.
pub(super) struct Turn(File);

/// The turn, given back when dropped.
pub(super) struct Taken<'a>(&'a File);

impl Turn {
    pub(super) fn new(path: &Path) -> Result<Self> {
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(path);
        file.map(Self).map_err(|error| fault::system(&format!("cannot open {}", path.display()), error))
    }

    /// Waits for the turn.
    pub(super) fn take(&self) -> Result<Taken<'_>> {
        for _ in 0..TRIES_MAX {
            match self.0.try_lock() {
                Ok(()) => return Ok(Taken(&self.0)),
                // Nobody unparks this thread on purpose; an early return only tries earlier.
                Err(TryLockError::WouldBlock) => std::thread::park_timeout(PAUSE),
                Err(TryLockError::Error(error)) => return Err(fault::system("cannot lock the turn file", error)),
            }
        }
        let message = "another process has kept its turn to write for too long: is it stopped?";
        Err(Error::new(ErrorKind::Unavailable, message).unwritten())
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.0.unlock() {
            tracing::warn!(%error, "cannot give the turn to write back");
        }
    }
}
