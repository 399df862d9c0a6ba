//! How fast a Valkey store commits and how much memory a record takes: `cargo run --release --example valkey_speed -- ADDRESS`.
//!
//! Without an address it starts a server of its own. Each caller takes records through three commits, as work that is
//! made, taken and ended would be.

use bytes::Bytes;
use onward_servers::valkey::{Cluster, Kind, Server};
use onward_store::{Batch, Entry, IndexName, Key, Outcome, Partition, Record, Store, Version, valkey};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

static NEXT: AtomicU64 = AtomicU64::new(1);

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default: u64| arguments.get(at).and_then(|text| text.parse().ok()).unwrap_or(default);
    let (callers, seconds, shape) = (number(1, 64), number(2, 5), arguments.get(3).map_or("lean", String::as_str));
    let mut keep: (Option<Server>, Option<Cluster>) = (None, None);
    let address = match arguments.first().map_or("everysec", String::as_str) {
        "cluster" => keep.1.insert(Cluster::start(Kind::Valkey, &[]).expect("a cluster")).url(),
        "redis" => keep.0.insert(Server::start(Kind::Redis, &[]).expect("a server")).url(),
        sync @ ("everysec" | "always" | "no") => {
            keep.0.insert(Server::start(Kind::Valkey, &["--appendfsync", sync]).expect("a server")).url()
        }
        address => address.to_owned(),
    };
    let store: Arc<dyn Store> = Arc::new(valkey::open(&address).await.expect("the store opens"));
    println!("{:?}", store.health().await.expect("it serves"));
    let before = memory(keep.0.as_ref());
    let full = shape == "full";
    let done = Arc::new(AtomicU64::new(0));
    let tasks: Vec<_> = (0..callers)
        .map(|_| {
            let (store, done) = (Arc::clone(&store), Arc::clone(&done));
            tokio::spawn(async move {
                loop {
                    life(&*store, full).await;
                    done.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    #[allow(clippy::disallowed_methods)] // A measurement is a span of real time.
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    for task in &tasks {
        task.abort();
    }
    let (lives, stats) = (done.load(Ordering::Relaxed), store.stats());
    println!(
        "{callers} callers, {seconds} s, {shape}: {} lives/s, {} commits/s",
        lives / seconds,
        stats.batches / seconds
    );
    println!("{:.2} batches in a call", stats.batches as f64 / stats.groups as f64);
    if let (Some(before), Some(after)) = (before, memory(keep.0.as_ref())) {
        println!("{} bytes of memory for each record with all that belongs to it", (after - before) / lives.max(1));
    }
}

fn memory(server: Option<&Server>) -> Option<u64> {
    let info = server?.ask(&["INFO", "memory"]).ok()?;
    info.lines().find_map(|line| line.strip_prefix("used_memory_dataset:")?.trim().parse().ok())
}

/// Makes a record, changes it and ends it, with the places and events such a record has.
async fn life(store: &dyn Store, full: bool) {
    let id = NEXT.fetch_add(1, Ordering::Relaxed);
    let key = Key::new(format!(
        "some/thing/{:031x}",
        u128::from(id).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835) >> 4
    ));
    let partition = Partition(u16::try_from(id % 64).expect("small"));
    let (size, event) = if full { (1024, 250) } else { (300, 100) };
    let mut held = None;
    let steps: [&[(&str, bool)]; 3] = [
        &[("list/default", true), ("ready/default/main//", true)],
        &[("list/default", true), ("", true)],
        &[("list/default", true), ("ended/default/done", true)],
    ];
    for (at, places) in steps.into_iter().enumerate() {
        let version = Version(u128::from(id) << 8 | at as u128 | 1 << 100);
        let mut batch = Batch::new(partition, version);
        batch.expect.push((key.clone(), held));
        let named = |name: &str| full || !name.starts_with("list");
        let entries = places.iter().filter(|(name, _)| !name.is_empty() && named(name));
        let entries = entries.map(|(name, _)| Entry { name: IndexName::new(*name), rank: id }).collect();
        let due = (at == 1 || (at == 2 && full)).then_some(1_700_000_000_000 + id);
        batch.put.push(Record { key: key.clone(), version, body: Bytes::from(vec![b'x'; size]), entries, due });
        if full {
            batch.events.push(Bytes::from(vec![b'e'; event]));
        }
        let outcome = store.commit(vec![batch]).await.expect("the store commits");
        assert!(matches!(outcome[0], Outcome::Committed { .. }), "{outcome:?}");
        held = Some(version);
    }
}
