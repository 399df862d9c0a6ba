//! The work of a run: short jobs, some of which fail, wait or go on later, drawn by chance.

use crate::clock::{now, sleep};
use crate::output::tell;
use onward::{Client, Context, Failed, RetryPolicy, Span, Submission};
use onward_checker::Line;
use onward_engine::clock::Chance;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The kind of all work.
pub(crate) const KIND: &str = "job";
/// The lane of most work, which a worker takes.
pub(crate) const LANE: &str = "work";
/// A lane that is paused and opened again and again; a worker takes its work too.
pub(crate) const GATED_LANE: &str = "gated";
/// A lane whose work is claimed and completed by hand.
pub(crate) const HELD_LANE: &str = "held";

/// The longest time a job takes, most of the time.
const PAUSE_MAX: u64 = 20;
/// One of so many jobs takes longer than its lease, so that it must be renewed.
const LONG_ONE_OF: u64 = 100;
/// How long such a job takes.
const LONG: u64 = 3_000;
/// One of so many jobs has a key, by which its partition is chosen: the others go to a few partitions at a time, and every
/// partition has to show that it lives.
const KEYED_ONE_OF: u64 = 5;

/// What a job does.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    /// Fails so often before it succeeds.
    fails: u32,
    /// Fails for good.
    gives_up: bool,
    /// Goes on later once.
    later: bool,
    /// How long it takes, in milliseconds.
    takes: u64,
}

/// Draws a job.
pub(crate) fn draw(client: &Client, chance: &Chance) -> Submission {
    let roll = |of: u64| chance.word().is_multiple_of(of);
    let lane = match chance.word() % 10 {
        0..4 => LANE,
        4..6 => GATED_LANE,
        _ => HELD_LANE,
    };
    let job = Job {
        fails: if roll(10) { 1 + (chance.word() % 3) as u32 } else { 0 },
        gives_up: roll(20),
        later: roll(20),
        takes: if roll(LONG_ONE_OF) { LONG } else { chance.word() % PAUSE_MAX },
    };
    let retry = RetryPolicy { jitter: true, ..RetryPolicy::fixed(5, Span(100)) };
    let submission = client.submit(KIND, &job).lane(lane).retry(retry);
    let submission =
        if roll(KEYED_ONE_OF) { submission.idempotency_key(&format!("{:032x}", chance.id())) } else { submission };
    if roll(10) { submission.delay(Duration::from_millis(chance.word() % 1_000)) } else { submission }
}

/// Does a job and tells when it begins and ends.
pub(crate) async fn handle(ctx: Context, job: Job) -> Result<(), Failed> {
    let (execution, attempt) = (ctx.id().to_string(), u64::from(ctx.attempt()));
    tell(&Line::Begun { execution: execution.clone(), attempt, at: now() });
    // Whoever fails or goes on later does so quickly, so that a run does not end with a few slow ones.
    sleep(if attempt == 1 && !ctx.is_resumed() { job.takes } else { job.takes % PAUSE_MAX }).await;
    tell(&Line::Left { execution, attempt, at: now() });
    if job.later && !ctx.is_resumed() {
        return Err(Failed::later(Duration::from_millis(200)));
    }
    if ctx.retries() < job.fails {
        return Err(Failed::transient("not this time"));
    }
    if job.gives_up { Err(Failed::permanent("never")) } else { Ok(()) }
}
