//! How many commits a second the Postgres store takes, and what each costs: rows, bytes and calls of the server.
//!
//! Usage: `cargo run --release -p onward-store --features postgres --example postgres_commits -- [callers] [seconds]`.
//! It starts a server of its own. A life is three commits of one record: made, changed, changed again.
#![allow(clippy::disallowed_methods)] // A benchmark measures real time.

use bytes::Bytes;
use onward_servers::postgres::Postgres;
use onward_store::postgres::{self, Options};
use onward_store::{Batch, Entry, IndexName, Key, Outcome, Partition, Record, Store, Version};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What a commit writes beside its record of 300 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Weight {
    /// One index entry, which moves with every commit.
    Lean,
    /// Two index entries, a due time and an event.
    Full,
}

fn main() {
    let mut numbers = std::env::args().skip(1).map(|text| text.parse().expect("arguments are numbers"));
    let callers = usize::try_from(numbers.next().unwrap_or(64)).expect("a small number");
    let seconds = numbers.next().unwrap_or(5);
    let server = Postgres::start(&["shared_buffers=256MB"]).expect("Postgres starts");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    for (run, weight) in [Weight::Lean, Weight::Full, Weight::Lean, Weight::Full].into_iter().enumerate() {
        let url = format!("{}?schema=run_{run}&partitions=64", server.url());
        let start = server.sql("postgres", "SELECT pg_current_wal_lsn()").expect("the server tells");
        let commits = runtime.block_on(async {
            let store = Arc::new(postgres::open(&url, Options::default()).await.expect("the store opens"));
            let commits = measure(store.clone(), weight, callers, Duration::from_secs(seconds)).await;
            store.close().await.expect("it closes");
            commits
        });
        let tell = format!(
            "SELECT (pg_current_wal_lsn() - '{start}') / {commits}, n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables \
             WHERE schemaname = 'run_{run}' AND relname = 'records'"
        );
        let told = server.sql("postgres", &tell).expect("the server tells");
        println!("  bytes of WAL for a commit, updates of records, of these on their page: {told}");
    }
}

async fn measure(store: Arc<dyn Store>, weight: Weight, callers: usize, time: Duration) -> u64 {
    let (lives, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let started = Instant::now();
    let mut tasks = Vec::new();
    for caller in 0..callers {
        let (store, lives, stop) = (store.clone(), lives.clone(), stop.clone());
        tasks.push(tokio::spawn(async move {
            let mut waits = Vec::new();
            for life in 0.. {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                live(&*store, weight, caller, life, &mut waits).await;
                lives.fetch_add(1, Ordering::Relaxed);
            }
            waits
        }));
    }
    tokio::time::sleep(time).await;
    stop.store(true, Ordering::Relaxed);
    let mut waits = Vec::new();
    for task in tasks {
        waits.extend(task.await.expect("no caller panics"));
    }
    let elapsed = started.elapsed().as_secs_f64();
    let stats = store.stats();
    waits.sort_unstable();
    let at = |share: usize| waits[(waits.len() - 1) * share / 100].as_secs_f64() * 1000.0;
    #[allow(clippy::cast_precision_loss)]
    let per = |sum: u64, count: u64| sum as f64 / count.max(1) as f64;
    let (rows, bytes) = (per(stats.rows, stats.batches), per(stats.bytes, stats.batches));
    println!(
        "{weight:?}: {callers} callers, {:.0} lives/s, {:.0} commits/s; a commit: {rows:.1} rows, {bytes:.0} bytes, \
         {:.3} calls, p50 {:.1} ms, p99 {:.1} ms; {} conflicts",
        per(lives.load(Ordering::Relaxed), 1) / elapsed,
        per(stats.batches, 1) / elapsed,
        per(stats.groups, stats.batches),
        at(50),
        at(99),
        stats.conflicts,
    );
    stats.batches
}

async fn live(store: &dyn Store, weight: Weight, caller: usize, life: u64, waits: &mut Vec<Duration>) {
    let partition =
        Partition(u16::try_from((caller * 31 + usize::try_from(life).expect("small")) % 64).expect("small"));
    let key = Key::new(format!("x-{caller:04}-{life:016x}-0123456789"));
    let mut version = None;
    for step in 0..3_u64 {
        let id = Version((u128::from(life) << 64) | (caller as u128) << 8 | u128::from(step) | 1 << 127);
        let mut batch = Batch::new(partition, id);
        batch.expect.push((key.clone(), version));
        let name =
            ["ready/default/main", "running/default/main", "ended/default/done"][usize::try_from(step).unwrap_or(0)];
        let mut entries = vec![Entry { name: IndexName::new(name), rank: life }];
        let mut due = None;
        if weight == Weight::Full {
            entries.push(Entry { name: IndexName::new("list/default"), rank: life });
            due = (step == 1).then_some(1_700_000_000_000 + life);
            batch.events.push(Bytes::from(vec![b'e'; 150]));
        }
        batch.put.push(Record { key: key.clone(), version: id, body: Bytes::from(vec![b'x'; 300]), entries, due });
        let started = Instant::now();
        let outcomes = store.commit(vec![batch]).await.expect("the store takes it");
        waits.push(started.elapsed());
        assert!(matches!(outcomes[0], Outcome::Committed { .. }), "{outcomes:?}");
        version = Some(id);
    }
}
