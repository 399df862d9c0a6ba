//! What operators do at the command line: look, cancel, steer, run again, remove, and change lanes.

use crate::program::Workdir;
use serde_json::json;

#[test]
fn work_is_explained_cancelled_replayed_and_purged() {
    let place = Workdir::new();
    let id = place.submit(&["send", "--lane", "mails", "--requires", "smtp"]);
    let why = place.json(&["why", &id]);
    assert_eq!((&why["state"], &why["reason"]["type"]), (&json!("waiting"), &json!("waiting_for_worker")));
    assert_eq!(why["unblocked_by"][0], json!({ "type": "claim", "lane": "mails", "requires": ["smtp"] }));
    let text = place.run(&["why", &id]).out;
    assert!(text.contains("moves on when a worker of lane mails with smtp claims it"), "{text}");

    let cancelled = place.run(&["cancel", &id, "--reason", "ordered twice"]);
    assert_eq!((cancelled.exit, cancelled.out.as_str()), (0, format!("cancelled {id}\n").as_str()));
    assert_eq!(place.json(&["get", &id])["cancelled"], json!({ "by": "operator", "reason": "ordered twice" }));
    place.run(&["cancel", &id]).refused("execution_finished", 1);
    place.run(&["result", &id]).refused("execution_cancelled", 1);

    assert_eq!(place.json(&["replay", &id])["outcome"], json!({ "type": "replayed", "replays": 1 }));
    place.run(&["purge", &id]).refused("execution_not_finished", 1);
    place.json(&["cancel", &id]);
    let history = place.json(&["history", &id]);
    let steps = history["transitions"].as_array().unwrap();
    let types: Vec<&str> = steps.iter().map(|step| step["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["submitted", "cancelled", "replayed", "cancelled"]);
    assert_eq!((&steps[1]["cancelled_by"], &steps[1]["reason"]), (&json!("operator"), &json!("ordered twice")));
    let text = place.run(&["history", &id]).out;
    let details = r#"{"cancelled_by":"operator","reason":"ordered twice"}"#;
    assert!(text.lines().nth(1).unwrap().ends_with(&format!("  cancelled         {details}")), "{text}");
    assert_eq!(place.json(&["purge", &id])["outcome"], json!({ "type": "purged" }));
    for command in ["get", "why", "purge", "history", "attempts", "result"] {
        place.run(&[command, &id]).refused("execution_not_found", 4);
    }
}

#[test]
fn results_and_attempts_are_shown() {
    let place = Workdir::new();
    let worker = place.start(&["worker", "--name", "w"]);
    worker.says("ready");
    let id = place.submit(&["echo", "--input", r#"{"b": 2.50, "a": 1}"#]);
    worker.says(&format!("ran {id} "));
    while place.json(&["get", &id])["state"] != json!("completed") {}
    assert_eq!(place.run(&["result", &id]).out, "{\"a\":1,\"b\":2.5}\n", "what the handler returned and nothing else");
    let attempts = place.json(&["attempts", &id])["attempts"].take();
    assert_eq!((&attempts[0]["number"], &attempts[0]["end"]), (&json!(1), &json!({ "type": "succeeded" })));
    assert_eq!((&attempts[0]["worker"], attempts.as_array().unwrap().len()), (&json!("w"), 1));
    let text = place.run(&["attempts", &id]).out;
    assert!(text.lines().next().unwrap().starts_with("ATTEMPT  KIND"), "{text}");
}

#[test]
fn waiting_work_is_steered() {
    let place = Workdir::new();
    let id = place.submit(&["report", "--delay", "1h", "--tag", "draft=yes"]);
    assert_eq!(place.json(&["why", &id])["reason"]["chosen_by"], json!("submitted"));
    let text = place.run(&["reschedule", &id, "--at", "2033-05-18T03:33:20Z"]).out;
    assert_eq!(text, format!("{id} runs at 2033-05-18T03:33:20.000Z\n"));
    assert_eq!(place.json(&["why", &id])["reason"]["chosen_by"], json!("operator"));
    assert_eq!(place.run(&["reschedule", &id]).out, format!("{id} is ready\n"));
    assert_eq!(place.json(&["priority", &id, "7"])["outcome"], json!({ "type": "prioritised", "before": 0 }));
    place.json(&["tag", &id, "--set", "customer=42", "--remove", "draft"]);
    let found = place.json(&["get", &id]);
    assert_eq!((&found["state"], &found["priority"]), (&json!("waiting"), &json!(7)));
    assert_eq!(found["tags"], json!({ "customer": "42" }));
    assert_eq!(place.run(&["annotate", &id, "ask Ada first"]).out, format!("changed the note on {id}\n"));
    assert_eq!(place.json(&["get", &id])["note"], json!("ask Ada first"));
    place.run(&["revoke", &id]).refused("execution_not_active", 1);
    place.run(&["priority", &id, "9001"]).refused("invalid_argument", 1);
    place.run(&["tag", &id]).refused("usage", 2);
}

#[test]
fn lanes_are_listed_paused_and_given_defaults() {
    let place = Workdir::new();
    let id = place.submit(&["send", "--lane", "mails"]);
    assert_eq!(place.run(&["lane", "pause", "mails"]).out, "lane mails is paused: submissions wait\n");
    assert_eq!(place.json(&["why", &id])["reason"], json!({ "type": "lane_paused", "lane": "mails" }));
    let changed = place.json(&["lane", "set", "mails", "--retries", "10", "--retention", "30d"]);
    assert_eq!((&changed["lane"], &changed["defaults"]["retry"]["max_retries"]), (&json!("mails"), &json!(10)));
    let lanes = place.json(&["lane", "ls"])["lanes"].take();
    assert_eq!(
        (&lanes[0]["lane"], &lanes[0]["state"], &lanes[0]["ready"]),
        (&json!("mails"), &json!("paused"), &json!(1))
    );
    let later = place.submit(&["send", "--lane", "mails"]);
    assert_eq!(place.json(&["get", &later])["policy"]["retention"], json!(2_592_000_000_u64));
    place.json(&["lane", "drain", "mails"]);
    place.run(&["submit", "send", "--lane", "mails"]).refused("lane_draining", 1);
    assert_eq!(place.json(&["lane", "resume", "mails"])["state"], json!("open"));
    place.run(&["lane", "set", "mails", "--retention", "1s"]).refused("invalid_argument", 1);
}

#[test]
fn keys_deadlines_and_policies_can_be_typed() {
    let place = Workdir::new();
    let args = ["sync", "--unique", "customer-7", "--deadline", "2h", "--retries", "0", "--attempt-timeout", "10m"];
    let id = place.submit(&args);
    let again = place.run(&[&["submit"], &args[..]].concat());
    assert_eq!(again.out, format!("submitted before, under the same key: {id}\n"));
    let found = place.json(&["get", &id]);
    assert_eq!((&found["unique_key"], &found["policy"]["attempt_timeout"]), (&json!("customer-7"), &json!(600_000)));
    assert_eq!(found["expires_at"].as_u64().unwrap() - found["created_at"].as_u64().unwrap(), 7_200_000);
    let text = place.run(&["get", &id]).out;
    assert!(["expires_at ", "unique_key "].iter().all(|name| text.contains(name)), "{text}");
    place.run(&["submit", "sync", "--unique", "a", "--key", "b"]).refused("usage", 2);
}

#[test]
fn events_are_shown_filtered_resumed_and_followed() {
    let place = Workdir::new();
    let id = place.submit(&["send"]);
    let follower = place.start(&["events", "--follow", "--endings"]);
    place.json(&["cancel", &id]);
    assert!(follower.says("20").contains("cancelled"), "it is told as it happens");
    let lines: Vec<serde_json::Value> =
        place.run(&["--json", "events"]).out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!((&lines[0]["event"]["type"], &lines[1]["event"]["type"]), (&json!("submitted"), &json!("cancelled")));
    let behind = lines[0]["cursor"].as_str().unwrap();
    let rest = place.run(&["--json", "events", "--after", behind]).out;
    assert_eq!(serde_json::from_str::<serde_json::Value>(rest.trim()).unwrap(), lines[1]);
    assert_eq!(place.run(&["events", "--what", "submitted", "--execution", &id]).out.lines().count(), 1);
    place.run(&["events", "--what", "sumbitted"]).refused("invalid_event", 2);
    place.run(&["events", "--after", "yesterday"]).refused("invalid_argument", 1);
}

#[test]
fn bulk_actions_count_first_and_then_act_on_all_that_match() {
    let place = Workdir::new();
    let ids: Vec<String> =
        (0..6).map(|n| place.submit(&["send", "--lane", if n < 4 { "mails" } else { "other" }])).collect();
    place.run(&["bulk", "cancel"]).refused("usage", 2);
    let dry = place.run(&["bulk", "cancel", "--lane", "mails", "--dry-run"]);
    assert_eq!((dry.exit, dry.out.as_str()), (0, "cancel would be done with 4 executions (6 looked at)\n"));
    assert_eq!(place.json(&["count"])["cancelled"]["n"], json!(0), "nothing was done");
    let done = place.json(&["bulk", "cancel", "--lane", "mails", "--reason", "a mistake"]);
    assert_eq!((&done["done"], &done["matched"], &done["refused"]), (&json!(4), &json!(4), &json!({})));
    assert_eq!(place.json(&["get", &ids[0]])["cancelled"]["reason"], json!("a mistake"));
    assert_eq!(place.json(&["bulk", "replay", "--state", "cancelled"])["done"], json!(4));
    assert_eq!(place.json(&["bulk", "cancel", "--all"])["done"], json!(6));
    assert_eq!(place.json(&["bulk", "purge", "--all"])["done"], json!(6));
    assert_eq!(place.json(&["count"])["total"]["n"], json!(0));
}

#[test]
fn shells_can_complete_commands() {
    let place = Workdir::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = place.run(&["completions", shell]);
        assert!(script.exit == 0 && script.out.contains("reschedule"), "{shell}");
    }
}
