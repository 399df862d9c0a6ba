//! Workers that cannot work say so when they start.

use onward::{Client, Context, Failed, Payload, Worker};
use std::time::Duration;

async fn work(_ctx: Context, _input: ()) -> Result<(), Failed> {
    Ok(())
}

#[tokio::test]
async fn wrong_workers_do_not_start() {
    let client = Client::open("memory:").await.unwrap();
    let worker = || Worker::new(&client).on("work", work);
    let many: Vec<String> = (0..65).map(|n| format!("c{n}")).collect();
    for (wrong, code, word) in [
        (Worker::new(&client), "invalid_argument", "at least one"),
        (worker().on("work", work), "invalid_argument", "has two"),
        (worker().on_payload("", async |_: Context, p: Payload| Ok::<_, Failed>(p)), "invalid_name", "kind"),
        (worker().lanes(["a", "b c"]), "invalid_name", "lane"),
        (worker().capabilities(many.iter().map(String::as_str)), "invalid_name", "64"),
        (worker().concurrency(0), "invalid_argument", "concurrency"),
        (worker().concurrency(1_001), "invalid_argument", "concurrency"),
        (worker().lease(Duration::from_millis(999)), "invalid_argument", "lease"),
        (worker().lease(Duration::from_secs(3_601)), "invalid_argument", "lease"),
        (worker().name("line\nbreak"), "invalid_name", "worker name"),
    ] {
        let error = wrong.start().unwrap_err();
        assert_eq!(error.code(), code);
        assert!(error.to_string().contains(word), "{error}");
    }
    worker().start().unwrap().drain().await.unwrap();
}
