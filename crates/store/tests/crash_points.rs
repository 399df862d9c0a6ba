//! Whether every acknowledged commit survives a power cut: a recorded run is cut off at every sync and at random places.
//!
//! A child process commits under `strace`, which records each write, sync and acknowledgement. The recording is replayed
//! into a model of a disk that keeps what was synced and any part of what was not. At each cut the files are laid out as
//! that disk would show them, opened with the real store and checked. The same procedure must find losses when the
//! child runs with syncing off, or it would prove nothing.

#![cfg(all(feature = "sqlite", target_os = "linux"))]

#[path = "crash_points/check.rs"]
mod check;
#[path = "crash_points/disk.rs"]
mod disk;
#[path = "crash_points/trace.rs"]
mod trace;

use disk::{Chance, Disk};
use std::collections::BTreeSet;
use std::path::Path;
use trace::Event;

const OPERATIONS: u64 = 2_000;
const CUTS: usize = 500;
const SEED: u64 = 42;

/// What a replay found.
#[derive(Default)]
struct Found {
    boundaries: usize,
    cuts: usize,
    operations_checked: usize,
    losses: Vec<String>,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_acknowledged_is_lost_at_any_cut() {
    let events = trace::record("full", OPERATIONS);
    let acknowledged = events.iter().filter(|event| matches!(event, Event::Acknowledged(_))).count();
    assert_eq!(acknowledged as u64, OPERATIONS, "the recording is complete");
    let found = replay(&events, CUTS).await;
    println!("sync boundaries replayed: {}", found.boundaries);
    println!("random cuts replayed: {}", found.cuts);
    println!("acknowledged operations checked: {}", found.operations_checked);
    assert!(found.boundaries > 100, "too few syncs to show anything: {}", found.boundaries);
    assert_eq!(found.cuts, CUTS);
    assert!(found.losses.is_empty(), "{} losses: {:#?}", found.losses.len(), found.losses);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_test_fails_with_syncing_off() {
    let events = trace::record("off", OPERATIONS / 5);
    let found = replay(&events, CUTS / 10).await;
    println!("losses found with syncing off: {} in {} cuts", found.losses.len(), found.boundaries + found.cuts);
    let lost = found.losses.iter().filter(|loss| loss.contains("lost")).count();
    assert!(lost > 0, "a run without syncs lost nothing: the test cannot see losses");
}

/// Replays a recording and checks what is left at the end of each sync's reign, and at random places in between.
async fn replay(events: &[Event], cuts: usize) -> Found {
    let mut chance = Chance::new(SEED);
    let mut cut_at: Vec<usize> = (0..cuts).map(|_| chance.below(events.len())).collect();
    cut_at.sort_unstable();
    let mut next_cuts = cut_at.into_iter().peekable();
    let (mut disk, mut found) = (Disk::default(), Found::default());
    let mut acknowledged: BTreeSet<u64> = BTreeSet::new();
    for (at, event) in events.iter().enumerate() {
        if matches!(event, Event::SyncEnded { .. }) {
            // The last moment at which only the syncs before this one count, with most acknowledged.
            found.boundaries += 1;
            let place = workplace();
            disk.lay_out_synced(place.path());
            found.verify(place.path(), &acknowledged, &format!("event {at}, only what was synced")).await;
        }
        disk.apply(event);
        if let Event::Acknowledged(operation) = event {
            acknowledged.insert(*operation);
        }
        while next_cuts.next_if_eq(&at).is_some() {
            found.cuts += 1;
            let place = workplace();
            disk.lay_out_torn(place.path(), &mut chance);
            found.verify(place.path(), &acknowledged, &format!("event {at}, some of what was not synced")).await;
        }
    }
    found.boundaries += 1;
    let place = workplace();
    disk.lay_out_synced(place.path());
    found.verify(place.path(), &acknowledged, "the end of the run").await;
    found
}

impl Found {
    async fn verify(&mut self, place: &Path, acknowledged: &BTreeSet<u64>, cut: &str) {
        match check::check(&place.join(trace::DATABASE), acknowledged).await {
            Ok(()) => self.operations_checked += acknowledged.len(),
            Err(loss) => self.losses.push(format!("{cut}: {loss}")),
        }
    }
}

/// A directory for one cut; in memory where there is such a place, since nothing here needs the disk.
fn workplace() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a directory")
}
