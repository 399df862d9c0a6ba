//! Several processes on one file: work submitted by one wakes a worker in another, and timers find a new owner.

use crate::program::Workdir;
use serde_json::{Value, json};
use std::time::Instant;

/// Milliseconds between the submit and the claim of an execution.
fn waited(found: &Value) -> u64 {
    found["started_at"].as_u64().unwrap() - found["created_at"].as_u64().unwrap()
}

#[test]
fn a_parked_worker_is_woken_by_a_submit_in_another_process() {
    let place = Workdir::new();
    let worker = place.start(&["worker", "--name", "parked"]);
    worker.says("ready");
    // A sweep finds the work as well, only later; so what counts are the rounds in which none happened.
    let (mut woken, mut sweeps) = (0, "sweeps=0".to_owned());
    for round in 0..20 {
        let id = place.submit(&["echo", "--input", &round.to_string()]);
        let said = worker.says(&format!("ran {id} "));
        assert!(said.contains(" attempt=1 "), "{said}");
        let before = std::mem::replace(&mut sweeps, said.split(' ').next_back().unwrap().to_owned());
        let found = place.json(&["get", &id]);
        assert_eq!(found["worker"], json!("parked"));
        if before == sweeps {
            eprintln!("picked up {} ms after it was submitted in another process", waited(&found));
            woken += 1;
        }
        if woken == 5 {
            return;
        }
    }
    panic!("it was found by sweeps and woken only {woken} times");
}

#[test]
fn timers_and_lost_work_go_to_the_next_process() {
    let place = Workdir::new();
    let first = place.start(&["worker", "--name", "first", "--lease", "4s", "--lane", "a"]);
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
    let after = waited(&place.json(&["get", &delayed]));
    assert!(after >= 2_000, "{after}");
    eprintln!("the delayed execution ran {} ms after its time", after - 2_000);

    let third = place.start(&["worker", "--name", "third", "--lane", "a"]);
    third.says(&format!("running {held} attempt=2"));
    let lost = place.json(&["get", &held]);
    assert_eq!((&lost["worker"], &lost["reclaims"]), (&json!("third"), &json!(1)));
}

#[allow(clippy::disallowed_methods, reason = "prints how long something took; nothing depends on it")]
fn now() -> Instant {
    Instant::now()
}
