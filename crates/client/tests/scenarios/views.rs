//! What the `sqlite3` shell shows of a store.

use crate::world::{Kind, Way, World};
use onward::{Context, Failed, PublicState, RetryPolicy, Span, Worker};
use rusqlite::types::Value;
use std::time::Duration;

fn query(world: &World, sql: &str) -> Vec<Vec<String>> {
    let path = world.address().strip_prefix("sqlite:").unwrap();
    let shell = rusqlite::Connection::open(path).unwrap();
    let mut statement = shell.prepare(sql).unwrap();
    let columns = statement.column_count();
    let text = |value: Value| match value {
        Value::Null => "-".to_owned(),
        Value::Integer(number) => number.to_string(),
        Value::Text(text) => text,
        other => format!("{other:?}"),
    };
    let rows = statement.query_map([], |row| (0..columns).map(|column| row.get(column).map(text)).collect()).unwrap();
    rows.map(Result::unwrap).collect()
}

async fn odd(_ctx: Context, n: u32) -> Result<u32, Failed> {
    if n % 2 == 1 { Ok(n * 10) } else { Err(Failed::category("even", format_args!("{n} is even"))) }
}

#[tokio::test]
async fn views_show_executions_attempts_lanes_and_events() {
    let world = World::held(Kind::Sqlite, Way::Embedded).await;
    let client = &world.client;
    let worker = Worker::new(client).on("odd", odd).name("w").lanes(["numbers"]).start().unwrap();
    let submit = |n: u32| client.submit("odd", &n).lane("numbers");
    let one = submit(1).tag("parity", "odd").priority(7).await.unwrap().id;
    world.until_state(one, PublicState::Completed).await;
    let two = submit(2).retry(RetryPolicy::never()).await.unwrap().id;
    world.until_state(two, PublicState::Failed).await;
    let four = submit(4).await.unwrap().id;
    world.until_state(four, PublicState::Delayed).await;
    worker.drain().await.unwrap();
    let later = submit(3).delay(Duration::from_secs(60)).await.unwrap().id;
    let large = client.submit("bytes", &"x".repeat(5_000)).idempotency_key("k").await.unwrap().id;
    client.pause_lane("numbers").await.unwrap();

    let found = query(
        &world,
        "SELECT id, lane, kind, state, priority, attempts, worker, failure, message, input, result FROM executions ORDER BY created_at, id",
    );
    let mut states: Vec<(String, String)> = found.iter().map(|row| (row[0].clone(), row[3].clone())).collect();
    states.sort();
    let mut expected = Vec::new();
    for id in [one, two, four, later, large] {
        expected.push((id.to_string(), world.get(id).await.state.as_str().to_owned()));
    }
    expected.sort();
    assert_eq!(states, expected, "the view derives the same words as the rules");
    let row = |id: onward::ExecutionId| found.iter().find(|row| row[0] == id.to_string()).unwrap()[1..].join("|");
    assert_eq!(row(one), "numbers|odd|completed|7|1|w|-|-|1|10");
    assert_eq!(row(two), "numbers|odd|failed|0|1|w|even|2 is even|2|-");
    assert_eq!(row(four), "numbers|odd|delayed|0|1|w|even|4 is even|4|-");
    assert_eq!(row(later), "numbers|odd|delayed|0|0|-|-|-|3|-");
    assert_eq!(row(large), "default|bytes|waiting|0|0|-|-|-|-|-");

    let times =
        query(&world, "SELECT created_at, started_at, finished_at, ready_at FROM executions WHERE state = 'completed'");
    assert_eq!(times, [["2027-01-15T08:00:00.000Z", "2027-01-15T08:00:00.000Z", "2027-01-15T08:00:00.000Z", "-"]]);
    let attempts =
        query(&world, "SELECT attempt, kind, end, worker, failure FROM attempts ORDER BY execution, attempt");
    assert_eq!(attempts.len(), 3);
    for expected in [["1", "initial", "failed", "w", "even"], ["1", "initial", "succeeded", "w", "-"]] {
        assert!(attempts.contains(&expected.map(str::to_owned).to_vec()), "{attempts:?}");
    }
    assert_eq!(query(&world, "SELECT namespace, lane, state FROM lanes"), [["default", "numbers", "paused"]]);
    let events =
        query(&world, &format!("SELECT what, detail FROM events WHERE execution = '{one}' ORDER BY position, number"));
    let words: Vec<&str> = events.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(words, ["submitted", "claimed", "completed"]);
    assert_eq!(events[2][1], r#"{"attempt":1}"#);

    world.advance(Span::seconds(60));
    for id in [four, later] {
        world.until_state(id, PublicState::Waiting).await;
    }
    assert_eq!(query(&world, "SELECT count(*) FROM events WHERE what = 'ready'"), [["2"]]);
    client.shutdown().await.unwrap();
}
