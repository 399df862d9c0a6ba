//! What the other process does in tests of crashes, faults and ownership: opens a store, commits, and says what happened.
//!
//! Every line on the standard output is one `write`, so that a trace of system calls shows when it was said.

use bytes::Bytes;
use onward_store::sqlite::{self, Options, Synchronous};
use onward_store::{Append, Batch, Entry, Error, IndexName, Key, Outcome, Partition, Record, Store, Version};
use std::io::Write as _;
use std::sync::Arc;

/// The number of callers whose commits the store can put into one group.
const CALLERS: u64 = 8;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["workload", path, synchronous, operations] => {
            let synchronous = if synchronous == "off" { Synchronous::Off } else { Synchronous::Full };
            let options = Options { synchronous, ..Options::default() };
            workload(path, options, operations.parse().expect("a number")).await;
        }
        ["sequence", path, operations] => sequence(path, operations.parse().expect("a number")).await,
        ["hold", path] => hold(path).await,
        ["open", path] => match sqlite::open(path, Options::default()).await {
            Ok(_) => say("opened"),
            Err(error) => say(&format!("{:?} {error}", error.kind())),
        },
        _ => panic!("unknown role {arguments:?}"),
    }
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("{line}\n").as_bytes()).and_then(|()| out.flush()).expect("somebody listens");
}

/// Many callers at once, each with its own sequence of operations, each operation acknowledged by its number.
async fn workload(path: &str, options: Options, operations: u64) {
    let store = Arc::new(sqlite::open(path, options).await.expect("the store opens"));
    let mut callers = Vec::new();
    for caller in 0..CALLERS {
        let store = store.clone();
        callers.push(tokio::spawn(async move {
            let mut before = None;
            for operation in (caller..operations).step_by(usize::try_from(CALLERS).expect("small")) {
                let batch = operation_batch(operation, before);
                before = Some(batch.id);
                let outcomes = store.commit(vec![batch]).await.expect("the commit succeeds");
                assert!(matches!(outcomes[0], Outcome::Committed { .. }), "{outcomes:?}");
                say(&format!("ack {operation}"));
            }
        }));
    }
    for caller in callers {
        caller.await.expect("no caller panics");
    }
    // No closing: the run ends as a crash would.
    std::process::exit(0);
}

/// A new record with an entry, a due time, a log entry and an event, and the caller's own record changed.
fn operation_batch(operation: u64, before: Option<Version>) -> Batch {
    let caller = operation % CALLERS;
    let mut batch = Batch::new(Partition(u16::try_from(caller).expect("small")), Version(u128::from(operation) + 1));
    let body = format!(r#"{{"operation":{operation},"text":"{}"}}"#, "x".repeat(200));
    let made = Record {
        key: Key::new(format!("operation/{operation:06}")),
        version: batch.id,
        body: Bytes::from(body),
        entries: vec![Entry { name: IndexName::new("operations"), rank: operation }],
        due: Some(operation),
    };
    let own = Record {
        key: Key::new(format!("caller/{caller}")),
        version: batch.id,
        body: Bytes::from(operation.to_string()),
        entries: vec![Entry { name: IndexName::new("callers"), rank: operation }],
        due: None,
    };
    batch.expect = vec![(made.key.clone(), None), (own.key.clone(), before)];
    batch.append.push(Append { log: own.key.clone(), seq: operation + 1, body: Bytes::from(operation.to_string()) });
    batch.events.push(Bytes::from(operation.to_string()));
    batch.put = vec![made, own];
    batch
}

/// One operation after the other; says what came of each and goes on, whatever it was.
async fn sequence(path: &str, operations: u64) {
    let store = sqlite::open(path, Options::default()).await.expect("the store opens");
    for operation in 0..operations {
        let mut batch = Batch::new(Partition(0), Version(u128::from(operation) + 1));
        let key = Key::new(format!("operation/{operation:06}"));
        batch.expect.push((key.clone(), None));
        let body = Bytes::from("x".repeat(500));
        batch.put.push(Record { key, version: batch.id, body, entries: Vec::new(), due: None });
        match store.commit(vec![batch]).await {
            Ok(_) => say(&format!("ok {operation}")),
            Err(error) => say(&format!("error {operation} {}", described(&error))),
        }
        if operation == operations - 1 {
            let load = store.load(Partition(0), &[Key::new("operation/000000")]).await;
            say(&format!("load {}", load.map_or_else(|error| described(&error), |found| found.len().to_string())));
        }
    }
    std::process::exit(0);
}

fn described(error: &Error) -> String {
    let known = if error.is_unwritten() { "unwritten" } else { "unknown" };
    format!("{:?} {known} {error}", error.kind())
}

/// Keeps a store open; commits once for each line it is told and says so.
async fn hold(path: &str) {
    let store = sqlite::open(path, Options::default()).await.expect("the store opens");
    say(&format!("home {:?}", *store.home().borrow()));
    let mut made = 0_u64;
    for line in std::io::stdin().lines() {
        let line = line.expect("the parent writes text");
        made += 1;
        let mut batch = Batch::new(Partition(0), Version((u128::from(std::process::id()) << 64) | u128::from(made)));
        let key = Key::new(line);
        batch.expect.push((key.clone(), None));
        batch.put.push(Record { key, version: batch.id, body: Bytes::new(), entries: Vec::new(), due: None });
        let outcomes = store.commit(vec![batch]).await.expect("the commit succeeds");
        say(&format!("committed {}", matches!(outcomes[0], Outcome::Committed { .. })));
    }
    store.close().await.expect("the store closes");
}
