//! What the commands do and print when all is well.

use crate::program::Workdir;
use serde_json::json;

#[test]
fn work_is_submitted_shown_and_listed() {
    let place = Workdir::new();
    let args = ["train", "--input", r#"{"steps": [1, 2.50]}"#, "--lane", "gpu", "--priority", "7", "--tag", "run=9"];
    let id = place.submit(&[&args[..], &["--requires", "gpu", "--requires", "linux", "--key", "run-9"]].concat());
    let found = place.json(&["get", &id]);
    assert_eq!(found["id"], json!(id));
    assert_eq!((&found["kind"], &found["lane"], &found["state"]), (&json!("train"), &json!("gpu"), &json!("waiting")));
    assert_eq!((&found["priority"], &found["attempts"]), (&json!(7), &json!(0)));
    assert_eq!((&found["tags"], &found["requires"]), (&json!({ "run": "9" }), &json!(["gpu", "linux"])));
    assert_eq!((&found["idempotency_key"], &found["input"]), (&json!("run-9"), &json!({ "steps": [1, 2.5] })));
    assert!(found["created_at"].is_u64() && found.get("result").is_none());

    let text = place.run(&["get", &id]);
    assert_eq!((text.exit, text.err.as_str()), (0, ""));
    assert!(text.out.lines().any(|line| line.starts_with("state ") && line.ends_with(" waiting")), "{}", text.out);
    assert!(
        text.out.lines().any(|line| line.starts_with("idempotency_key ") && line.ends_with(" run-9")),
        "{}",
        text.out
    );
    assert!(text.out.lines().any(|line| line.starts_with("created_at ") && line.ends_with('Z')), "{}", text.out);
    assert!(!text.out.contains('\x1b'), "a pipe gets no colours");

    let long = place.submit(&["long", "--lane", "gpu", "--input", &format!("\"{}\"", "ä".repeat(1_000))]);
    let text = place.run(&["get", &long]).out;
    assert!(text.contains(&format!("\"{}... (2002 bytes; see all with --json)", "ä".repeat(399))), "{text}");

    let listed = place.json(&["ls", "--kind", "train"]);
    assert_eq!((&listed["scanned"], &listed["executions"][0]["id"]), (&json!(2), &json!(id)));
    let text = place.run(&["ls", "--kind", "train"]).out;
    assert!(text.contains(&id) && text.ends_with("1 shown, 2 scanned\n"), "{text}");
}

#[test]
fn a_key_stands_for_one_execution() {
    let place = Workdir::new();
    let submit = |input: &str| place.run(&["submit", "bill", "--key", "order-17", "--input", input]);
    let (first, again) = (submit("1"), submit("1"));
    let id = first.out.strip_prefix("submitted ").unwrap();
    assert_eq!(again.out, format!("submitted before, under the same key: {id}"));
    submit("2").refused("idempotency_mismatch", 1);
    assert_eq!(place.json(&["ls"])["scanned"], json!(1));
}

#[test]
fn input_comes_from_files_and_pipes_too() {
    let place = Workdir::new();
    std::fs::write(place.path("in.json"), " [1, 2] ").unwrap();
    let id = place.submit(&["sum", "--input", "@in.json"]);
    assert_eq!(place.json(&["get", &id])["input"], json!([1, 2]));
    let piped = place.run_with(&["submit", "sum", "--input", "-"], b"{\"a\": null}");
    let id = piped.out.trim().strip_prefix("submitted ").unwrap();
    assert_eq!(place.json(&["get", id])["input"], json!({ "a": null }));
    let negative = place.submit(&["sum", "--input", "-17"]);
    assert_eq!(place.json(&["get", &negative])["input"], json!(-17));
    std::fs::write(place.path("page.png"), [0, 255, 10, 13]).unwrap();
    let id = place.submit(&["scan", "--input", "@page.png", "--content-type", "image/png"]);
    let found = place.json(&["get", &id]);
    assert_eq!(found["input_bytes"], json!({ "content_type": "image/png", "base64": "AP8KDQ==" }));
    assert!(found.get("input").is_none());
    let text = place.run(&["get", &id]).out;
    assert!(text.contains(r#"{"bytes":4,"content_type":"image/png"}"#), "{text}");
}

#[test]
fn delays_and_times_are_kept() {
    let place = Workdir::new();
    let found = place.json(&["get", &place.submit(&["remind", "--delay", "1h30m"])]);
    assert_eq!(found["state"], json!("delayed"));
    assert_eq!(found["ready_at"].as_u64().unwrap() - found["created_at"].as_u64().unwrap(), 5_400_000);
    let id = place.submit(&["remind", "--at", "2033-05-18T05:33:20+02:00"]);
    assert_eq!(place.json(&["get", &id])["ready_at"], json!(2_000_000_000_000_u64));
    let text = place.run(&["get", &id]).out;
    assert!(text.contains("2033-05-18T03:33:20.000Z"), "{text}");
}

#[test]
fn listings_filter_page_and_say_how_much_they_scanned() {
    let place = Workdir::new();
    let mut ids = Vec::new();
    for n in 0..6 {
        let lane = if n % 2 == 0 { "even" } else { "odd" };
        let delay = if n == 5 { "1h" } else { "0s" };
        ids.push(place.submit(&[if n < 3 { "low" } else { "high" }, "--lane", lane, "--delay", delay]));
    }
    let listed = |args: &[&str]| {
        let page = place.json(&[&["ls"], args].concat());
        let found: Vec<usize> = page["executions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|found| ids.iter().position(|id| found["id"] == json!(id)).unwrap())
            .collect();
        (found, page["scanned"].as_u64().unwrap(), page["next"].as_str().map(str::to_owned))
    };
    let sorted = |(mut found, scanned, more): (Vec<usize>, u64, Option<String>)| {
        found.sort_unstable();
        (found, scanned, more)
    };
    assert_eq!(sorted(listed(&[])), (vec![0, 1, 2, 3, 4, 5], 6, None));
    assert_eq!(sorted(listed(&["--lane", "even"])), (vec![0, 2, 4], 6, None));
    assert_eq!(sorted(listed(&["--kind", "high", "--lane", "odd"])), (vec![3, 5], 6, None));
    assert_eq!(listed(&["--state", "delayed"]), (vec![5], 1, None), "only what is due is looked at");
    assert_eq!(listed(&["--state", "failed"]), (vec![], 0, None), "only what has failed is looked at");
    assert_eq!(listed(&["--state", "waiting", "--lane", "odd"]), (vec![1, 3], 2, None), "in the order of its queue");
    assert_eq!(sorted(listed(&["--since", "2020-01-01T00:00:00Z"])).0.len(), 6);
    assert_eq!(listed(&["--until", "2020-01-01T00:00:00Z"]), (vec![], 0, None));
    place.json(&["tag", &ids[2], "--set", "customer=42"]);
    assert_eq!(listed(&["--tag", "customer=42"]), (vec![2], 1, None));
    let counts = place.json(&["count"]);
    assert_eq!((&counts["waiting"]["n"], &counts["total"]), (&json!(5), &json!({ "n": 6, "capped": false })));
    assert_eq!(listed(&["--namespace", "other"]), (vec![], 0, None));
    let (first, scanned, more) = listed(&["--limit", "4"]);
    let more = more.unwrap();
    assert_eq!(scanned, 4);
    assert!(more.ends_with(&ids[first[3]]), "{more}");
    let (rest, _, end) = listed(&["--limit", "4", "--after", &more]);
    assert_eq!((rest.len(), end), (2, None));
    assert!(rest.iter().all(|n| !first.contains(n)));
}

#[test]
fn help_shows_examples_and_exit_codes() {
    let place = Workdir::new();
    let help = place.run(&["--help"]);
    assert_eq!((help.exit, help.err.as_str()), (0, ""));
    for word in ["demo", "submit", "get", "ls", "Exit codes:", "the store failed", "ONWARD_STORE", "sqlite:onward.db"] {
        assert!(help.out.contains(word), "{word}: {}", help.out);
    }
    assert!(!help.out.contains("churn") && !help.out.contains('\x1b'), "{}", help.out);
    for command in ["demo", "submit", "get", "ls"] {
        let help = place.run(&[command, "--help"]);
        assert!(help.exit == 0 && help.out.contains("Example"), "{command}: {}", help.out);
    }
    assert!(place.run(&["--version"]).out.starts_with("onward 0."));
    let nothing = place.run(&[]);
    assert!(nothing.exit == 2 && nothing.err.contains("Usage:"), "{}", nothing.err);
    assert!(!place.db().exists());
}

#[test]
fn the_options_of_the_program_can_stand_anywhere() {
    let place = Workdir::new();
    let store = format!("sqlite:{}", place.path("other.db").display());
    let ran = place.run(&["submit", "x", "--json", "--store", &store]);
    assert!(ran.out.starts_with('{'), "{}", ran.out);
    assert!(place.path("other.db").exists() && !place.db().exists());
    let loud = place.run(&["-vv", "--store", &store, "ls"]);
    assert!(loud.exit == 0 && loud.out.contains("1 shown"), "{}", loud.err);
}

#[test]
fn json_is_shown_exactly_as_it_was_given() {
    let place = Workdir::new();
    let input = r#"{"n":123456789012345678901234567890,"b":2.50,"a":1,"a":2}"#;
    let id = place.submit(&["echo", "--input", input]);
    for args in [&["--json", "get", &id][..], &["get", &id][..]] {
        let shown = place.run(args).out;
        assert!(shown.contains(input), "{shown}");
    }
}

#[test]
fn an_answer_that_cannot_be_written_is_an_error() {
    let place = Workdir::new();
    place.submit(&["echo"]);
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let ran = place.command(&["ls"]).stdout(full).stderr(std::process::Stdio::piped()).output().unwrap();
    assert_eq!(ran.status.code(), Some(5));
    let said = String::from_utf8(ran.stderr).unwrap();
    assert!(said.starts_with("error[system]: the answer cannot be written"), "{said}");
}
