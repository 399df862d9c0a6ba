//! Every scenario, tiny: that it runs and answers in the promised shape, never how fast.

use super::report::Report;
use super::*;
use serde_json::Value;

/// Tells the test program that it is a child, and of which store.
pub(super) const CHILD_URL: &str = "ONWARD_BENCH_CHILD";

pub(super) fn quick(scenario: Scenario) -> BenchArgs {
    BenchArgs { scenario, callers: None, duration: None, rounds: None, quick: true, finished: None, waiting: None }
}

async fn tiny(scenario: Scenario, site: &Site) -> Report {
    let size = Size::new(&quick(scenario)).unwrap();
    measure(scenario, site, &size).await.unwrap()
}

fn check(report: &Report, bars: &[&str]) {
    let json = report.json();
    let keys: Vec<&String> = json.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["bars", "figures", "notes", "scenario", "store", "success_ratio"]);
    assert!(json["figures"].as_object().is_some_and(|figures| !figures.is_empty()));
    let strict = ["latency", "recovery", "costs", "queues", "messages"].contains(&report.scenario);
    assert_eq!(json["success_ratio"], if strict { Value::Null } else { 1.0.into() });
    let found = json["bars"].as_array().unwrap();
    let names: Vec<&str> = found.iter().filter_map(|bar| bar["name"].as_str()).collect();
    assert_eq!(names, bars);
    for bar in found {
        assert!(bar["value"].is_number() && bar["limit"].is_number() && bar["ok"].is_boolean(), "{bar}");
    }
    let text = report.text();
    assert!(bars.iter().all(|bar| text.contains(bar)), "{text}");
}

/// The scenarios of one process in the order in which they run, and the bars of each.
const OF_ONE_PROCESS: [(Scenario, &[&str]); 13] = [
    (Scenario::Idle, &["rows written", "reads", "processor"]),
    (
        Scenario::Lifecycle,
        &[
            "engine / raw",
            "engine / lean raw",
            "handed over / lean raw",
            "rows of a submit",
            "rows of a claim",
            "rows of a complete",
        ],
    ),
    (Scenario::Submit, &["many in a call, engine / raw"]),
    (Scenario::Latency, &["p50 to 1.5 × raw + 1 ms", "p99 to 3 × raw + 5 ms"]),
    (Scenario::Suspend, &["signal to running, p50 to 1.5 × raw + 1 ms", "suspended once / plain"]),
    (Scenario::Drain, &[]),
    (Scenario::Timers, &["late, p50", "late, p99 to max(50 ms, 5 × raw)"]),
    (Scenario::Midnight, &["all ready / submitting"]),
    (Scenario::Messages, &[]),
    (Scenario::Queues, &["reads of the first claim", "a later claim, many / one queue"]),
    (Scenario::Leases, &["cost of held leases", "leases that expired"]),
    (Scenario::Retention, &["while removing / without", "gone after so many times its retention"]),
    (Scenario::Costs, &[]),
];

fn check_lifecycle(report: &Report) {
    let json = report.json();
    for row in 3..6 {
        assert_eq!(json["bars"][row]["ok"], true, "the write budget is no matter of speed");
    }
    for side in ["engine", "raw", "lean raw"] {
        let rows = &json["figures"][format!("{side}, rows (rows/lifecycle)")]["median"];
        assert!(rows.as_f64().is_some_and(|rows| rows > 0.0), "{json}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scenarios_of_one_process_run_on_files() {
    let dir = tempfile::tempdir().unwrap();
    let site = Site::new(&format!("sqlite:{}/x.db", dir.path().display())).unwrap();
    for (scenario, bars) in OF_ONE_PROCESS {
        let report = tiny(scenario, &site).await;
        check(&report, bars);
        if scenario == Scenario::Lifecycle {
            check_lifecycle(&report);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_of_them_on_memory_skip_those_of_several_processes() {
    let size = Size::new(&quick(Scenario::All)).unwrap();
    let all = All::measure(&Site::new("memory:").unwrap(), &size, false).await;
    let json = all.json();
    assert_eq!(json["errors"], Value::Array(Vec::new()), "{json}");
    let skipped: Vec<_> = json["skipped"].as_array().unwrap().iter().map(|one| &one["scenario"]).collect();
    assert_eq!(skipped, ["recovery", "processes", "remote", "crowd", "growth", "bytes"]);
    let reports: Vec<&Report> = all.reports().collect();
    assert_eq!(reports.len(), OF_ONE_PROCESS.len());
    for (report, (scenario, bars)) in reports.iter().zip(OF_ONE_PROCESS) {
        assert_eq!(report.scenario, scenario.name());
        check(report, bars);
    }
    check_lifecycle(reports[1]);
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
        "first page, the slowest way",
        "counts",
        "start to ready",
        "anonymous memory",
    ];
    check(&growth, &bars);
    assert_eq!(growth.json()["figures"]["finished executions"], Value::from(500.0));
    let processes = tiny(Scenario::Processes, &site).await;
    check(&processes, &[]);
    assert_eq!(processes.json()["notes"].as_array().map(Vec::len), Some(1), "it says why there is no bar");
    let bytes = tiny(Scenario::Bytes, &site).await;
    check(&bytes, &[]);
    assert!(bytes.json()["figures"]["a finished execution (bytes)"].as_f64().is_some_and(|bytes| bytes > 200.0));
}

/// The scenarios that ask a server about itself, or share it among processes.
async fn on_a_server(store: &str) {
    let site = Site::new(store).unwrap();
    let processes = tiny(Scenario::Processes, &site).await;
    check(&processes, &["three / one", "conflicts of three"]);
    let bytes = tiny(Scenario::Bytes, &site).await;
    check(&bytes, &["a finished execution"]);
    check(&tiny(Scenario::Drain, &site).await, &[]);
    let costs = tiny(Scenario::Costs, &site).await;
    check(&costs, &[]);
    let asked = &costs.json()["figures"]["submit, warm: requests to the server"];
    assert_eq!(asked.as_f64(), Some(1.0), "a submit is one request: {}", costs.text());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scenarios_that_ask_the_server_run_on_postgres() {
    on_a_server("postgres:").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scenarios_that_ask_the_server_run_on_valkey() {
    on_a_server("valkey:").await;
}

#[tokio::test]
async fn what_needs_several_processes_is_refused_on_memory() {
    let site = Site::new("memory:").unwrap();
    for scenario in [Scenario::Recovery, Scenario::Processes, Scenario::Growth, Scenario::Bytes] {
        let size = Size::new(&quick(scenario)).unwrap();
        assert!(matches!(measure(scenario, &site, &size).await, Err(Error::Scratch(_))));
        assert!(site.lacks(scenario).is_some());
    }
    assert!(site.lacks(Scenario::Lifecycle).is_none());
}

#[tokio::test]
async fn too_little_waiting_work_for_every_turn_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let site = Site::new(&format!("sqlite:{}/x.db", dir.path().display())).unwrap();
    let size = Size::new(&BenchArgs { waiting: Some(3), ..quick(Scenario::Growth) }).unwrap();
    assert!(matches!(measure(Scenario::Growth, &site, &size).await, Err(Error::Option(_))));
}

/// As the child of another test this serves; by itself it starts such a child and asks it something.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_child_serves_until_its_input_ends() {
    if let Ok(url) = std::env::var(CHILD_URL) {
        return child::serve(&url).await.unwrap();
    }
    let dir = tempfile::tempdir().unwrap();
    let mut child = child::Child::start(&format!("sqlite:{}", dir.path().join("x.db").display())).await.unwrap();
    let memory = child.ask(&child::Ask::Memory).await.unwrap();
    assert!(matches!(memory, child::Answer::Memory(mib) if mib > 0.0));
    let tally = child.tally(&child::Ask::Lifecycles { lane: "a".into(), callers: 2, amount: 4 }).await.unwrap();
    assert_eq!((tally.tried, tally.done, tally.claims.len()), (4, 4, 4));
    child.kill().unwrap();
    assert!(matches!(child.ask(&child::Ask::Memory).await, Err(Error::Child(_) | Error::System(_))));
}
