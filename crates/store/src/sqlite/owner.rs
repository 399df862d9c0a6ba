//! Which of the processes that share a file does its background work: the one that holds a lock beside it.

use super::fault;
use crate::{Home, Result};
use parking_lot::{Condvar, Mutex};
use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::watch;

/// How often a process that is not the owner tries to become it.
const TRY_EVERY: Duration = Duration::from_secs(1);

/// The lock beside the file, held or wanted.
pub(super) struct Owner {
    lock: Mutex<Lock>,
    /// Notified when the lock is released or yielded.
    changed: Condvar,
    home: watch::Sender<Home>,
}

enum Lock {
    Wanted(File),
    Held(File),
    /// Left to other processes for this long.
    Yielded(File, Duration),
    Released,
}

impl Owner {
    /// Takes the lock if it is free; [`Owner::wait`] gets it later if it is not.
    pub(super) fn new(path: &Path) -> Result<Arc<Self>> {
        let shown = path.display();
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(path);
        let file = file.map_err(|error| fault::system(&format!("cannot open {shown}"), error))?;
        let lock = Lock::Wanted(file).try_take();
        let (home, _) = watch::channel(lock.home());
        Ok(Arc::new(Self { lock: Mutex::new(lock), changed: Condvar::new(), home }))
    }

    /// Whether this process is the owner, now and later.
    pub(super) fn home(&self) -> watch::Receiver<Home> {
        self.home.subscribe()
    }

    /// Starts trying for the lock in the background, whenever it is wanted.
    pub(super) fn wait(self: &Arc<Self>) -> std::io::Result<JoinHandle<()>> {
        let owner = Arc::clone(self);
        std::thread::Builder::new().name("store-owner".into()).spawn(move || owner.try_until_released())
    }

    /// Leaves the lock to other processes for this long.
    pub(super) fn yield_for(&self, pause: Duration) {
        let mut lock = self.lock.lock();
        let file = match std::mem::replace(&mut *lock, Lock::Released) {
            Lock::Held(file) => file,
            other => {
                *lock = other;
                return;
            }
        };
        // Told first: whoever gets the lock must not find this process at work.
        self.home.send_replace(Home::Nowhere);
        *lock = match file.unlock() {
            Ok(()) => Lock::Yielded(file, pause),
            Err(error) => {
                tracing::warn!(%error, "cannot unlock the owner file");
                self.home.send_replace(Home::Everywhere);
                Lock::Held(file)
            }
        };
        self.changed.notify_all();
    }

    /// Gives the lock up, or stops trying for it.
    pub(super) fn release(&self) {
        *self.lock.lock() = Lock::Released;
        self.home.send_if_modified(|home| std::mem::replace(home, Home::Nowhere) != Home::Nowhere);
        self.changed.notify_all();
    }

    fn try_until_released(&self) {
        let mut lock = self.lock.lock();
        loop {
            match *lock {
                Lock::Released => return,
                Lock::Held(_) => {
                    self.changed.wait(&mut lock);
                    continue;
                }
                Lock::Wanted(_) => {
                    self.changed.wait_for(&mut lock, TRY_EVERY);
                }
                Lock::Yielded(_, pause) => {
                    // Only a release ends the pause early.
                    if !self.changed.wait_for(&mut lock, pause).timed_out() {
                        continue;
                    }
                }
            }
            let before = std::mem::replace(&mut *lock, Lock::Released);
            *lock = before.wanted().try_take();
            if matches!(*lock, Lock::Held(_)) {
                self.home.send_if_modified(|home| std::mem::replace(home, Home::Everywhere) != Home::Everywhere);
            }
        }
    }
}

impl Lock {
    /// Wants the lock again once the time is over for which it was left to others.
    fn wanted(self) -> Self {
        if let Self::Yielded(file, _) = self { Self::Wanted(file) } else { self }
    }

    fn try_take(self) -> Self {
        let Self::Wanted(file) = self else { return self };
        match file.try_lock() {
            Ok(()) => Self::Held(file),
            Err(TryLockError::WouldBlock) => Self::Wanted(file),
            Err(TryLockError::Error(error)) => {
                tracing::warn!(%error, "cannot lock the owner file, trying again");
                Self::Wanted(file)
            }
        }
    }

    fn home(&self) -> Home {
        if matches!(self, Self::Held(_)) { Home::Everywhere } else { Home::Nowhere }
    }
}
