//! The scene with a second process: it is killed while it works, and its work goes on elsewhere.

use super::{PATIENCE, Play};
use crate::problem::Problem;
use onward::engine::clock::{Clock, SystemClock};
use onward::{AttemptKind, Context, Failed, PublicState, Worker};
use std::process::Stdio;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

const LANE: &str = "risky";
const LEASE: &str = "2s";

/// A worker process is killed; another worker finishes its work.
pub(super) async fn killed(play: &mut Play) -> Result<(), Problem> {
    play.show.scene("A worker process is killed");
    let (mut child, mut said) = start(&play.store)?;
    let id = play.client.submit("hold", &()).lane(LANE).await?.id;
    play.submitted.push(id);
    let pid = child.id().unwrap_or_default();
    let claimed = hears(&mut said, &format!("running {id} ")).await?;
    play.show.check(claimed, &format!("process {pid} runs {id} under a lease of {LEASE}"));

    child.kill().await.map_err(|error| Problem::system("the process cannot be killed", &error))?;
    let killed_at = SystemClock.now();
    play.show.say(&format!("kill -9 {pid}"));
    let state = play.client.get(id).await?.map(|found| found.state);
    // On a machine that is slow enough its lease has run out meanwhile.
    let unfinished = matches!(state, Some(PublicState::Active | PublicState::Waiting));
    play.show.check(unfinished, "the execution is not finished, and nobody works on it");

    let rescuer = Worker::new(&play.client).lanes([LANE]).name("rescuer").on("hold", rescue).start()?;
    let result: String = play.client.wait(id, PATIENCE).await?;
    let took = SystemClock.now() - killed_at;
    rescuer.drain().await?;
    let done = play.find(id).await?;
    let by = done.worker.as_ref().map_or("nobody", |worker| worker.as_str());
    let text = format!(
        "{:.1} s later worker {by} has completed it as attempt {}: {result}",
        took.0 as f64 / 1e3,
        done.attempts
    );
    play.show.check(done.attempts > 1 && done.reclaims > 0 && by == "rescuer", &text);
    Ok(())
}

async fn rescue(ctx: Context, _input: ()) -> Result<String, Failed> {
    match ctx.attempt_kind() {
        AttemptKind::Reclaim => Ok("recovered".to_owned()),
        other => Err(Failed::permanent(format_args!("this should be a reclaim, not {other:?}"))),
    }
}

/// Starts this program again as a worker on the same store.
fn start(store: &str) -> Result<(Child, Lines<BufReader<ChildStdout>>), Problem> {
    let failed = |error: std::io::Error| Problem::system("the worker process cannot be started", &error);
    let program = std::env::current_exe().map_err(failed)?;
    let mut command = Command::new(program);
    // Arguments can be seen by everybody, and the address may hold a password.
    command.args(["worker", "--lane", LANE, "--lease", LEASE, "--name", "doomed"]).env("ONWARD_STORE", store);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true).spawn().map_err(failed)?;
    let out = child.stdout.take().ok_or_else(|| failed(std::io::Error::other("it has no output")))?;
    Ok((child, BufReader::new(out).lines()))
}

/// Reads what the process says until it says this; whether it did.
async fn hears(said: &mut Lines<BufReader<ChildStdout>>, start: &str) -> Result<bool, Problem> {
    let listening = async {
        while let Some(line) = said.next_line().await? {
            if line.starts_with(start) {
                return Ok(true);
            }
        }
        Ok(false)
    };
    let patience = onward::Span(u64::try_from(PATIENCE.as_millis()).unwrap_or(u64::MAX));
    tokio::select! {
        heard = listening => heard.map_err(|error| Problem::system("the worker process cannot be heard", &error)),
        () = SystemClock.sleep(patience) => Ok(false),
    }
}
