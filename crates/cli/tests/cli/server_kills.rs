//! A server is killed and told to stop under load from other processes: they come back by themselves, and nothing that was
//! acknowledged is lost.

use crate::crash::{Acknowledged, count, finish};
use crate::program::{Process, Workdir};
use crate::serving::signal;

const ROUNDS: usize = 16;
/// Acknowledgements of each caller's process between two ends of the server.
const ACKS: usize = 40;

impl Workdir {
    /// Starts a server where another one was.
    fn serve_again(&self, url: &str) -> Process {
        let server = self.start(&["serve", "--bind", url.trim_start_matches("http://"), "--json"]);
        assert!(server.line().is_some_and(|line| line.contains(url)), "it serves at {url} again");
        server
    }
}

#[test]
fn a_server_that_is_killed_and_stopped_under_load_loses_nothing() {
    let place = Workdir::new();
    let mut acknowledged = Acknowledged::default();
    let (mut server, url) = place.serve(&[]);
    let callers = ["a", "b"].map(|_| place.start(&["--server", &url, "churn", "--callers", "8"]));
    let worker = place.start(&["--server", &url, "worker", "--lane", "steady"]);
    worker.says("ready");
    for round in 0..ROUNDS {
        for caller in &callers {
            (0..ACKS).for_each(|_| acknowledged.note(&caller.line().expect("it goes on")));
        }
        if round % 2 == 0 {
            server.kill();
        } else {
            signal(&server, "-TERM");
            assert_eq!(server.ends(), 0, "a server that is told to stop ends what runs and stops");
        }
        server = place.serve_again(&url);
        let echo = ["--server", &url, "submit", "echo", "--lane", "steady", "--input", "1"];
        let id = place.json(&echo)["id"].as_str().unwrap().to_owned();
        worker.says(&format!("ran {id}"));
        acknowledged.submitted.insert(id);
    }
    for caller in callers {
        caller.kill().iter().for_each(|line| acknowledged.note(line));
    }
    let open = "state != 'completed' AND lane = 'steady'";
    assert!((0..1_000_000).any(|_| count(&place, open) == 0), "the worker reports what it ran");
    drop(worker);
    let ends = finish(&place, &mut acknowledged);
    let (submitted, completed) = (acknowledged.submitted.len(), acknowledged.completed.len());
    assert!(submitted >= ROUNDS && completed >= ROUNDS);
    eprintln!(
        "{ROUNDS} ends of a server: {submitted} submits and {completed} completions were acknowledged, {} ended, {} after a lost lease",
        ends.len(),
        count(&place, "reclaims > 0"),
    );
    drop(server);
}
