//! Whose turn it is to write when several processes want to: a lock that is held while waiting for SQLite's own.
//!
//! SQLite's write lock is taken by whoever asks at the right moment, so a process that commits without a pause would
//! starve one that asks now and then. Here the one that waits holds the turn, and the busy one has to queue behind it.

use super::fault;
use crate::{Error, ErrorKind, Result};
use std::cell::Cell;
use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;
use std::time::Duration;

/// Most turns are shorter than a few milliseconds, so the first tries follow each other quickly.
const QUICK_TRIES: u32 = 50;
const QUICK_PAUSE: Duration = Duration::from_micros(100);
const SLOW_PAUSE: Duration = Duration::from_millis(1);
/// Gives up after about five seconds: a process that is stopped in its turn must not stop the others for ever.
const TRIES_MAX: u32 = 5_000;
/// How often something is repeated that gives up after about fifty milliseconds: about five seconds in all.
const ROUNDS_MAX: u32 = 100;

thread_local! {
    /// How often this thread tries for SQLite's locks before it gives up.
    static PATIENCE: Cell<u32> = const { Cell::new(TRIES_MAX) };
}

/// What SQLite asks while another connection holds its lock: rests, and says whether to try again.
pub(super) fn busy(tries: i32) -> bool {
    pause(tries.unsigned_abs(), PATIENCE.get())
}

/// Does something that gives up on SQLite's locks after about fifty milliseconds.
pub(super) fn impatiently<T>(act: impl FnOnce() -> T) -> T {
    PATIENCE.set(2 * QUICK_TRIES);
    let result = act();
    PATIENCE.set(TRIES_MAX);
    result
}

/// Repeats something that gives way to others, until it is done or about five seconds of trying have passed.
pub(super) fn patiently<T>(act: impl Fn() -> Result<T>) -> Result<T> {
    let mut round = 0;
    loop {
        match impatiently(&act) {
            Err(error) if error.kind() == ErrorKind::Unavailable && pause(round, ROUNDS_MAX) => round += 1,
            result => return result,
        }
    }
}

/// Rests before the next try for a lock that another process holds; false when it is time to give up.
fn pause(tries: u32, tries_max: u32) -> bool {
    // Nobody unparks this thread on purpose; an early return only tries earlier.
    std::thread::park_timeout(if tries < QUICK_TRIES { QUICK_PAUSE } else { SLOW_PAUSE });
    tries < tries_max
}

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
        let mut tries = 0;
        loop {
            match self.0.try_lock() {
                Ok(()) => return Ok(Taken(&self.0)),
                Err(TryLockError::WouldBlock) if pause(tries, TRIES_MAX) => tries += 1,
                Err(TryLockError::WouldBlock) => break,
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
