//! Processes are killed under load, again and again: whatever was acknowledged is there, and everything ends once.

use crate::program::Workdir;
use std::collections::{BTreeMap, BTreeSet};

const ROUNDS: usize = 50;
/// How many acknowledgements a process may give before it is killed.
const ACKS_MAX: u64 = 300;

/// How often what is left is finished before it counts as lost.
const FINISHING_MAX: usize = 20;

/// What was acknowledged, by anybody, ever.
#[derive(Default)]
pub(crate) struct Acknowledged {
    pub(crate) submitted: BTreeSet<String>,
    claimed: BTreeMap<String, u64>,
    pub(crate) completed: BTreeSet<String>,
}

impl Acknowledged {
    pub(crate) fn note(&mut self, line: &str) {
        let (what, id) = line.split_once(' ').unwrap();
        match what {
            "submitted" => assert!(self.submitted.insert(id.to_owned()), "{id} was submitted twice"),
            "claimed" => *self.claimed.entry(id.to_owned()).or_default() += 1,
            "completed" => assert!(self.completed.insert(id.to_owned()), "{id} was completed twice"),
            _ => panic!("{line}"),
        }
    }
}

#[test]
fn fifty_kills_under_load_lose_nothing_and_end_nothing_twice() {
    let place = Workdir::new();
    let mut acknowledged = Acknowledged::default();
    let mut chance = 0x2545_f491_4f6c_dd1d_u64;
    for round in 0..ROUNDS {
        let churn = place.start(&["churn", "--callers", "8"]);
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        for _ in 0..=(chance >> 33) % ACKS_MAX {
            acknowledged.note(&churn.line().expect("it goes on until it is killed"));
        }
        churn.kill().iter().for_each(|line| acknowledged.note(line));
        if round % 10 == 9 {
            check(&place, &acknowledged);
        }
    }
    let ends = finish(&place, &mut acknowledged);
    let lost = count(&place, "reclaims > 0");
    assert!(lost > 0, "no kill met work in progress, so nothing was shown");
    let (submitted, completed) = (acknowledged.submitted.len(), acknowledged.completed.len());
    eprintln!(
        "{ROUNDS} kills: {submitted} submits and {completed} completions were acknowledged, {} ended, {lost} after a lost lease",
        ends.len()
    );
}

/// Runs what is left and checks everything; answers how often each execution ended.
pub(crate) fn finish(place: &Workdir, acknowledged: &mut Acknowledged) -> BTreeMap<String, u64> {
    // Whatever killed processes held comes back when its lease has run out.
    for round in 0.. {
        let left = count(place, "state != 'completed'");
        if left == 0 {
            break;
        }
        assert!(round < FINISHING_MAX, "{left} executions never end");
        let finish = place.start(&["churn", "--finish"]);
        while let Some(line) = finish.line() {
            acknowledged.note(&line);
        }
        assert_eq!(finish.ends(), 0);
    }
    let ends = check(place, acknowledged);
    assert!(ends.values().all(|ends| *ends == 1), "everything has ended exactly once");
    ends
}

pub(crate) fn count(place: &Workdir, condition: &str) -> i64 {
    let shell = rusqlite::Connection::open(place.db()).unwrap();
    shell.query_row(&format!("SELECT count(*) FROM executions WHERE {condition}"), [], |row| row.get(0)).unwrap()
}

/// Compares the file with what was acknowledged; answers how often each execution ended.
fn check(place: &Workdir, acknowledged: &Acknowledged) -> BTreeMap<String, u64> {
    let shell = rusqlite::Connection::open(place.db()).unwrap();
    let sound: String = shell.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(sound, "ok");
    let pairs = |sql: &str| -> BTreeMap<String, String> {
        let mut rows = shell.prepare(sql).unwrap();
        rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect()
    };
    let counts = |what: &str| -> BTreeMap<String, u64> {
        let sql =
            format!("SELECT execution, CAST(count(*) AS TEXT) FROM events WHERE what = '{what}' GROUP BY execution");
        pairs(&sql).into_iter().map(|(id, count)| (id, count.parse().unwrap())).collect()
    };
    let states = pairs("SELECT id, state FROM executions");
    let (submits, claims, ends) = (counts("submitted"), counts("claimed"), counts("completed"));
    for id in &acknowledged.submitted {
        assert!(states.contains_key(id) && submits.get(id) == Some(&1), "{id} was acknowledged and is lost");
    }
    for (id, count) in &acknowledged.claimed {
        assert!(claims.get(id) >= Some(count), "a claim of {id} was acknowledged and is lost");
    }
    for id in &acknowledged.completed {
        assert_eq!(states.get(id).map(String::as_str), Some("completed"), "{id} was acknowledged as completed");
    }
    for (id, state) in &states {
        assert_eq!(ends.get(id).copied().unwrap_or(0), u64::from(state == "completed"), "{id} is {state}");
    }
    ends
}
