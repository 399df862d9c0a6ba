//! How a server is started, signalled and ended, so that none outlives the program that started it.

use rustix::process::{Pid, kill_process};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

pub use rustix::process::Signal;

/// Starts the server, tells its pid, and ends it when standard input closes: also when our own process was killed.
const KEEPER: &str = r#"exec 3>&1; "$@" </dev/null >&2 3>&- & server=$!; echo "$server" >&3; exec 3>&-
read -r _; kill -KILL "$server" 2>/dev/null; wait "$server""#;

/// Where Debian keeps the programs of each version of Postgres.
const POSTGRES: &str = "/usr/lib/postgresql";

/// A running server, killed when this is dropped.
#[derive(Debug)]
pub struct Process {
    pid: Pid,
    keeper: Child,
    /// Held open for as long as the server may live.
    hold: Option<ChildStdin>,
}

impl Process {
    /// Starts a program with its output in a file, as this user when one is given.
    ///
    /// # Errors
    /// Whatever keeps a program from starting.
    pub fn start<A: AsRef<OsStr>>(
        program: &Path,
        args: impl IntoIterator<Item = A>,
        log: &Path,
        user: Option<(u32, u32)>,
    ) -> io::Result<Self> {
        let mut command = Command::new("sh");
        command.arg("-c").arg(KEEPER).arg("sh").arg(program).args(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(File::create(log)?);
        if let Some((user, group)) = user {
            command.uid(user).gid(group);
        }
        if let Some(directory) = log.parent() {
            command.current_dir(directory);
        }
        // A group of its own: an interrupt from the terminal reaches us first, and we end the server.
        let mut keeper = command.process_group(0).spawn()?;
        let hold = keeper.stdin.take();
        let told = keeper.stdout.take().ok_or_else(|| io::Error::other("the keeper has no output"))?;
        let mut line = String::new();
        BufReader::new(told).read_line(&mut line)?;
        let pid = line.trim().parse().ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| io::Error::other(format!("{} did not start", program.display())))?;
        Ok(Self { pid, keeper, hold })
    }

    /// The pid of the server itself.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// Sends the server a signal.
    ///
    /// # Errors
    /// When the server has ended already.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        Ok(kill_process(self.pid, signal)?)
    }

    /// Whether the server still runs.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        let state = std::fs::read_to_string(format!("/proc/{}/stat", self.pid()));
        // The state follows the name, which is in parentheses and may hold anything.
        state.is_ok_and(|stat| stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z')))
    }

    /// Waits until the server has ended by itself or by a signal.
    pub fn wait(&mut self) {
        while self.is_alive() {
            std::thread::yield_now();
            pause();
        }
    }
}

/// A short rest while something outside of our control comes about.
pub(crate) fn pause() {
    #[allow(clippy::disallowed_methods)]
    // Other programs tell nobody when they are ready; only asking again does.
    std::thread::sleep(std::time::Duration::from_millis(5));
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.hold.take());
        // The keeper ends once the server has.
        let _ = self.keeper.wait();
    }
}

/// A port that nothing listens on at this moment.
///
/// # Errors
/// When the loopback interface has none.
pub fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// Where a program is: on the path, or among Debian's programs of Postgres, newest version first.
///
/// # Errors
/// When it is not installed, with what to do about it.
pub fn program(name: &str) -> io::Result<PathBuf> {
    let on_path = std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect::<Vec<_>>());
    let mut versions: Vec<PathBuf> = std::fs::read_dir(POSTGRES)
        .map(|found| found.flatten().map(|version| version.path().join("bin")).collect())
        .unwrap_or_default();
    versions.sort();
    let mut places = on_path.into_iter().flatten().chain(versions.into_iter().rev());
    places.find_map(|place| Some(place.join(name)).filter(|file| file.is_file())).ok_or_else(|| {
        let message = format!("{name} is not installed: `make deps` installs what the tests need");
        io::Error::new(io::ErrorKind::NotFound, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_ends_with_its_owner_and_tells_its_state() {
        let directory = tempfile::tempdir().unwrap();
        let sleep = program("sleep").unwrap();
        let log = directory.path().join("log");
        let first = Process::start(&sleep, ["600"], &log, None).unwrap();
        let pid = first.pid();
        assert!(first.is_alive());
        drop(first);
        assert!(!Path::new(&format!("/proc/{pid}")).exists());
        let mut second = Process::start(&sleep, ["600"], &log, None).unwrap();
        second.signal(Signal::TERM).unwrap();
        second.wait();
        assert!(!second.is_alive());
    }

    #[test]
    fn a_missing_program_says_what_to_do() {
        let error = program("no-such-server").unwrap_err();
        assert!(error.to_string().contains("make deps"), "{error}");
    }
}
