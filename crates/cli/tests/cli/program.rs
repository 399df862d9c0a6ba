//! Runs the program, to its end or in the background.

use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// Long enough that only a test that hangs notices.
const HANG: Duration = Duration::from_secs(120);

/// A folder with a store of its own.
pub(crate) struct Workdir {
    folder: tempfile::TempDir,
}

/// What a run ended with.
pub(crate) struct Ran {
    pub(crate) exit: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Workdir {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn db(&self) -> PathBuf {
        self.path("onward.db")
    }

    /// Runs a command on the store of this place.
    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        self.run_with(args, b"")
    }

    pub(crate) fn run_with(&self, args: &[&str], input: &[u8]) -> Ran {
        let mut child = self.command(args).stderr(Stdio::piped()).spawn().unwrap();
        // A program that refuses before it has read everything closes the pipe.
        let _ = child.stdin.take().unwrap().write_all(input);
        Ran::of(&child.wait_with_output().unwrap())
    }

    /// Runs a command that prints JSON.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let ran = self.run(&[&["--json"], args].concat());
        assert_eq!(ran.exit, 0, "{}", ran.err);
        serde_json::from_str(&ran.out).unwrap()
    }

    /// Submits an execution and answers its id.
    pub(crate) fn submit(&self, args: &[&str]) -> String {
        self.json(&[&["submit"], args].concat())["id"].as_str().unwrap().to_owned()
    }

    /// Starts a command in the background.
    pub(crate) fn start(&self, args: &[&str]) -> Process {
        let mut child = self.command(args).stderr(Stdio::inherit()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let (said, lines) = channel();
        std::thread::spawn(move || out.lines().map_while(Result::ok).try_for_each(|line| said.send(line)));
        Process { child, lines }
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_onward"));
        let store = format!("sqlite:{}", self.db().display());
        command.args(args).env("ONWARD_STORE", store).env_remove("NO_COLOR").current_dir(self.folder.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command
    }
}

impl Ran {
    pub(crate) fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        Self { exit: output.status.code().unwrap_or(-1), out: text(&output.stdout), err: text(&output.stderr) }
    }

    /// Checks that the run was refused with a code and a hint, and printed nothing else.
    pub(crate) fn refused(&self, code: &str, exit: i32) {
        let lines: Vec<&str> = self.err.lines().collect();
        assert!(
            lines.first().is_some_and(|line| line.starts_with(&format!("error[{code}]: "))),
            "{code}: {}",
            self.err
        );
        assert!(lines.get(1).is_some_and(|line| line.starts_with("hint: ") && line.len() > 10), "{code}: {}", self.err);
        assert_eq!((lines.len(), self.exit, self.out.as_str()), (2, exit, ""), "{code}: {}", self.err);
    }
}

/// A program in the background; killed when it is dropped.
pub(crate) struct Process {
    child: Child,
    lines: Receiver<String>,
}

impl Process {
    /// The next line that starts like this; what comes before is passed over.
    pub(crate) fn says(&self, start: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(HANG).unwrap_or_else(|_| panic!("it never says {start:?}"));
            if line.starts_with(start) {
                return line;
            }
        }
    }

    /// The next line, or nothing at the end.
    pub(crate) fn line(&self) -> Option<String> {
        match self.lines.recv_timeout(HANG) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("it says nothing more and does not end"),
        }
    }

    /// Kills it at once, as `kill -9` does, and answers what it had still said.
    pub(crate) fn kill(mut self) -> Vec<String> {
        self.child.kill().unwrap();
        let status = self.child.wait().unwrap();
        assert_eq!(status.code(), None, "it was killed, not ended");
        std::iter::from_fn(|| self.line()).collect()
    }

    /// Its number in the system.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for its end.
    pub(crate) fn ends(mut self) -> i32 {
        // Its input stays open meanwhile, since some commands end with it.
        while self.line().is_some() {}
        self.child.wait().unwrap().code().unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The bytes of a file, to see that nothing changed.
pub(crate) fn bytes(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap()
}
