//! The processes of a run, from both sides: how the driver starts, signals and ends them, and how they hear of it.

use onward_servers::Signal;
use rustix::process::{Pid, kill_process};
use std::fs::File;
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use tokio::sync::watch;

/// What the driver wants of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Wish {
    /// Go on.
    Work,
    /// Begin nothing new.
    Finish,
    /// End.
    End,
}

/// The word for [`Wish::Finish`]; the end of the input is the one for [`Wish::End`].
const FINISH: &str = "finish";

/// Runs a process of a run to its end.
pub(crate) fn run(process: impl Future<Output = Result<(), onward::Error>>) -> io::Result<bool> {
    let filter = tracing_subscriber::EnvFilter::try_from_env("ONWARD_LOG").unwrap_or_else(|_| "warn".into());
    tracing_subscriber::fmt().with_writer(io::stderr).with_env_filter(filter).init();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(process).map_err(io::Error::other)?;
    Ok(true)
}

/// What the driver wants, as it is told on standard input.
pub(crate) fn wishes() -> watch::Receiver<Wish> {
    let (wish, wishes) = watch::channel(Wish::Work);
    let listen = move || {
        for line in io::stdin().lock().lines() {
            match line {
                Ok(line) if line == FINISH => wish.send_replace(Wish::Finish),
                Ok(_) => continue,
                Err(_) => break,
            };
        }
        wish.send_replace(Wish::End);
    };
    // A thread of its own, since a blocked read would keep the runtime from ending.
    if let Err(error) = std::thread::Builder::new().name("stdin".into()).spawn(listen) {
        eprintln!("no thread for the driver's wishes: {error}");
        std::process::exit(1);
    }
    wishes
}

/// Waits until the driver wants this or more.
pub(crate) async fn wanted(wishes: &mut watch::Receiver<Wish>, least: Wish) {
    // Without a sender the process is about to end.
    let _gone = wishes.wait_for(|wish| *wish >= least).await.is_err();
}

/// A process that was started, killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Child {
    /// Its name, which is also that of its file.
    pub(crate) name: String,
    /// What it writes.
    pub(crate) file: PathBuf,
    /// Whether it is of the other build.
    pub(crate) is_other: bool,
    process: std::process::Child,
    input: Option<ChildStdin>,
}

impl Child {
    /// Starts this program with a hidden command; its lines go to a file named after it, everything else beside that.
    pub(crate) fn start(directory: &Path, name: &str, args: &[&str], env: &[(String, String)]) -> io::Result<Self> {
        let mut child = Self::start_build(&std::env::current_exe()?, directory, name, args, env)?;
        child.is_other = false;
        Ok(child)
    }

    /// The same with the other build of it.
    pub(crate) fn start_build(
        program: &Path,
        directory: &Path,
        name: &str,
        args: &[&str],
        env: &[(String, String)],
    ) -> io::Result<Self> {
        let file = directory.join(format!("{name}.jsonl"));
        let mut command = Command::new(program);
        command.args(args).envs(env.iter().map(|(key, value)| (key, value)));
        command.stdin(Stdio::piped()).stdout(File::create(&file)?);
        command.stderr(File::create(directory.join(format!("{name}.log")))?);
        let mut process = command.spawn()?;
        let input = process.stdin.take();
        Ok(Self { name: name.to_owned(), file, is_other: true, process, input })
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: Signal) -> io::Result<()> {
        let pid = i32::try_from(self.process.id()).ok().and_then(Pid::from_raw);
        Ok(kill_process(pid.ok_or_else(|| io::Error::other("a process has a pid"))?, signal)?)
    }

    /// Kills it on the spot.
    pub(crate) fn kill(&mut self) -> io::Result<()> {
        self.process.kill()?;
        self.process.wait().map(|_| ())
    }

    /// Asks it to begin nothing new.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        match &mut self.input {
            Some(input) => writeln!(input, "{FINISH}").and_then(|()| input.flush()),
            None => Ok(()),
        }
    }

    /// Asks it to end in good order.
    pub(crate) fn ask_to_end(&mut self) {
        drop(self.input.take());
    }

    /// Lets it end in good order; an error when it does not.
    pub(crate) fn end(&mut self) -> io::Result<()> {
        self.ask_to_end();
        let status = self.process.wait()?;
        if status.success() { Ok(()) } else { Err(self.complaint(&status.to_string())) }
    }

    /// An error when it has ended by itself, which no process of a run may.
    pub(crate) fn check(&mut self) -> io::Result<()> {
        match self.process.try_wait()? {
            None => Ok(()),
            Some(status) => Err(self.complaint(&status.to_string())),
        }
    }

    fn complaint(&self, status: &str) -> io::Error {
        let log = std::fs::read_to_string(self.file.with_extension("log")).unwrap_or_default();
        let last: Vec<&str> = log.lines().rev().take(5).collect();
        let last: Vec<&str> = last.into_iter().rev().collect();
        io::Error::other(format!("{} ended with {status}:\n{}", self.name, last.join("\n")))
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // It may have ended already, and then there is nothing to do.
        let _ended = self.kill().is_err();
    }
}
