//! The doctor at the command line: damage made by hand in the tables is told, repaired, and told no more.

use crate::program::Workdir;
use serde_json::json;

/// A store in which something is in every index, whose programs have all ended.
fn furnished() -> Workdir {
    let place = Workdir::new();
    place.submit(&["send", "--tag", "customer=42"]);
    place.submit(&["later", "--delay", "1h", "--unique", "only"]);
    let ended = place.submit(&["gone", "--lane", "mails"]);
    place.json(&["cancel", &ended]);
    place.json(&["lane", "pause", "mails"]);
    assert_eq!(place.json(&["doctor"])["healthy"], json!(true));
    place
}

fn shell(place: &Workdir, statement: &str) -> usize {
    rusqlite::Connection::open(place.db()).unwrap().execute(statement, []).unwrap()
}

#[test]
fn damage_made_by_hand_is_found_and_repaired() {
    // Each statement is a hand in the tables; the empty name is that of the due times.
    let damages = [
        ("DELETE FROM entries WHERE name LIKE 'ready/%'", "index_missing"),
        ("DELETE FROM entries WHERE name LIKE 'list/%'", "index_missing"),
        ("DELETE FROM entries WHERE name LIKE 'tag/%'", "index_missing"),
        ("DELETE FROM entries WHERE name LIKE 'ended/%'", "index_missing"),
        ("DELETE FROM entries WHERE name LIKE 'lanes/%'", "index_missing"),
        ("DELETE FROM entries WHERE name = 'queues'", "index_missing"),
        ("DELETE FROM entries WHERE name = ''", "index_missing"),
        ("UPDATE entries SET rank = rank + 1", "index_stray"),
        ("UPDATE entries SET partition = (partition + 1) % 64", "index_missing"),
        ("INSERT INTO entries VALUES ('list/default', 5, 'x-nobody', 7)", "index_stray"),
        ("UPDATE records SET due = due + 1 WHERE due IS NOT NULL", "index_differs"),
        ("UPDATE records SET entries = ''", "index_differs"),
        ("DELETE FROM records WHERE key LIKE 'queues/%'", "queue_missing"),
        ("DELETE FROM records WHERE key LIKE 'unique/%'", "unique_key_missing"),
        ("DELETE FROM records WHERE key LIKE 'lane/default/mails/1%'", "lane_copy_differs"),
    ];
    let place = furnished();
    for (statement, code) in damages {
        assert!(shell(&place, statement) > 0, "{statement} changes something");
        let looked = place.run(&["--json", "doctor"]);
        assert_eq!(looked.exit, 1, "{statement}: {}", looked.out);
        let report: serde_json::Value = serde_json::from_str(&looked.out).unwrap();
        assert!(report["faults"][code]["found"].as_u64().is_some_and(|found| found > 0), "{statement}: {report}");
        assert_eq!(report["faults"][code]["repaired"], json!(0));
        let repaired = place.json(&["doctor", "--repair"]);
        assert_eq!(repaired["healthy"], json!(true), "{statement}: {repaired}");
        assert_eq!(place.json(&["doctor"])["faults"], json!({}), "{statement}");
    }
    println!("kinds of damage made and repaired: {}", damages.len());
    assert_eq!(place.json(&["ls", "--tag", "customer=42"])["executions"].as_array().unwrap().len(), 1);
    assert_eq!(place.json(&["count"])["total"]["n"], json!(3));
}

#[test]
fn what_cannot_be_repaired_is_told_and_left() {
    let place = furnished();
    let newer = "UPDATE records SET body = '{\"v\":99}' WHERE key LIKE 'unique/%'";
    assert_eq!(shell(&place, newer), 1);
    let ran = place.run(&["doctor", "--repair"]);
    assert_eq!(ran.exit, 1);
    assert!(ran.out.contains("record_unreadable  unique/default/only: this version cannot read it"), "{}", ran.out);
    assert!(ran.out.contains("(left)"), "{}", ran.out);
    let kept: String = rusqlite::Connection::open(place.db())
        .unwrap()
        .query_row("SELECT body FROM records WHERE key LIKE 'unique/%'", [], |row| row.get(0))
        .unwrap();
    assert_eq!(kept, "{\"v\":99}", "nothing that cannot be read is touched");
}

#[test]
fn a_restored_copy_is_announced() {
    let place = furnished();
    let before = place.run(&["--json", "events"]).out;
    let cursor = serde_json::from_str::<serde_json::Value>(before.lines().last().unwrap()).unwrap()["cursor"].clone();
    let ran = place.run(&["doctor", "--after-restore"]);
    assert_eq!(ran.exit, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("told the readers of 64 feeds and the partitions of 1 lanes"), "{}", ran.out);
    assert!(ran.out.ends_with("everything agrees\n"), "{}", ran.out);
    let after = place.run(&["events", "--after", cursor.as_str().unwrap()]).out;
    assert!(after.starts_with("... older events were removed\n"), "{after}");
    assert_eq!(after.matches("restored").count(), 64, "{after}");
}

#[test]
fn watching_shows_changes_until_the_end() {
    let place = Workdir::new();
    let id = place.submit(&["send"]);
    let watching = place.start(&["--json", "get", &id, "--watch=100ms"]);
    watching.says("{");
    place.json(&["cancel", &id]);
    let last = std::iter::from_fn(|| watching.line()).last().unwrap();
    assert_eq!(serde_json::from_str::<serde_json::Value>(&last).unwrap()["state"], json!("cancelled"));
    assert_eq!(watching.ends(), 0);
    // What has ended is shown once.
    assert_eq!(
        place.run(&["why", &id, "--watch"]).out.lines().filter(|line| line.starts_with("cancelled:")).count(),
        1
    );
    place.run(&["get", &id, "--watch=soon"]).refused("invalid_duration", 2);
}
