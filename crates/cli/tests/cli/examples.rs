//! The examples of the folder `examples` that wait, run as their first lines say.

use crate::program::Workdir;
use crate::serving::{Foreign, PYTHON, repository};
use std::process::Command;

#[test]
fn two_of_three_reviewers_approve_a_payout_by_links() {
    let mut script = Command::new("sh");
    script.arg(repository().join("examples/payout.sh")).env("ONWARD", env!("CARGO_BIN_EXE_onward"));
    let ran = script.env_remove("ONWARD_STORE").output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{out}\n{err}");
    for line in [
        "ada approves: counted",
        "ada approves again: counted",
        "bob rejects: buffered",
        "eve approves: resumed",
        "the same attempt goes on: attempt 1",
        "paid",
    ] {
        assert!(out.contains(line), "{line:?} is missing in\n{out}");
    }
    assert!(out.contains("Pay 1,250.00 to supplier 7?"), "{out}");
}

#[test]
fn a_worker_in_python_waits_for_an_editor_and_a_printer() {
    let place = Workdir::new();
    let (_server, url) = place.serve(&[]);
    let _worker = Foreign::start(PYTHON, "approval.py", &url);
    let there = |args: &[&str]| {
        let ran = place.run(&[&["--server", &url], args].concat());
        assert_eq!(ran.exit, 0, "{args:?}: {}", ran.err);
        ran.out
    };
    let submit = || {
        let said = there(&["submit", "publish", "--lane", "python", "--input", "\"Spring issue\""]);
        said.trim().strip_prefix("submitted ").unwrap().to_owned()
    };
    let until = |id: &str, state: &str| {
        assert!((0..5_000).any(|_| place.json(&["get", id])["state"] == state), "{id} is never {state}");
    };
    let (id, early) = (submit(), submit());
    until(&id, "suspended");
    assert!(there(&["signal", &id, "approval", "--name", "approved"]).contains("goes on"));
    until(&id, "suspended");
    there(&["signal", &id, "printed", "--payload", "{\"copies\": 500}"]);
    until(&id, "completed");
    assert!(there(&["result", &id]).contains("Spring issue: 500 copies"));
    // The printer is faster than the editor.
    until(&early, "suspended");
    there(&["signal", &early, "printed", "--payload", "{\"copies\": 7}"]);
    there(&["signal", &early, "approval", "--name", "approved"]);
    until(&early, "completed");
    assert!(there(&["result", &early]).contains("Spring issue: 7 copies"));
}

#[test]
fn tokens_are_made_checked_used_and_ended_by_the_command_line() {
    let place = Workdir::new();
    let id = place.submit(&["payout"]);
    let mint = |more: &[&str]| {
        let ran = place.run(&[&["token", "mint", &id, "review", "--for", "ada"], more].concat());
        assert_eq!(ran.exit, 0, "{}", ran.err);
        ran.out.trim().to_owned()
    };
    let (token, link) = (mint(&["--name", "yes"]), mint(&["--link", "https://onward.example.com/"]));
    assert!(
        token.starts_with("onward_token_v1.")
            && link.starts_with("https://onward.example.com/approve#onward_token_v1.")
    );
    let shown = place.run(&["token", "verify", &link]).out;
    assert!(shown.contains("review#1") && shown.contains("not waited for yet"), "{shown}");
    assert_eq!(place.json(&["token", "verify", &token])["choices"], serde_json::json!(["yes"]));
    place.run(&["token", "verify", &token[..40]]).refused("token_invalid", 1);
    assert!(place.run(&["token", "signal", &token, "--name", "yes"]).out.contains("kept until"));
    place
        .run(&["token", "mint", "x-01999999-0000-7000-8000-000000000000-1", "a", "--for", "b"])
        .refused("execution_not_found", 4);
    let keys = place.run(&["token", "rotate", "--grace", "0s"]).out;
    assert!(keys.contains("expired") && keys.contains("signs"), "{keys}");
    place.run(&["token", "verify", &token]).refused("token_expired", 1);
    // The secret that keys are bound to is one that can be read and is long enough.
    let short = place.path("short");
    std::fs::write(&short, "short").unwrap();
    let ran = place
        .command(&["token", "keys"])
        .env("ONWARD_TOKEN_SECRET_FILE", &short)
        .stderr(std::process::Stdio::piped())
        .output();
    assert!(String::from_utf8_lossy(&ran.unwrap().stderr).contains("error[token_secret_unusable]"));
}

#[test]
fn one_signal_goes_to_all_that_match() {
    let place = Workdir::new();
    for release in ["7", "7", "8"] {
        place.submit(&["wave", "--tag", &format!("release={release}")]);
    }
    let ran = place.run(&["bulk", "signal", "--tag", "release=7", "--wait", "go", "--name", "now"]);
    assert!(ran.exit == 0 && ran.out.contains("signal: 2 of 2 executions"), "{}{}", ran.out, ran.err);
    place.run(&["bulk", "signal", "--tag", "release=7"]).refused("usage", 2);
}
