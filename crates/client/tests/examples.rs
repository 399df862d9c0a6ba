//! The examples, which do what they say.

#![allow(clippy::unwrap_used, dead_code, unreachable_pub, reason = "examples are programs of their own")]

#[path = "../examples/early_callback.rs"]
mod early_callback;
#[path = "../examples/subscription.rs"]
mod subscription;

#[tokio::test]
async fn a_callback_may_come_before_the_program_waits_for_it() {
    assert_eq!(early_callback::run().await.unwrap(), "order 17 was paid with 1999 cents");
}

#[tokio::test]
async fn a_subscription_sleeps_for_months_and_bills_once_a_month() {
    let (outcome, bills) = subscription::run().await.unwrap();
    assert_eq!((outcome.as_str(), bills), ("Ada cancelled in month 3: moved away", 3));
}
