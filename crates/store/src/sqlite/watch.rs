//! When another process may have committed: soon after the WAL file changes, which the writer then confirms.
//!
//! A change of the file is seen before the commit that causes it can be read, since the sync comes in between. So the
//! thread looks a little later, and then at growing intervals for about a second before it sleeps in the kernel until the
//! next change; a change also ends the longer intervals. Own commits change the file too, but each of them looks by itself;
//! while they go on, this thread only rests.

use super::SqliteState;
use super::writer::Request;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::mpsc;

pub(super) use system::Stop;
use system::{BUSY, DEAF, RESTS};

/// Starts watching; the stop ends it.
pub(super) fn start(
    wal: &Path,
    requests: mpsc::Sender<Request>,
    stop: Arc<Stop>,
    state: Arc<SqliteState>,
) -> std::io::Result<JoinHandle<()>> {
    let changes = system::Changes::of(wal)?;
    std::thread::Builder::new().name("store-watch".into()).spawn(move || {
        if let Err(error) = follow(&changes, &requests, &stop, &state) {
            tracing::warn!(%error, "cannot watch the WAL file, so other processes' commits are noticed late");
        }
    })
}

fn follow(
    changes: &system::Changes,
    requests: &mpsc::Sender<Request>,
    stop: &Stop,
    state: &SqliteState,
) -> std::io::Result<()> {
    let mut seen_looks = 0;
    // The first round covers what was committed while the watch was being set up.
    let mut step = 0;
    loop {
        // Changes that follow each other closely are one reason to look.
        match changes.rest(stop, RESTS.get(step).copied(), step >= DEAF)? {
            Rested::Stopped => return Ok(()),
            Rested::Changed => {
                step = 0;
                continue;
            }
            Rested::Over => {}
        }
        let changed = changes.take()?;
        let looks = state.looks.load(Ordering::Relaxed);
        let writing = std::mem::replace(&mut seen_looks, looks) != looks;
        if !writing {
            // When the queue is full the writer is at work, and looks by itself.
            let _ = requests.try_send(Request::Probe);
        }
        step = next(step, changed, writing);
    }
}

/// How a rest ended.
#[derive(Debug, PartialEq, Eq)]
enum Rested {
    /// The store is closed.
    Stopped,
    /// The file changed.
    Changed,
    /// All of it has passed.
    Over,
}

/// The rest that follows a look: the file changed before it or did not, and this process was writing or was not.
fn next(step: usize, changed: bool, writing: bool) -> usize {
    match (changed, writing) {
        (true, false) => 0,
        (true, true) => BUSY,
        (false, _) => step + 1,
    }
}

#[cfg(target_os = "linux")]
mod system {
    use super::{Duration, Path, Rested};
    use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
    use rustix::fd::OwnedFd;
    use rustix::fs::inotify;
    use rustix::io::{Errno, Result};

    /// How long to rest before each look after a change: about as long again as since the change, so that a commit is
    /// noticed soon after its sync, however long the disk takes.
    pub(super) const RESTS: [Duration; 8] = [
        Duration::from_millis(1),
        Duration::from_millis(2),
        Duration::from_millis(5),
        Duration::from_millis(12),
        Duration::from_millis(30),
        Duration::from_millis(80),
        Duration::from_millis(250),
        Duration::from_millis(650),
    ];
    /// Where to go on in [`RESTS`] while this process itself is writing.
    pub(super) const BUSY: usize = 2;
    /// How many of the first [`RESTS`] no change ends, so that a busy file is not looked at for each of its changes.
    pub(super) const DEAF: usize = 3;

    /// Ends the watch from another thread.
    pub(in super::super) struct Stop(OwnedFd);

    impl Stop {
        pub(in super::super) fn new() -> std::io::Result<Self> {
            Ok(Self(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
        }

        pub(in super::super) fn stop(&self) {
            let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
        }
    }

    /// Changes of one file, as the kernel reports them.
    pub(super) struct Changes(OwnedFd);

    impl Changes {
        pub(super) fn of(path: &Path) -> std::io::Result<Self> {
            let events = inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK)?;
            inotify::add_watch(&events, path, inotify::WatchFlags::MODIFY)?;
            Ok(Self(events))
        }

        /// Rests, without a limit until the file changes; with one, a change ends it only if it `listens`.
        pub(super) fn rest(&self, stop: &Stop, limit: Option<Duration>, listens: bool) -> std::io::Result<Rested> {
            let limit = limit.map(Timespec::try_from).transpose().map_err(std::io::Error::other)?;
            let mut fds = [PollFd::new(&stop.0, PollFlags::IN), PollFd::new(&self.0, PollFlags::IN)];
            let listened = if listens || limit.is_none() { &mut fds[..] } else { &mut fds[..1] };
            let woken = wait(listened, limit.as_ref())?;
            Ok(match woken {
                0 => Rested::Over,
                _ if fds[0].revents().is_empty() => Rested::Changed,
                _ => Rested::Stopped,
            })
        }

        /// Whether the file changed since the last call.
        pub(super) fn take(&self) -> std::io::Result<bool> {
            let mut buffer = [0_u8; 1024];
            let mut changed = false;
            loop {
                match rustix::io::read(&self.0, &mut buffer) {
                    Ok(0) | Err(Errno::AGAIN) => return Ok(changed),
                    Ok(_) => changed = true,
                    Err(Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
    }

    fn wait(fds: &mut [PollFd<'_>], limit: Option<&Timespec>) -> Result<usize> {
        loop {
            match poll(fds, limit) {
                Err(Errno::INTR) => {}
                found => return found,
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use super::{Duration, Path, Rested};
    use parking_lot::{Condvar, Mutex};

    /// Without a way to be told about changes, there is a look after each rest, for ever.
    pub(super) const RESTS: [Duration; 1] = [Duration::from_millis(25)];
    pub(super) const BUSY: usize = 0;
    pub(super) const DEAF: usize = 1;

    /// Ends the watch from another thread.
    pub(in super::super) struct Stop(Mutex<bool>, Condvar);

    impl Stop {
        pub(in super::super) fn new() -> std::io::Result<Self> {
            Ok(Self(Mutex::new(false), Condvar::new()))
        }

        pub(in super::super) fn stop(&self) {
            *self.0.lock() = true;
            self.1.notify_all();
        }

        /// Rests; whether the stop came meanwhile.
        pub(super) fn within(&self, rest: Duration) -> std::io::Result<bool> {
            let mut stopped = self.0.lock();
            // Only a stop notifies, and there are no spurious wakeups.
            if !*stopped {
                self.1.wait_for(&mut stopped, rest);
            }
            Ok(*stopped)
        }
    }

    /// Nothing tells about changes here.
    pub(super) struct Changes;

    impl Changes {
        pub(super) fn of(_path: &Path) -> std::io::Result<Self> {
            Ok(Self)
        }

        pub(super) fn rest(&self, stop: &Stop, limit: Option<Duration>, _listens: bool) -> std::io::Result<Rested> {
            // Nothing tells about changes, so there is always a reason to look.
            let Some(limit) = limit else { return Ok(Rested::Changed) };
            Ok(if stop.within(limit)? { Rested::Stopped } else { Rested::Over })
        }

        pub(super) fn take(&self) -> std::io::Result<bool> {
            Ok(false)
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// Longer than any test may take: what waits for it never ends by itself.
    const AN_HOUR: Duration = Duration::from_secs(3_600);

    #[test]
    fn a_change_ends_a_long_rest_and_no_short_one() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let (changes, stop) = (system::Changes::of(file.path()).unwrap(), Stop::new().unwrap());
        std::fs::write(file.path(), "one").unwrap();
        assert_eq!(changes.rest(&stop, Some(Duration::from_millis(1)), false).unwrap(), Rested::Over);
        assert_eq!(changes.rest(&stop, Some(AN_HOUR), true).unwrap(), Rested::Changed);
        assert!(changes.take().unwrap() && !changes.take().unwrap());
        assert_eq!(changes.rest(&stop, Some(Duration::from_millis(1)), true).unwrap(), Rested::Over);
        std::fs::write(file.path(), "two").unwrap();
        assert_eq!(changes.rest(&stop, None, false).unwrap(), Rested::Changed);
        stop.stop();
        assert_eq!(changes.rest(&stop, Some(AN_HOUR), false).unwrap(), Rested::Stopped);
        assert_eq!(changes.rest(&stop, None, true).unwrap(), Rested::Stopped);
    }

    #[test]
    fn looks_begin_again_with_each_change_and_end_without_one() {
        assert!(
            (0..RESTS.len()).all(|step| next(step, false, false) == step + 1),
            "then it sleeps until the next change"
        );
        assert!((0..RESTS.len()).all(|step| next(step, true, false) == 0 && next(step, true, true) == BUSY));
        assert!(BUSY < DEAF && DEAF < RESTS.len(), "own commits end no rest, those of others end the long ones");
    }
}
