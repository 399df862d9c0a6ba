//! A callback that arrives before the program waits for it: it is kept, and answers the wait at once.
//!
//! Run it with `cargo run -p onward --example early_callback`.

use onward::testing::TestKit;
use onward::{Context, Failed, SignalEffect, Worker};
use serde::{Deserialize, Serialize};

/// What the bank tells.
#[derive(Debug, Serialize, Deserialize)]
struct Payment {
    cents: u64,
}

/// Waits for the bank. Nothing stands before the wait, since a handler that waits runs again from its start.
async fn order(ctx: Context, order: u32) -> Result<String, Failed> {
    let payment = ctx.wait_for::<Payment>("paid").because("the payment").await?;
    let cents = payment.map_or(0, |payment| payment.cents);
    Ok(format!("order {order} was paid with {cents} cents"))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), onward::Error> {
    println!("{}", run().await?);
    Ok(())
}

/// The whole example; returns what the order ended with.
pub async fn run() -> Result<String, onward::Error> {
    let kit = TestKit::new().await?;
    let client = kit.client();
    let id = client.submit("order", &17).await?.id;

    // The bank is faster than the worker, and calls twice: the key makes both one signal.
    for _ in 0..2 {
        let sent = client.signal(id, "paid").payload(&Payment { cents: 1_999 }).key("bank-event-4711").await?;
        assert_eq!(sent.effect, SignalEffect::Buffered);
    }

    // The handler does not even suspend: what it waits for has come already.
    kit.run_until_idle(&Worker::new(client).on("order", order)).await?;
    Ok(client.result::<String>(id).await?.unwrap_or_default())
}
