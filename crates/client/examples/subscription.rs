//! A subscription that sleeps from month to month without a worker, and is cancelled by a signal in the middle of one.
//!
//! Run it with `cargo run -p onward --example subscription`; time is that of a test kit, so that it takes a moment.

use onward::testing::TestKit;
use onward::{Context, Failed, Worker};
use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const MONTH: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Bills a customer every month until they cancel.
async fn subscription(ctx: Context, customer: String) -> Result<String, Failed> {
    for month in 1.. {
        // A bill is an execution with a key, so it is sent once, however often this handler runs again.
        let key = format!("{}-bill-{month}", ctx.id());
        ctx.client().submit("bill", &customer).idempotency_key(&key).await?;
        tokio::select! {
            biased;
            reason = ctx.wait_for::<String>("cancel").into_future() => {
                let reason = reason?.unwrap_or_default();
                return Ok(format!("{customer} cancelled in month {month}: {reason}"));
            }
            slept = ctx.sleep(MONTH) => slept?,
        }
    }
    Ok("never".to_owned())
}

async fn bill(_: Context, customer: String) -> Result<String, Failed> {
    Ok(format!("billed {customer}"))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), onward::Error> {
    let (outcome, bills) = run().await?;
    println!("{outcome}; {bills} bills were sent");
    Ok(())
}

/// The whole example; returns what the subscription ended with, and how many bills were sent.
pub async fn run() -> Result<(String, u64), onward::Error> {
    let kit = TestKit::new().await?;
    let client = kit.client();
    let worker = Worker::new(client).on("subscription", subscription).on("bill", bill);
    let id = client.submit("subscription", "Ada").await?.id;
    kit.run_until_idle(&worker).await?;
    for _ in 0..2 {
        kit.advance(MONTH).await?;
        kit.run_until_idle(&worker).await?;
    }
    kit.advance(10 * DAY).await?;
    client.signal(id, "cancel").payload("moved away").await?;
    kit.run_until_idle(&worker).await?;
    let outcome = client.result::<String>(id).await?.unwrap_or_default();
    // All that has completed beside the subscription itself.
    Ok((outcome, client.counts().await?.completed.n - 1))
}
