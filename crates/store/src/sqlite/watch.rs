//! When another process may have committed: soon after the WAL file changes, which the writer then confirms.
//!
//! A change of the file is seen before the commit that causes it can be read, since the sync comes in between. So the
//! thread looks a little later, and then at growing intervals for about a second before it sleeps in the kernel again.
//! Own commits change the file too, but each of them looks anyway; while they go on, this thread only rests.

use super::SqliteState;
use super::writer::Request;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::mpsc;

pub(super) use system::Stop;
use system::{BUSY, RESTS};

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
    let mut next = Some(0);
    loop {
        let Some(step) = next else {
            if changes.wait(stop)? {
                return Ok(());
            }
            next = Some(0);
            continue;
        };
        if stop.within(RESTS[step])? {
            return Ok(());
        }
        let changed = changes.take()?;
        let looks = state.looks.load(Ordering::Relaxed);
        let writing = std::mem::replace(&mut seen_looks, looks) != looks;
        if !writing {
            // When the queue is full the writer is at work, and looks by itself.
            let _ = requests.try_send(Request::Probe);
        }
        next = match (changed, writing) {
            (true, false) => Some(0),
            (true, true) => Some(BUSY),
            (false, _) => Some(step + 1).filter(|step| *step < RESTS.len()),
        };
    }
}

#[cfg(target_os = "linux")]
mod system {
    use super::{Duration, Path};
    use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
    use rustix::fd::OwnedFd;
    use rustix::fs::inotify;
    use rustix::io::{Errno, Result};

    /// How long to rest before each look after a change.
    pub(super) const RESTS: [Duration; 6] = [
        Duration::from_millis(1),
        Duration::from_millis(5),
        Duration::from_millis(20),
        Duration::from_millis(80),
        Duration::from_millis(300),
        Duration::from_millis(1000),
    ];
    /// Where to go on in [`RESTS`] while this process itself is writing.
    pub(super) const BUSY: usize = 1;

    /// Ends the watch from another thread.
    pub(in super::super) struct Stop(OwnedFd);

    impl Stop {
        pub(in super::super) fn new() -> std::io::Result<Self> {
            Ok(Self(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
        }

        pub(in super::super) fn stop(&self) {
            let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
        }

        /// Rests; whether the stop came meanwhile.
        pub(super) fn within(&self, rest: Duration) -> std::io::Result<bool> {
            let rest = Timespec::try_from(rest).map_err(std::io::Error::other)?;
            Ok(wait(&mut [PollFd::new(&self.0, PollFlags::IN)], Some(&rest))? > 0)
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

        /// Sleeps until the file changes; true when the stop came first.
        pub(super) fn wait(&self, stop: &Stop) -> std::io::Result<bool> {
            let mut fds = [PollFd::new(&stop.0, PollFlags::IN), PollFd::new(&self.0, PollFlags::IN)];
            wait(&mut fds, None)?;
            Ok(!fds[0].revents().is_empty())
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
    use super::{Duration, Path};
    use parking_lot::{Condvar, Mutex};

    /// Without a way to be told about changes, there is a look after each rest, for ever.
    pub(super) const RESTS: [Duration; 1] = [Duration::from_millis(25)];
    pub(super) const BUSY: usize = 0;

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

        pub(super) fn wait(&self, stop: &Stop) -> std::io::Result<bool> {
            stop.within(Duration::ZERO)
        }

        pub(super) fn take(&self) -> std::io::Result<bool> {
            Ok(false)
        }
    }
}
