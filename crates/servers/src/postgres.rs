//! How a Postgres server is made, started, stopped and asked, with everything on that makes commits durable.

use crate::process::pause;
use crate::{Process, Signal, free_port, program};
use std::io;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// The role that owns the server.
pub const USER: &str = "onward";
/// Its password; connections need one, so that a wrong one can be tried.
pub const PASSWORD: &str = "only for tests";

/// Small and quick to start. Nothing here weakens what a commit survives.
const SETTINGS: [&str; 7] = [
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    "shared_buffers=64MB",
    "max_connections=200",
    "dynamic_shared_memory_type=mmap",
    "logging_collector=off",
    "log_checkpoints=off",
];

/// How a server ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shutdown {
    /// As if it had crashed: the next start recovers.
    Immediate,
    /// Ends every connection, then ends in order.
    Fast,
}

/// A Postgres server with a directory of its own.
#[derive(Debug)]
pub struct Postgres {
    process: Option<Process>,
    port: u16,
    settings: Vec<String>,
    user: Option<(u32, u32)>,
    directory: TempDir,
}

impl Postgres {
    /// Makes and starts a server with further settings, each `name=value`.
    ///
    /// # Errors
    /// When Postgres is not installed or does not start, with what it said.
    pub fn start(settings: &[&str]) -> io::Result<Self> {
        let directory = tempfile::Builder::new().prefix("postgres").tempdir()?;
        let user = service_user()?;
        if let Some((user, group)) = user {
            chown(directory.path(), Some(user), Some(group))?;
        }
        let settings = SETTINGS.iter().chain(settings).map(|&setting| setting.to_owned()).collect();
        let mut server = Self { process: None, port: free_port()?, settings, user, directory };
        server.initialise()?;
        server.resume()?;
        Ok(server)
    }

    /// Where the server can be reached, for the owner of the database `postgres`.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_of(USER, PASSWORD, "postgres")
    }

    /// Where a role reaches a database.
    #[must_use]
    pub fn url_of(&self, user: &str, password: &str, database: &str) -> String {
        format!("postgres://{user}:{}@127.0.0.1:{}/{database}", password.replace(' ', "%20"), self.port)
    }

    /// The directory of the server, which it can read.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Hands a file to the user that the server runs as, which must own its keys.
    ///
    /// # Errors
    /// When the file is not there.
    pub fn own(&self, file: &Path) -> io::Result<()> {
        match self.user {
            Some((user, group)) => chown(file, Some(user), Some(group)),
            None => Ok(()),
        }
    }

    /// Ends the server; its data stays.
    ///
    /// # Errors
    /// When it does not take the signal.
    pub fn stop(&mut self, how: Shutdown) -> io::Result<()> {
        let Some(mut process) = self.process.take() else { return Ok(()) };
        let signal = match how {
            Shutdown::Immediate => Signal::QUIT,
            Shutdown::Fast => Signal::INT,
        };
        process.signal(signal)?;
        process.wait();
        Ok(())
    }

    /// Starts the server again on the same port and data.
    ///
    /// # Errors
    /// When it ends before it is ready, with what it said.
    pub fn resume(&mut self) -> io::Result<()> {
        let log = self.directory.path().join("log");
        let mut args = vec!["-D".to_owned(), self.data().display().to_string(), "-p".to_owned(), self.port.to_string()];
        for setting in &self.settings {
            args.extend(["-c".to_owned(), setting.clone()]);
        }
        let process = Process::start(&program("postgres")?, args, &log, self.user)?;
        while !self.is_ready(process.pid()) {
            if !process.is_alive() {
                let said = std::fs::read_to_string(&log).unwrap_or_default();
                return Err(io::Error::other(format!("Postgres ended before it was ready: {said}")));
            }
            pause();
        }
        self.process = Some(process);
        Ok(())
    }

    /// Stops and starts the server.
    ///
    /// # Errors
    /// As [`Postgres::stop`] and [`Postgres::resume`].
    pub fn restart(&mut self, how: Shutdown) -> io::Result<()> {
        self.stop(how)?;
        self.resume()
    }

    /// Sends the server a signal, for instance to stop it in the middle of what it does.
    ///
    /// # Errors
    /// When it is not running.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        self.process.as_ref().ok_or_else(|| io::Error::other("the server is stopped"))?.signal(signal)
    }

    /// Runs statements in a database as its owner and returns what they printed, unaligned.
    ///
    /// # Errors
    /// What the server said when one of them failed.
    pub fn sql(&self, database: &str, statements: &str) -> io::Result<String> {
        let mut psql = Command::new(program("psql")?);
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-U", USER, "-d", database]);
        psql.arg("-p").arg(self.port.to_string()).arg("-c").arg(statements).env("PGPASSWORD", PASSWORD);
        said(&psql.output()?)
    }

    fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    fn initialise(&self) -> io::Result<()> {
        let password = self.directory.path().join("password");
        std::fs::write(&password, PASSWORD)?;
        let mut initdb = Command::new(program("initdb")?);
        initdb.arg("-D").arg(self.data()).arg("--pwfile").arg(&password);
        initdb.args(["--no-sync", "--no-instructions", "--encoding=UTF8", "--locale=C.UTF-8", "--auth=scram-sha-256"]);
        initdb.args(["-U", USER]).current_dir(self.directory.path());
        if let Some((user, group)) = self.user {
            initdb.uid(user).gid(group);
        }
        said(&initdb.output()?).map(|_| ())
    }

    /// The server writes its state into the eighth line of its pid file.
    fn is_ready(&self, pid: u32) -> bool {
        let state = std::fs::read_to_string(self.data().join("postmaster.pid")).unwrap_or_default();
        let lines: Vec<&str> = state.lines().map(str::trim).collect();
        lines.first().is_some_and(|line| *line == pid.to_string()) && lines.get(7) == Some(&"ready")
    }
}

fn said(output: &Output) -> io::Result<String> {
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned());
    }
    Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim_end().to_owned()))
}

/// Postgres refuses to run as root; root has users that it can start it as.
fn service_user() -> io::Result<Option<(u32, u32)>> {
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    let users = std::fs::read_to_string("/etc/passwd")?;
    let ids = |name: &str| {
        let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2).map(str::parse);
        Some((fields.next()?.ok()?, fields.next()?.ok()?))
    };
    let found = ids("postgres").or_else(|| ids("nobody"));
    found.map(Some).ok_or_else(|| io::Error::other("there is no user to run Postgres as: add one named postgres"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_keeps_its_data_and_its_port() {
        let mut server = Postgres::start(&["work_mem=5MB"]).unwrap();
        let url = server.url();
        server.sql("postgres", "CREATE TABLE kept(n int); INSERT INTO kept VALUES (7)").unwrap();
        for how in [Shutdown::Fast, Shutdown::Immediate] {
            server.restart(how).unwrap();
            assert_eq!(server.sql("postgres", "SELECT n FROM kept").unwrap(), "7", "{how:?}");
        }
        assert_eq!((server.url(), server.sql("postgres", "SHOW work_mem").unwrap()), (url, "5MB".to_owned()));
        assert_eq!(server.sql("postgres", "SHOW fsync").unwrap(), "on");
        assert!(server.sql("postgres", "SELECT nonsense").unwrap_err().to_string().contains("nonsense"));
    }
}
