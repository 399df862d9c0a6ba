//! The scenes with one process: plain work, a failure that is tried again, and work for later.

use super::{PATIENCE, Play};
use crate::problem::Problem;
use onward::{Client, Context, Failed, PublicState, RetryPolicy, Span, Worker};
use std::time::Duration;

const NAMES: [&str; 5] = ["Ada", "Grace", "Edsger", "Barbara", "Leslie"];
const PAUSE: Span = Span(500);
const DELAY: Duration = Duration::from_secs(2);

/// The worker of these scenes.
pub(super) fn worker(client: &Client) -> Worker {
    Worker::new(client).name("demo").on("greet", greet).on("charge", charge).on("remind", remind)
}

async fn greet(_ctx: Context, name: String) -> Result<String, Failed> {
    Ok(format!("hello {name}"))
}

async fn charge(ctx: Context, cents: u32) -> Result<String, Failed> {
    if ctx.attempt() == 1 {
        return Err(Failed::transient("the card service is away"));
    }
    Ok(format!("charged {cents} cents"))
}

async fn remind(_ctx: Context, what: String) -> Result<String, Failed> {
    Ok(format!("time to {what}"))
}

/// Work is submitted and done.
pub(super) async fn plain(play: &mut Play) -> Result<(), Problem> {
    play.show.scene("Plain work");
    let submissions = NAMES.map(|name| play.client.submit("greet", name).tag("name", name));
    let mut ids = Vec::new();
    for answer in play.client.submit_many(submissions).await? {
        ids.push(answer?.id);
    }
    play.show.say(&format!("submitted {} greetings in one call", ids.len()));
    for (id, name) in ids.iter().zip(NAMES) {
        let result: String = play.client.wait(*id, PATIENCE).await?;
        play.show.check(result == format!("hello {name}"), &format!("{id} completed: {result}"));
    }
    play.submitted.extend(ids);
    Ok(())
}

/// An attempt fails and another one succeeds.
pub(super) async fn retry(play: &mut Play) -> Result<(), Problem> {
    play.show.scene("A failure, and another try");
    let policy = RetryPolicy::fixed(3, PAUSE);
    let id = play.client.submit("charge", &4200).retry(policy).await?.id;
    play.submitted.push(id);
    play.show.say(&format!("submitted {id}, whose first attempt fails; the next one may come {} ms later", PAUSE.0));
    let result: String = play.client.wait(id, PATIENCE).await?;
    let done = play.find(id).await?;
    let (began, ended) = (done.started_at.unwrap_or_default(), done.finished_at.unwrap_or_default());
    let text =
        format!("completed by attempt {}, {} ms after attempt 1 began: {result}", done.attempts, (ended - began).0);
    let again = (done.attempts, done.retries) == (2, 1) && ended >= began + PAUSE;
    play.show.check(again && result == "charged 4200 cents", &text);
    Ok(())
}

/// Work waits for its time.
pub(super) async fn later(play: &mut Play) -> Result<(), Problem> {
    play.show.scene("Work for later");
    let id = play.client.submit("remind", "call Ada").delay(DELAY).await?.id;
    play.submitted.push(id);
    let state = play.client.get(id).await?.map(|found| found.state);
    play.show.check(state == Some(PublicState::Delayed), &format!("{id} is delayed for {} s", DELAY.as_secs()));
    let result: String = play.client.wait(id, PATIENCE).await?;
    let done = play.find(id).await?;
    let after = done.started_at.map_or(Span(0), |started| started - done.created_at);
    let text = format!("it ran {} ms after it was submitted: {result}", after.0);
    play.show.check(Duration::from_millis(after.0) >= DELAY, &text);
    Ok(())
}
