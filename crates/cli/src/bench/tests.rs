//! Every scenario, tiny: that it runs and answers in the promised shape, never how fast.

use super::report::Report;
use super::*;
use serde_json::Value;

/// Tells the test program that it is a child, and of which store.
pub(super) const CHILD_URL: &str = "ONWARD_BENCH_CHILD";

fn quick(scenario: Scenario) -> BenchArgs {
    BenchArgs { scenario, callers: None, duration: None, rounds: None, quick: true, finished: None, waiting: None }
}

async fn tiny(scenario: Scenario, site: &Site) -> Report {
    let size = Size::new(&quick(scenario)).unwrap();
    measure(scenario, site, &size).await.unwrap()
}

fn check(report: &Report, bars: &[&str]) {
    let json = report.json();
    let keys: Vec<&String> = json.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["bars", "figures", "scenario", "store", "success_ratio"]);
    assert!(json["figures"].as_object().is_some_and(|figures| !figures.is_empty()));
    assert_eq!(json["success_ratio"], 1.0);
    let found = json["bars"].as_array().unwrap();
    let names: Vec<&str> = found.iter().filter_map(|bar| bar["name"].as_str()).collect();
    assert_eq!(names, bars);
    for bar in found {
        assert!(bar["value"].is_number() && bar["limit"].is_number() && bar["ok"].is_boolean(), "{bar}");
    }
    let text = report.text();
    assert!(bars.iter().all(|bar| text.contains(bar)), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scenarios_of_one_process_run_on_any_store() {
    let dir = tempfile::tempdir().unwrap();
    for url in ["memory:".to_owned(), format!("sqlite:{}/x.db", dir.path().display())] {
        let site = Site::new(&url).unwrap();
        let rows = ["rows of a submit", "rows of a claim", "rows of a complete"];
        let ratios = ["engine / raw", "engine / lean raw"];
        let lifecycle = tiny(Scenario::Lifecycle, &site).await;
        check(&lifecycle, &[&ratios[..], &rows[..]].concat());
        for row in 2..5 {
            assert_eq!(lifecycle.json()["bars"][row]["ok"], true, "the write budget is no matter of speed");
        }
        check(&tiny(Scenario::Submit, &site).await, &["engine / raw"]);
        check(&tiny(Scenario::Latency, &site).await, &["p50 to 1.5 × raw + 1 ms", "p99 to 3 × raw + 5 ms"]);
        check(&tiny(Scenario::Timers, &site).await, &["late, p50", "late, p99 to max(50 ms, 5 × raw)"]);
        check(&tiny(Scenario::Leases, &site).await, &["cost of held leases", "leases that expired"]);
        check(&tiny(Scenario::Idle, &site).await, &["rows written", "reads", "processor"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scenarios_of_several_processes_run_on_files() {
    let dir = tempfile::tempdir().unwrap();
    let site = Site::new(&format!("sqlite:{}/x.db", dir.path().display())).unwrap();
    let recovery = tiny(Scenario::Recovery, &site).await;
    let kills = [
        "worker killed, to claimed again",
        "home killed, to claimed again",
        "only process killed, less its start, to claimed again",
    ];
    check(&recovery, &kills);
    let growth = tiny(Scenario::Growth, &site).await;
    let bars = [
        "grown / empty",
        "claim p99 under load to 1.5 × empty + 1 ms",
        "claim p99 beside waiting work to 1.5 × empty + 1 ms",
        "start to ready",
        "anonymous memory",
    ];
    check(&growth, &bars);
    assert_eq!(growth.json()["figures"]["finished executions"], Value::from(500.0));
}

#[tokio::test]
async fn what_needs_several_processes_is_refused_on_memory() {
    let site = Site::new("memory:").unwrap();
    for scenario in [Scenario::Recovery, Scenario::Growth] {
        let size = Size::new(&quick(scenario)).unwrap();
        assert!(matches!(measure(scenario, &site, &size).await, Err(Error::Url(_))));
    }
}

/// As the child of another test this serves; by itself it starts such a child and asks it something.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_child_serves_until_its_input_ends() {
    if let Ok(url) = std::env::var(CHILD_URL) {
        return child::serve(&url).await.unwrap();
    }
    let dir = tempfile::tempdir().unwrap();
    let mut child = child::Child::start(&dir.path().join("x.db")).await.unwrap();
    let memory = child.ask(&child::Ask::Memory).await.unwrap();
    assert!(matches!(memory, child::Answer::Memory(mib) if mib > 0.0));
    let tally = child.tally(&child::Ask::Lifecycles { lane: "a".into(), callers: 2, amount: 4 }).await.unwrap();
    assert_eq!((tally.tried, tally.done, tally.claims.len()), (4, 4, 4));
    child.kill().unwrap();
    assert!(matches!(child.ask(&child::Ask::Memory).await, Err(Error::Child(_) | Error::System(_))));
}
