//! Several processes on one file: work submitted by one wakes a worker in another, and timers find a new owner.

use crate::program::Place;
use jiff::Timestamp;
use serde_json::{Value, json};
use std::time::Instant;

fn time(value: &Value) -> Timestamp {
    value.as_str().unwrap().parse().unwrap()
}

#[test]
fn a_parked_worker_is_woken_by_a_submit_in_another_process() {
    let place = Place::new();
    let worker = place.start(&["worker", "--name", "parked"]);
    worker.says("ready");
    // The first one also makes the lane known; when it has run, the worker is parked again.
    for round in 0..5 {
        let id = place.submit(&["echo", "--input", &round.to_string()]);
        let said = worker.says(&format!("ran {id} "));
        assert!(said.ends_with(" attempt=1 sweeps=0"), "it was woken and not found by a sweep: {said}");
        let found = place.json(&["get", &id]);
        let took = time(&found["started_at"]).duration_since(time(&found["created_at"]));
        eprintln!("picked up {} ms after it was submitted in another process", took.as_millis());
        assert_eq!(found["worker"], json!("parked"));
    }
}

#[test]
fn timers_and_lost_work_go_to_the_next_process() {
    let place = Place::new();
    let first = place.start(&["worker", "--name", "first", "--lease", "1s", "--lane", "a"]);
    first.says("owner");
    let second = place.start(&["worker", "--name", "second", "--lane", "b"]);
    second.says("ready");
    let held = place.submit(&["hold", "--lane", "a"]);
    first.says(&format!("running {held} attempt=1"));
    let delayed = place.submit(&["echo", "--lane", "b", "--delay", "2s"]);
    let killed = now();
    assert!(first.kill().iter().all(|line| !line.starts_with("ran")));
    second.says("owner");
    eprintln!("the timers have a new owner {} ms after the kill", killed.elapsed().as_millis());

    let said = second.says(&format!("ran {delayed} "));
    assert!(said.contains("attempt=1"), "{said}");
    let found = place.json(&["get", &delayed]);
    let after = time(&found["started_at"]).duration_since(time(&found["created_at"]));
    eprintln!("the delayed execution ran {} ms after its time", after.as_millis() - 2_000);
    assert!(after.as_millis() >= 2_000);

    let third = place.start(&["worker", "--name", "third", "--lane", "a"]);
    third.says(&format!("running {held} attempt=2"));
    let lost = place.json(&["get", &held]);
    assert_eq!((&lost["worker"], &lost["reclaims"]), (&json!("third"), &json!(1)));
}

#[allow(clippy::disallowed_methods, reason = "prints how long something took; nothing depends on it")]
fn now() -> Instant {
    Instant::now()
}
