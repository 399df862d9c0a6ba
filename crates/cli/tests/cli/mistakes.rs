//! Mistakes in what was typed: each has its code, its hint and its exit code, and changes nothing.

use crate::program::Workdir;
use serde_json::{Value, json};

/// Arguments, code and exit code of what is refused before a store is opened.
const BEFORE: &[(&[&str], &str, i32)] = &[
    (&["submit"], "usage", 2),
    (&["submit", "k", "--what"], "usage", 2),
    (&["nonsense"], "usage", 2),
    (&["submit", "k", "--priority", "70000"], "usage", 2),
    (&["submit", "k", "--delay", "1s", "--at", "2030-01-01T00:00:00Z"], "usage", 2),
    (&["ls", "--limit", "0"], "usage", 2),
    (&["submit", ""], "invalid_name", 2),
    (&["submit", "line\nbreak"], "invalid_name", 2),
    (&["submit", "k", "--lane", "a/b"], "invalid_name", 2),
    (&["submit", "k", "--namespace", "a b"], "invalid_name", 2),
    (&["submit", "k", "--requires", "two words"], "invalid_name", 2),
    (&["submit", "k", "--tag", "=v"], "invalid_name", 2),
    (&["submit", "k", "--key", ""], "invalid_name", 2),
    (&["submit", "k", "--tag", "alone"], "invalid_tag", 2),
    (&["submit", "k", "--input", "{"], "payload_not_json", 2),
    (&["submit", "k", "--input", ""], "payload_not_json", 2),
    (&["submit", "k", "--input", "plain text"], "payload_not_json", 2),
    (&["submit", "k", "--input", "@missing.json"], "input_unreadable", 2),
    (&["submit", "k", "--input", "@."], "input_unreadable", 2),
    (&["submit", "k", "--input", "1", "--content-type", ""], "invalid_content_type", 2),
    (&["submit", "k", "--delay", "tomorrow"], "invalid_duration", 2),
    (&["submit", "k", "--delay", "-5s"], "invalid_duration", 2),
    (&["submit", "k", "--delay", "10"], "invalid_duration", 2),
    (&["submit", "k", "--at", "tomorrow"], "invalid_time", 2),
    (&["submit", "k", "--at", "2030-01-01"], "invalid_time", 2),
    (&["submit", "k", "--at", "1969-12-31T23:59:59Z"], "invalid_time", 2),
    (&["get", "nonsense"], "invalid_id", 2),
    (&["get", "x-0192f0c8-0000-7000-8000-000000000001"], "invalid_id", 2),
    (&["get", "X-0192F0C8-0000-7000-8000-000000000001-17"], "invalid_id", 2),
    (&["ls", "--tag", "customer"], "invalid_tag", 2),
    (&["ls", "--since", "yesterday"], "invalid_time", 2),
    (&["ls", "--state", "done"], "invalid_state", 2),
    (&["ls", "--store", "mysql://localhost"], "unknown_store_scheme", 2),
    (&["submit", "k", "--store", "onward.db"], "unknown_store_scheme", 2),
    (&["submit", "k", "--store", "sqlite:"], "malformed_store_address", 2),
    (&["submit", "k", "--store", "sqlite::memory:"], "malformed_store_address", 2),
    (&["submit", "k", "--store", "sqlite:no/such/folder.db"], "store_unsuitable", 5),
    (&["submit", "k", "--store", "sqlite:."], "store_unsuitable", 5),
    (&["get", "x-0192f0c8-0000-7000-8000-000000000001-17"], "store_missing", 5),
    (&["ls"], "store_missing", 5),
    (&["serve", "--server", "http://localhost:1"], "usage", 2),
    (&["config", "check", "--server", "http://localhost:1"], "usage", 2),
    (&["demo", "--store", "memory:"], "bench_store", 2),
    (&["--store", "memory:", "demo"], "bench_store", 2),
    (&["demo", "--store", "postgres:"], "bench_store", 2),
];

#[test]
fn mistakes_are_found_before_anything_is_made() {
    let place = Workdir::new();
    for (args, code, exit) in BEFORE {
        place.run(args).refused(code, *exit);
        let made: Vec<_> = std::fs::read_dir(place.path("")).unwrap().collect();
        assert!(made.is_empty(), "{args:?} made {made:?}");
    }
}

#[test]
fn payloads_beyond_the_limits_are_refused() {
    let place = Workdir::new();
    let large = format!("\"{}\"", "x".repeat(512 * 1024));
    std::fs::write(place.path("large.json"), &large).unwrap();
    place.run(&["submit", "k", "--input", "@large.json"]).refused("payload_too_large", 2);
    place.run_with(&["submit", "k", "--input", "-"], large.as_bytes()).refused("payload_too_large", 2);
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    place.run_with(&["submit", "k", "--input", "-"], deep.as_bytes()).refused("payload_too_deep", 2);
    place.run_with(&["submit", "k", "--input", "-"], b"\"\xff\"").refused("payload_not_json", 2);
    assert!(!place.db().exists());
}

#[test]
fn what_the_rules_refuse_changes_nothing() {
    let place = Workdir::new();
    let id = place.submit(&["k"]);
    let before = place.json(&["ls"]);
    for (args, code, exit) in [
        (&["submit", "k", "--at", "2020-01-01T00:00:00Z"][..], "time_in_past", 1),
        (&["submit", "k", "--priority", "9001"], "invalid_argument", 1),
        (&["submit", "k", "--delay", "9999d"], "invalid_argument", 1),
        (&["get", "x-0192f0c8-0000-7000-8000-000000000001-17"], "execution_not_found", 4),
        (&["get", "x-0192f0c8-0000-7000-8000-000000000001-65535"], "execution_not_found", 4),
        (&["get", &id, "--namespace", "other"], "execution_not_found", 4),
        (&["ls", "--after", "x-0192f0c8-0000-7000-8000-000000000001-17"], "invalid_argument", 1),
    ] {
        place.run(args).refused(code, exit);
        assert_eq!(place.json(&["ls"]), before, "{args:?}");
    }
    let tags: Vec<String> = (0..17).map(|n| format!("t{n}=1")).collect();
    let tags: Vec<&str> = tags.iter().flat_map(|tag| ["--tag", tag]).collect();
    place.run(&[&["submit", "k"], &tags[..]].concat()).refused("invalid_argument", 1);
    assert_eq!(place.json(&["ls"]), before);
}

#[test]
fn programs_get_errors_as_json() {
    let place = Workdir::new();
    for (args, code, exit) in [
        (&["--json", "get", "nonsense"][..], "invalid_id", 2),
        (&["--json", "submit", "k", "--what"], "usage", 2),
        (&["--json"], "usage", 2),
        (&["ls", "--json"], "store_missing", 5),
    ] {
        let ran = place.run(args);
        assert_eq!((ran.exit, ran.out.as_str(), ran.err.lines().count()), (exit, "", 1), "{}", ran.err);
        let error: Value = serde_json::from_str(&ran.err).unwrap();
        assert_eq!(error["error"]["code"], json!(code));
        for field in ["message", "hint"] {
            assert!(error["error"][field].as_str().is_some_and(|text| text.len() > 5), "{}", ran.err);
        }
    }
}
