//! A history with an execution that waits, and ways to break it.

use crate::cases::{Case, ONCE};
use crate::run::Run;

const LOST: &str = "an acknowledged signal is not lost";
const APPLIED: &str = "no signal is applied twice";
const REPEATS: &str = "a repeated signal gets the first answer";
const ANSWER: &str = "a wait has one answer";
const EARLY: &str = "no wait times out before its time";
const COMPLETES: &str = "an execution that got its signals completes";
const SUSPENDED: &str = "a suspension ends before the next claim";

/// The execution first takes a kept payment, then waits for two people. The worker that went on dies, and another one
/// completes it.
const LINES: &str = r#"
{"is":"submitted","execution":"x-w-0","asked":3000,"at":3001}
{"is":"script","execution":"x-w-0","needs":[["paid","0"],["review","0"],["review","1"]]}
{"is":"begun","execution":"x-w-0","attempt":1,"at":3002}
{"is":"signalled","execution":"x-w-0","wait":"paid","key":"0","sent":"p","signal":"s-p","effect":"buffered","asked":3003,"at":3004}
{"is":"signalled","execution":"x-w-0","wait":"unwanted","key":"0","sent":"u","signal":"s-u","effect":"buffered","asked":3005,"at":3006}
{"is":"signalled","execution":"x-w-0","wait":"review","key":"9","sent":"n","signal":"s-n","effect":"buffered","asked":3005,"at":3006}
{"is":"told","execution":"x-w-0","attempt":1,"wait":"paid#1","signals":["p"],"at":3009}
{"is":"signalled","execution":"x-w-0","wait":"review","key":"0","sent":"a","signal":"s-a","effect":"counted","asked":3019,"at":3021}
{"is":"signalled","execution":"x-w-0","wait":"review","key":"2","sent":"c","signal":"s-c","effect":"ignored","asked":3020,"at":3022}
{"is":"signalled","execution":"x-w-0","wait":"review","key":"1","sent":"b","signal":"s-b","effect":"resumed","asked":3021,"at":3023}
{"is":"begun","execution":"x-w-0","attempt":1,"at":3031}
{"is":"told","execution":"x-w-0","attempt":1,"wait":"paid#1","signals":["p"],"at":3032}
{"is":"told","execution":"x-w-0","attempt":1,"wait":"review#1","signals":["a","b"],"at":3033}
{"is":"begun","execution":"x-w-0","attempt":2,"at":4051}
{"is":"opened","execution":"x-w-0","wait":"reply#1","millis":300,"at":4054}
{"is":"told","execution":"x-w-0","attempt":2,"wait":"reply#1","signals":[],"at":4260}
{"is":"told","execution":"x-w-0","attempt":2,"wait":"paid#1","signals":["p"],"at":4052}
{"is":"told","execution":"x-w-0","attempt":2,"wait":"review#1","signals":["a","b"],"at":4053}
{"is":"signalled","execution":"x-w-0","wait":"paid","key":"0","sent":"p2","signal":"s-p","effect":"buffered","asked":4100,"at":4101}
{"is":"not_taken","execution":"x-w-0","wait":"paid","key":"late","code":"execution_finished","asked":4102,"at":4103}
"#;
const STATE: &str = r#"
{"is":"listed","execution":"x-w-0","state":"completed"}
{"is":"waited","execution":"x-w-0","waits":[{"wait":"paid#1","how":"signals","signals":["s-p"]},{"wait":"review#1","how":"signals","signals":["s-a","s-b"]},{"wait":"reply#1","how":"timeout","signals":[]}],"signals":[{"signal":"s-p","wait":"paid","by":null,"sent":"p","effect":"buffered"},{"signal":"s-u","wait":"unwanted","by":null,"sent":"u","effect":"buffered"},{"signal":"s-n","wait":"review","by":null,"sent":"n","effect":"buffered"},{"signal":"s-a","wait":"review","by":"ada","sent":"a","effect":"counted"},{"signal":"s-c","wait":"review","by":"ada","sent":"c","effect":"ignored"},{"signal":"s-b","wait":"review","by":"ben","sent":"b","effect":"resumed"}],"kept":["s-u"],"result":[["paid#1",["p"]],["review#1",["a","b"]]]}
"#;
/// Types of events with their times and the rest of their fields.
const EVENTS: [(u64, &str); 16] = [
    (903_000, r#""type":"submitted","kind":"wait""#),
    (903_001, r#""type":"claimed","attempt":1,"epoch":1,"worker":"w""#),
    (903_004, r#""type":"signalled","signal":"s-p","wait":"paid","effect":"buffered""#),
    (903_006, r#""type":"signalled","signal":"s-u","wait":"unwanted","effect":"buffered""#),
    (903_006, r#""type":"signalled","signal":"s-n","wait":"review","effect":"buffered""#),
    (903_010, r#""type":"suspended","attempt":1"#),
    (903_020, r#""type":"signalled","signal":"s-a","wait":"review","effect":"counted""#),
    (903_021, r#""type":"signalled","signal":"s-c","wait":"review","effect":"ignored""#),
    (903_022, r#""type":"signalled","signal":"s-b","wait":"review","effect":"resumed""#),
    (903_022, r#""type":"resumed","attempt":1,"resumed_by":"signals""#),
    (903_030, r#""type":"claimed","attempt":1,"epoch":2,"worker":"w","resumed":true"#),
    (904_040, r#""type":"lease_expired","attempt":1,"again_at":904040"#),
    (904_050, r#""type":"claimed","attempt":2,"epoch":3,"worker":"w""#),
    (904_055, r#""type":"suspended","attempt":2"#),
    (904_056, r#""type":"resumed","attempt":2,"resumed_by":"timeout""#),
    (904_058, r#""type":"claimed","attempt":2,"epoch":4,"worker":"w","resumed":true"#),
];
const END: (u64, &str) = (904_060, r#""type":"completed","attempt":2"#);

fn event((at, what): (u64, &str)) -> String {
    format!(r#"{{"v":1,"at":{at},"namespace":"default","lane":"work","execution":"x-w-0",{what}}}"#)
}

/// A good run in which something waits.
pub(crate) fn waiting() -> Run {
    let mut run = Run::good();
    run.plan = run.plan.replace('}', r#","expects_waits":true}"#);
    run.engine.push_str(LINES);
    run.look.push_str(STATE);
    let events: Vec<String> = EVENTS.into_iter().chain([END]).map(event).collect();
    run.saw.extend(events.clone());
    run.stored.extend(events);
    run
}

/// Takes an event of the waiting execution out of the feed.
fn without(run: &mut Run, what: &str) {
    for events in [&mut run.saw, &mut run.stored] {
        let before = events.len();
        events.retain(|event| !(event.contains("x-w-0") && event.contains(what)));
        assert_eq!(before, events.len() + 1, "{what}");
    }
}

/// Adds a line of a sender, with what differs from the payment.
fn sent(run: &mut Run, change: &[(&str, &str)]) {
    let line = LINES.lines().find(|line| line.contains("\"p2\"")).expect("it is there");
    let mut line = line.replace("4100", "4200").replace("4101", "4201");
    change.iter().for_each(|(old, new)| Run::swap(&mut line, old, new));
    run.engine.push_str(&line);
    run.engine.push('\n');
}

/// Adds what a handler got.
fn told(run: &mut Run, wait: &str, signals: &str) {
    run.engine.push_str(&format!(
        "{{\"is\":\"told\",\"execution\":\"x-w-0\",\"attempt\":2,\"wait\":\"{wait}\",\"signals\":{signals},\"at\":4099}}\n"
    ));
}

pub(crate) const WAIT_CASES: &[Case] = &[
    ("a kept signal that is nowhere", |run| Run::swap(&mut run.look, r#"["s-u"]"#, "[]"), &[LOST]),
    (
        "a signal without a record",
        |run| {
            let unwanted = r#"{"signal":"s-u","wait":"unwanted","by":null,"sent":"u","effect":"buffered"},"#;
            Run::swap(&mut run.look, unwanted, "");
        },
        &[LOST],
    ),
    ("signals of an execution that is gone", |run| sent(run, &[("x-w-0", "x-gone-0"), ("\"0\"", "\"7\"")]), &[LOST]),
    ("a signal that is not in the feed", |run| without(run, "s-u"), &[LOST]),
    (
        "a signal that is recorded otherwise",
        |run| Run::swap(&mut run.look, r#""sent":"u","effect":"buffered""#, r#""sent":"u","effect":"ignored""#),
        &[LOST],
    ),
    (
        "a signal that resumed and is in no wait",
        |run| Run::swap(&mut run.look, r#"["s-a","s-b"]"#, r#"["s-a"]"#),
        &[LOST, ANSWER],
    ),
    (
        "an ignored signal that counts",
        |run| Run::swap(&mut run.look, r#"["s-a","s-b"]"#, r#"["s-a","s-c","s-b"]"#),
        &[LOST, ANSWER],
    ),
    (
        "a signal of an unknown sender that no count of people dropped",
        |run| Run::swap(&mut run.look, r#""by":"ben""#, r#""by":null"#),
        &[LOST],
    ),
    (
        "a signal that two waits took",
        |run| Run::swap(&mut run.look, r#"["s-p"]"#, r#"["s-p","s-b"]"#),
        &[LOST, APPLIED, ANSWER],
    ),
    ("a signal told for two waits", |run| told(run, "review#2", "[\"p\"]"), &[APPLIED, ANSWER]),
    ("a signal told twice", |run| told(run, "paid#1", "[\"p\",\"p\"]"), &[APPLIED, ANSWER]),
    ("a wait with two answers", |run| told(run, "paid#1", "[]"), &[ANSWER]),
    ("an answer in another order", |run| told(run, "review#1", "[\"b\",\"a\"]"), &[ANSWER]),
    ("a payload of a repeat", |run| Run::swap(&mut run.look, r#""sent":"p""#, r#""sent":"p2""#), &[ANSWER]),
    (
        "a result with other signals",
        |run| Run::swap(&mut run.look, r#"["review#1",["a","b"]]"#, r#"["review#1",["a"]]"#),
        &[ANSWER],
    ),
    (
        "a wait that times out too soon",
        |run| Run::swap(&mut run.engine, r#""millis":300"#, r#""millis":310"#),
        &[EARLY],
    ),
    ("a repeat with another effect", |run| sent(run, &[("buffered", "resumed")]), &[REPEATS]),
    ("a repeat that is another signal", |run| sent(run, &[("s-p", "s-p2")]), &[LOST, REPEATS]),
    (
        "a repeat that is refused",
        |run| {
            let refused = LINES.lines().find(|line| line.contains("not_taken")).expect("it is there");
            run.engine.push_str(&refused.replace("late", "0").replace("4102", "4110"));
            run.engine.push('\n');
        },
        &[REPEATS],
    ),
    (
        "a signal taken after the end",
        |run| sent(run, &[("\"key\":\"0\"", "\"key\":\"late\""), ("s-p", "s-late")]),
        &[LOST, REPEATS],
    ),
    (
        "no repeat",
        |run| Run::swap(&mut run.engine, r#""key":"0","sent":"p2","#, r#""key":"8","sent":"p2","#),
        &[REPEATS],
    ),
    (
        "no second run",
        |run| {
            run.engine = run.engine.lines().filter(|line| !line.contains("told")).collect::<Vec<_>>().join("\n");
            run.engine.push('\n');
        },
        &[ANSWER],
    ),
    (
        "an execution that got its signals and did not complete",
        |run| {
            without(run, "completed");
            Run::swap(&mut run.look, r#""x-w-0","state":"completed""#, r#""x-w-0","state":"suspended""#);
        },
        &[ONCE, COMPLETES],
    ),
    (
        "an execution that failed for want of signals that it got",
        |run| {
            for events in [&mut run.saw, &mut run.stored] {
                let end = events.last_mut().expect("it has ended");
                Run::swap(end, "\"completed\"", "\"attempt_failed\"");
            }
            Run::swap(&mut run.look, r#""x-w-0","state":"completed""#, r#""x-w-0","state":"failed""#);
        },
        &[COMPLETES],
    ),
    ("nothing that needs signals", |run| Run::swap(&mut run.engine, r#""key":"1""#, r#""key":"5""#), &[COMPLETES]),
    ("a claim of a suspended execution", |run| without(run, "\"resumed_by\":\"timeout\""), &[SUSPENDED]),
    (
        "suspensions that only time ended",
        |run| {
            for events in [&mut run.saw, &mut run.stored] {
                for event in events.iter_mut().filter(|event| event.contains("resumed_by")) {
                    *event = event.replace("\"signals\"", "\"timeout\"");
                }
            }
        },
        &[SUSPENDED],
    ),
];
