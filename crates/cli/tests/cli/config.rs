//! The settings of a server: what `config check` shows and refuses, and that a server obeys them.

use crate::program::Workdir;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

impl Workdir {
    fn file(&self, text: &str) {
        std::fs::write(self.path("onward.toml"), text).unwrap();
    }
}

const CHECK: &[&str] = &["config", "check", "--config", "onward.toml"];

#[test]
fn a_check_shows_each_setting_and_where_it_came_from() {
    let place = Workdir::new();
    place.file("store = 'sqlite:other.db'\nbind = '127.0.0.1:9000'\nconnections = 20\nbatch_bytes = '2 MiB'\n");
    let mut command = place.command(&[CHECK, &["--connections", "30", "-v"]].concat());
    let ran = command.env("ONWARD_GRACE", "5s").env_remove("ONWARD_STORE").output().unwrap();
    let out = String::from_utf8(ran.stdout).unwrap();
    assert!(ran.status.success() && ran.stderr.is_empty(), "{out}");
    let line = |name: &str| {
        let line = out.lines().find(|line| line.split_whitespace().next() == Some(name)).unwrap();
        line.split_whitespace().skip(1).collect::<Vec<_>>().join(" ")
    };
    for (name, expected) in [
        ("store", "sqlite:other.db file (onward.toml, line 1)"),
        ("bind", "127.0.0.1:9000 file (onward.toml, line 2)"),
        ("connections", "30 flag (--connections)"),
        ("batch_bytes", "2 MiB file (onward.toml, line 4)"),
        ("grace", "5s environment (ONWARD_GRACE)"),
        ("log", "info flag (--verbose)"),
        ("tls_key", "none default"),
    ] {
        assert_eq!(line(name), expected);
    }
    let found = place.json(CHECK);
    assert_eq!(found["file"], "onward.toml");
    assert_eq!(found["settings"]["batch_bytes"], json!({ "value": 2_097_152, "source": "file" }));
    assert_eq!(found["settings"]["store"]["source"], "environment");
    assert_eq!(found["settings"]["cors"], json!({ "value": [], "source": "default" }));
    assert_eq!(std::fs::read_dir(place.path("")).unwrap().count(), 1, "nothing is made");
}

#[test]
fn a_check_shows_no_password() {
    let place = Workdir::new();
    for form in [&[][..], &["--json"]] {
        let store = ["--store", "postgres://ada:hidden@db.example.com/onward", "config", "check"];
        let ran = place.run(&[form, &store].concat());
        assert!(ran.exit == 0 && ran.out.contains("db.example.com"), "{}", ran.out);
        assert!(!ran.out.contains("hidden") && !ran.out.contains("ada"), "{}", ran.out);
    }
}

#[test]
fn a_check_refuses_what_a_server_refuses_in_the_same_words() {
    let place = Workdir::new();
    for (text, code, sentence) in [
        ("connections = 0", "invalid_setting", "onward.toml, line 1, connections: 0 is not a whole number from 1 to"),
        ("\nconection = 1", "unknown_setting", "onward.toml, line 2: there is no setting \"conection\"; did you mean"),
        ("bind = ", "config_malformed", "onward.toml, line 1: this is not TOML"),
        ("bind = '0.0.0.0:0'", "keys_required", "onward.toml, line 1, bind: 0.0.0.0:0 can be reached from elsewhere"),
        ("tls_key = 'key.pem'", "settings_clash", "onward.toml, line 1, tls_key: tls_key is given without"),
    ] {
        place.file(text);
        let checked = place.run(CHECK);
        checked.refused(code, 2);
        assert!(checked.err.contains(sentence), "{}", checked.err);
        assert_eq!(place.run(&["serve", "--config", "onward.toml"]).err, checked.err);
    }
    place.run(&["serve", "--config", "missing.toml"]).refused("config_unreadable", 2);
    place.run(&["config", "check", "--log", "info", "-v"]).refused("usage", 2);
    place.run(&["config", "check", "--store", "mysql://db"]).refused("unknown_store_scheme", 2);
    let ran = place.run(&["--json", "config", "check", "--config", "missing.toml"]);
    let error: Value = serde_json::from_str(&ran.err).unwrap();
    assert_eq!((ran.exit, &error["error"]["code"]), (2, &json!("config_unreadable")));
}

#[test]
fn the_example_is_a_file_that_changes_nothing() {
    let place = Workdir::new();
    place.file(&place.run(&["config", "example"]).out);
    let found = place.json(CHECK);
    let settings = found["settings"].as_object().unwrap();
    assert!(settings.len() > 10);
    assert!(settings.iter().all(|(name, row)| name == "store" || row["source"] == "default"), "{found}");
}

#[test]
fn a_server_obeys_the_file_and_what_is_typed_counts_more() {
    let place = Workdir::new();
    place.file("body_bytes = '1 KiB'\n");
    let submit = "head -c 2000 /dev/zero | tr '\\0' x > text\n\
        curl -s -o answer -w '%{http_code}' -X POST $URL/v1/executions -H 'content-type: application/json' \
        -d \"{\\\"kind\\\":\\\"k\\\",\\\"input\\\":\\\"$(cat text)\\\"}\"";
    let (_small, url) = place.serve(&["--config", "onward.toml"]);
    assert_eq!(place.shell(&url, submit), "413");
    let (_large, url) = place.serve(&["--config", "onward.toml", "--body-bytes", "1 MiB"]);
    assert_eq!(place.shell(&url, submit), "201");
}

#[test]
fn a_server_logs_objects_when_the_file_says_so() {
    let place = Workdir::new();
    place.file("bind = '127.0.0.1:0'\nlog = 'info'\nlog_format = 'json'\n");
    let mut server = place.command(&["serve", "--config", "onward.toml"]).stderr(Stdio::piped()).spawn().unwrap();
    let mut ready = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut ready).unwrap();
    assert!(ready.starts_with("onward serves"), "{ready}");
    assert!(Command::new("kill").args(["-TERM", &server.id().to_string()]).status().unwrap().success());
    let ended = server.wait_with_output().unwrap();
    let lines = String::from_utf8(ended.stderr).unwrap();
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(
        ended.status.success() && lines.iter().all(|line| line["timestamp"].is_string() && line["target"].is_string())
    );
    for (level, message) in [("WARN", "Every program on this machine"), ("INFO", "draining")] {
        let told = |line: &&Value| line["message"].as_str().is_some_and(|text| text.starts_with(message));
        assert_eq!(lines.iter().find(told).unwrap()["level"], level);
    }
}
