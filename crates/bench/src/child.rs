//! Another process of a benchmark: an engine on a shared store that does what it is asked, line by line.
//!
//! Questions come on standard input and answers go to standard output, one JSON value on each line, answers behind a
//! mark. The end of the input ends the process, so that none outlives the benchmark that started it.

use super::look::{self, Looks};
use super::measure::{Stopwatch, Tally};
use super::work::{self, NEVER, PATIENCE};
use super::{Error, load, site, system};
use onward_core::{Claimed, Fence, Lane, Span};
use onward_engine::clock::{Clock, SystemClock};
use onward_engine::{Engine, Options, Wants};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use tokio::sync::mpsc;

/// Stands before an answer, so that other output does not confuse.
const MARK: &str = "onward-bench:";

/// What a child can be asked to do.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Ask {
    /// Run lifecycles with several callers.
    Lifecycles { lane: String, callers: usize, amount: usize },
    /// Submit executions.
    Submit { lane: String, amount: usize },
    /// Claim and complete executions, one at a time.
    Claims { lane: String, amount: usize },
    /// Claim executions and keep their leases alive until the process ends.
    Hold { lane: String, amount: usize, lease_ms: u64 },
    /// Claim executions as soon as they can be had, and complete them.
    Take { lane: String, amount: usize },
    /// List the first page in several ways, and count, each so many times.
    Look { times: usize },
    /// Say how much memory the process has for itself.
    Memory,
    /// Say what the engine has committed so far, and how many partitions it is the home of.
    Count,
}

/// What a child answers.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Answer {
    /// The engine runs.
    Ready,
    /// It is done.
    Done,
    /// It is done, and measured.
    Tally(Tally),
    /// What looking took.
    Looks(Looks),
    /// So many MiB.
    Memory(f64),
    /// What the engine has done.
    Counted(Counted),
    /// It could not be done.
    Failed(String),
}

/// What an engine has committed since it started, and how many partitions it is the home of.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct Counted {
    pub(crate) commits: u64,
    pub(crate) conflicts: u64,
    pub(crate) homes: usize,
}

/// A child process; it is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Child {
    process: std::process::Child,
    answers: mpsc::UnboundedReceiver<String>,
}

impl Child {
    /// Starts a child on a store and waits until its engine runs.
    pub(crate) async fn start(address: &str) -> Result<Self, Error> {
        let mut process = command(address)?.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (sender, answers) = mpsc::unbounded_channel();
        if let Some(output) = process.stdout.take() {
            std::thread::spawn(move || {
                for line in BufReader::new(output).lines().map_while(Result::ok) {
                    if let Some((_, answer)) = line.split_once(MARK)
                        && sender.send(answer.to_owned()).is_err()
                    {
                        return;
                    }
                }
            });
        }
        let mut child = Self { process, answers };
        match child.answer().await? {
            Answer::Ready => Ok(child),
            other => Err(Error::Child(format!("answered {other:?} instead of starting"))),
        }
    }

    /// Asks and waits for the answer.
    pub(crate) async fn ask(&mut self, ask: &Ask) -> Result<Answer, Error> {
        let line = serde_json::to_string(ask).map_err(|error| Error::Child(error.to_string()))?;
        let input = self.process.stdin.as_mut().ok_or_else(|| Error::Child("has no input".to_owned()))?;
        writeln!(input, "{line}")?;
        match self.answer().await? {
            Answer::Failed(why) => Err(Error::Child(format!("could not do it: {why}"))),
            answer => Ok(answer),
        }
    }

    /// Asks for something that is measured.
    pub(crate) async fn tally(&mut self, ask: &Ask) -> Result<Tally, Error> {
        match self.ask(ask).await? {
            Answer::Tally(tally) => Ok(tally),
            other => Err(Error::Child(format!("answered {other:?} instead of figures"))),
        }
    }

    /// Asks what its engine has done.
    pub(crate) async fn counted(&mut self) -> Result<Counted, Error> {
        match self.ask(&Ask::Count).await? {
            Answer::Counted(counted) => Ok(counted),
            other => Err(Error::Child(format!("answered {other:?} instead of counts"))),
        }
    }

    async fn answer(&mut self) -> Result<Answer, Error> {
        let line = self.answers.recv().await.ok_or_else(|| Error::Child("ended before it answered".to_owned()))?;
        serde_json::from_str(&line).map_err(|error| Error::Child(format!("answered nonsense: {error}")))
    }

    /// Ends it where it stands.
    pub(crate) fn kill(&mut self) -> Result<(), Error> {
        self.process.kill()?;
        self.process.wait()?;
        Ok(())
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // It may have ended already.
        let _ended = self.kill();
    }
}

/// The same program, told to serve.
#[cfg(not(test))]
fn command(address: &str) -> Result<Command, Error> {
    let mut command = Command::new(std::env::current_exe()?);
    // Arguments can be seen by everybody, and the address may hold a password.
    command.args(["bench", "child"]).env("ONWARD_STORE", address);
    Ok(command)
}

/// The program that runs the tests, told to run the one that serves.
#[cfg(test)]
fn command(address: &str) -> Result<Command, Error> {
    let mut command = Command::new(std::env::current_exe()?);
    let test = "tests::a_child_serves_until_its_input_ends";
    command.args(["--exact", test, "--nocapture"]).env(super::tests::CHILD_URL, address);
    Ok(command)
}

/// Serves until the input ends.
pub(crate) async fn serve(store_url: &str) -> Result<(), Error> {
    let store = site::open(store_url).await?;
    let engine = Engine::start(store.clone(), Options::default()).await?;
    say(&Answer::Ready)?;
    let mut asked = questions();
    while let Some(line) = asked.recv().await {
        let answer = match serde_json::from_str(&line) {
            Ok(ask) => act(&engine, ask).await.unwrap_or_else(|error| Answer::Failed(error.to_string())),
            Err(error) => Answer::Failed(error.to_string()),
        };
        say(&answer)?;
    }
    engine.shutdown().await;
    store.close().await?;
    Ok(())
}

/// The lines of the input, read by a thread because they have no end that can be awaited.
fn questions() -> mpsc::UnboundedReceiver<String> {
    let (sender, receiver) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

fn say(answer: &Answer) -> Result<(), Error> {
    let line = serde_json::to_string(answer).map_err(|error| Error::Child(error.to_string()))?;
    let mut output = std::io::stdout().lock();
    writeln!(output, "\n{MARK}{line}")?;
    Ok(output.flush()?)
}

async fn act(engine: &Engine, ask: Ask) -> Result<Answer, Error> {
    match ask {
        Ask::Lifecycles { lane, callers, amount } => {
            Ok(Answer::Tally(load::lifecycles(engine, &work::name(&lane), callers, amount).await?))
        }
        Ask::Submit { lane, amount } => submit(engine, &work::name(&lane), amount).await,
        Ask::Claims { lane, amount } => Ok(Answer::Tally(claims(engine, &work::name(&lane), amount).await)),
        Ask::Hold { lane, amount, lease_ms } => hold(engine, &work::name(&lane), amount, Span(lease_ms)).await,
        Ask::Take { lane, amount } => {
            for claimed in take(engine, &work::patient(&work::name(&lane)), amount).await? {
                engine.complete(claimed.fence, work::result()).await?;
            }
            Ok(Answer::Done)
        }
        Ask::Look { times } => Ok(Answer::Looks(look::looks(engine, times).await?)),
        Ask::Memory => Ok(Answer::Memory(system::anonymous_mib()?)),
        Ask::Count => {
            let (metrics, homes) = (engine.metrics(), engine.homes().len());
            Ok(Answer::Counted(Counted { commits: metrics.commits, conflicts: metrics.conflicts, homes }))
        }
    }
}

async fn submit(engine: &Engine, lane: &Lane, amount: usize) -> Result<Answer, Error> {
    for _ in 0..amount {
        engine.submit(work::execution(lane)).await?;
    }
    Ok(Answer::Done)
}

/// Claims and completes one at a time. The first failure ends it, or an empty lane would be waited for again and
/// again; what is left counts as tried in vain.
async fn claims(engine: &Engine, lane: &Lane, amount: usize) -> Tally {
    let mut tally = Tally { tried: amount, ..Tally::default() };
    let whole = Stopwatch::start();
    let all = async {
        while tally.done < amount {
            let watch = Stopwatch::start();
            let claimed = work::one(engine.claim(&work::patient(lane), PATIENCE).await?)?;
            tally.claims.push(watch.millis());
            engine.complete(claimed.fence, work::result()).await?;
            tally.done += 1;
        }
        Ok::<(), Error>(())
    };
    tally.failure = all.await.err().map(|error| error.to_string());
    tally.claims.resize(amount, NEVER);
    tally.seconds = whole.elapsed().as_secs_f64();
    tally
}

/// Claims exactly so many, waiting for them as long as it takes within reason.
pub(crate) async fn take(engine: &Engine, wants: &Wants, amount: usize) -> Result<Vec<Claimed>, Error> {
    let mut all = Vec::new();
    while all.len() < amount {
        let wants = Wants { max: amount - all.len(), ..wants.clone() };
        let claimed = engine.claim(&wants, PATIENCE).await?;
        if claimed.is_empty() {
            return Err(Error::Broken(format!("only {} of {amount} executions could be claimed", all.len())));
        }
        all.extend(claimed);
    }
    Ok(all)
}

async fn hold(engine: &Engine, lane: &Lane, amount: usize, lease: Span) -> Result<Answer, Error> {
    let claimed = take(engine, &work::wants(lane, lease), amount).await?;
    let fences: Vec<Fence> = claimed.iter().map(|claimed| claimed.fence).collect();
    let engine = engine.clone();
    tokio::spawn(async move {
        loop {
            SystemClock.sleep(Span(lease.0 / 2)).await;
            engine.renew(&fences, lease).await;
        }
    });
    Ok(Answer::Done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Site;

    #[tokio::test]
    async fn claims_count_what_they_got_and_what_they_did_not() {
        let fresh = Site::new("memory:").unwrap().fresh().await.unwrap();
        let (engine, lane) =
            (Engine::start(fresh.store.clone(), Options::default()).await.unwrap(), work::name("bench"));
        submit(&engine, &lane, 3).await.unwrap();
        let good = claims(&engine, &lane, 3).await;
        assert_eq!((good.tried, good.done, good.claims.len(), &good.failure), (3, 3, 3, &None));
        assert!(good.claims.iter().all(|took| *took < NEVER));
        engine.shutdown().await;
        let bad = claims(&engine, &lane, 3).await;
        assert_eq!((bad.tried, bad.done, bad.claims), (3, 0, vec![NEVER; 3]));
        assert!(bad.failure.is_some());
    }
}
