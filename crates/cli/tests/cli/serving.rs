//! The server as a program: what the documentation shows, keys, signals, crashes, and workers in another language.

use crate::program::{Process, Workdir};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

pub(crate) const PYTHON: &str = "python3";

impl Workdir {
    /// Starts a server on a free port; answers it and its address.
    pub(crate) fn serve(&self, more: &[&str]) -> (Process, String) {
        let server = self.start(&[&["serve", "--bind", "127.0.0.1:0", "--json"], more].concat());
        let said = server.line().unwrap();
        let said: serde_json::Value = serde_json::from_str(&said).unwrap();
        (server, said["url"].as_str().unwrap().to_owned())
    }

    /// Runs a script of the shell; answers what it printed.
    pub(crate) fn shell(&self, url: &str, script: &str) -> String {
        let mut shell = Command::new("sh");
        shell.args(["-eu", "-c", script]).env("URL", url).current_dir(self.path(""));
        let ran = shell.output().unwrap();
        let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
        assert!(ran.status.success(), "{script}\n{out}\n{err}");
        out.into_owned()
    }
}

pub(crate) fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Sends a signal, as a person or a supervisor does.
pub(crate) fn signal(server: &Process, signal: &str) {
    assert!(Command::new("kill").args([signal, &server.id().to_string()]).status().unwrap().success());
}

#[test]
fn the_commands_of_the_documentation_do_what_it_says() {
    let place = Workdir::new();
    let (_server, url) = place.serve(&[]);
    let page = std::fs::read_to_string(repository().join("docs/http.md")).unwrap();
    let blocks: Vec<&str> = page.split("```sh\n").skip(1).map(|block| block.split("```").next().unwrap()).collect();
    assert!(blocks.len() >= 10, "{}", blocks.len());
    let out = place.shell(&url, &blocks.join("\necho\n"));
    assert!(out.contains("\"created\":true") && out.contains("\"sent\": true"), "{out}");
}

#[test]
fn a_server_with_keys_serves_their_holders_until_they_are_revoked() {
    let place = Workdir::new();
    let key = place.run(&["key", "create", "--name", "ada", "--role", "submit", "--expires", "1d"]).out;
    let (server, url) = place.serve(&["--require-keys"]);
    let submit = format!(
        "curl -s -o out -w '%{{http_code}}' -X POST {url}/v1/executions \
        -H 'content-type: application/json' -d '{{\"kind\":\"k\"}}'"
    );
    assert_eq!(place.shell(&url, &submit), "401");
    let with_key = format!("{submit} -H 'Authorization: Bearer {}'", key.trim());
    assert_eq!(place.shell(&url, &with_key), "201");
    let listed = place.run(&["key", "ls"]).out;
    let id = listed.lines().nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
    assert!(listed.contains("ada") && listed.contains("good"), "{listed}");
    assert_eq!(place.run(&["key", "revoke", &id]).exit, 0);
    // Another process revoked it, so the server may remember it for two seconds.
    assert!((0..5_000).any(|_| place.shell(&url, &with_key) == "401"), "it is never refused");
    assert!(place.run(&["key", "ls"]).out.contains("revoked"));
    place.run(&["key", "revoke", "00000000000000000000000000000001"]).refused("key_not_found", 1);
    signal(&server, "-TERM");
    assert_eq!(server.ends(), 0);
}

#[test]
fn a_server_that_cannot_start_says_why() {
    let place = Workdir::new();
    place.run(&["serve", "--bind", "0.0.0.0:0"]).refused("keys_required", 2);
    let (_server, url) = place.serve(&[]);
    let taken = url.trim_start_matches("http://").to_owned();
    place.run(&["serve", "--bind", &taken]).refused("address_unusable", 5);
    let file = place.path("cert.pem");
    std::fs::write(&file, "nonsense").unwrap();
    let file = file.to_str().unwrap();
    let args = ["serve", "--bind", "127.0.0.1:0", "--tls-certificate", file, "--tls-key", file];
    place.run(&args).refused("certificate_unusable", 2);
}

/// A worker in another language; killed when it is dropped.
pub(crate) struct Foreign(Child);

impl Foreign {
    /// Starts an example with an interpreter.
    pub(crate) fn start(interpreter: &str, example: &str, url: &str) -> Self {
        let mut worker = Command::new(interpreter);
        worker.arg(repository().join("examples").join(example)).arg(url);
        Self(worker.stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_worker_in_python_outlives_a_killed_server() {
    let place = Workdir::new();
    let (server, url) = place.serve(&[]);
    let _worker = Foreign::start(PYTHON, "worker.py", &url);
    let submit = "curl -fsS -X POST \"$URL/v1/executions?wait=30s\" -H 'content-type: application/json' -d";
    let greet = format!("{submit} '{{\"kind\":\"greet\",\"input\":\"Ada\",\"lane\":\"python\"}}'");
    assert!(place.shell(&url, &greet).contains("\"result\":\"hello Ada\""));
    let policy = "\"policy\":{\"retry\":{\"max_retries\":0}}";
    let divide = format!("{submit} '{{\"kind\":\"divide\",\"input\":[1,0],\"lane\":\"python\",{policy}}}'");
    assert!(place.shell(&url, &divide).contains("ZeroDivisionError"));
    server.kill();
    let bind = url.trim_start_matches("http://").to_owned();
    let again = place.start(&["serve", "--bind", &bind]);
    again.says("onward serves");
    assert!(place.shell(&url, &greet).contains("\"result\":\"hello Ada\""), "the worker came back by itself");
}

#[test]
fn a_worker_with_curl_does_its_work_and_leaves_the_rest() {
    let place = Workdir::new();
    let (_server, url) = place.serve(&[]);
    let _worker = Foreign::start("sh", "worker.sh", &url);
    let submit = "curl -fsS -X POST \"$URL/v1/executions?wait=30s\" -H 'content-type: application/json' -d";
    let count = format!("{submit} '{{\"kind\":\"count\",\"input\":\"three small words\",\"lane\":\"shell\"}}'");
    let dance = submit.replace("?wait=30s", "");
    place.shell(&url, &format!("{dance} '{{\"kind\":\"dance\",\"lane\":\"shell\"}}'"));
    assert!(place.shell(&url, &count).contains("\"result\":3"));
    let waiting = place.shell(&url, "curl -fsS \"$URL/v1/executions?state=waiting\"");
    assert!(waiting.contains("\"kind\":\"dance\""), "{waiting}");
}

#[test]
fn commands_are_the_same_through_a_server() {
    let place = Workdir::new();
    let (_server, url) = place.serve(&[]);
    let there = |args: &[&str]| place.run(&[&["--server", &url], args].concat());
    let said = there(&["submit", "bill", "--lane", "money", "--tag", "customer=42", "--input", "[1]"]).out;
    let id = said.trim().strip_prefix("submitted ").unwrap();
    let both =
        [vec!["get", id], vec!["ls", "--tag", "customer=42"], vec!["why", id], vec!["history", id], vec!["count"]];
    for args in both {
        let (here, there) = (place.run(&args), there(&args));
        assert_eq!((here.exit, here.out), (there.exit, there.out), "{args:?}");
    }
    let top = |args: &[&str]| -> serde_json::Value {
        let ran = place.run(&[args, &["--json", "top", "--once"]].concat());
        assert_eq!(ran.exit, 0, "{}", ran.err);
        serde_json::from_str(&ran.out).unwrap()
    };
    for seen in [top(&[]), top(&["--server", &url])] {
        let lane = &seen["lanes"][0];
        assert_eq!((lane["lane"].as_str(), lane["ready"].as_u64()), (Some("money"), Some(1)), "{seen}");
        assert!(
            lane["oldest"].is_u64() && seen["at"].is_u64() && lane["submitted_per_second"].as_f64() > Some(0.0),
            "{seen}"
        );
        assert_eq!(lane["ready_capped"], false);
        assert_eq!(seen["workers"], serde_json::json!([]));
    }
    assert_eq!(there(&["cancel", id, "--reason", "unwanted"]).exit, 0);
    assert_eq!(place.json(&["get", id])["state"], "cancelled");
    there(&["get", "x-01999999-0000-7000-8000-000000000000-1"]).refused("execution_not_found", 4);
    there(&["doctor"]).refused("needs_store", 2);
    place.run(&["--server", "http://127.0.0.1:1", "count"]).refused("server_unreachable", 5);
}
