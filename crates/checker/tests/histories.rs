//! Hand-written histories: a good one in which all holds, and for each promise one that breaks it.

use onward_checker::{History, Report, check};
use std::path::Path;

const PLAN: &str = r#"{"is":"plan","name":"p","lease":1000,"partitions":1,"losses":"none","live_within":null,"expects_late_calls":true,"expects_poison":true}"#;
const LOSSY: &str =
    r#"{"is":"plan","name":"p","lease":1000,"partitions":1,"losses":"last_second","live_within":10000}"#;

/// What the driver writes.
const DRIVER: &str = r#"
{"is":"fault","what":"kill","process":"engine-1","at":5000,"until":5001}
{"is":"poisoned","dead":"dead/0/1/7","at":4000}
"#;
/// One execution that a handler ran, and one that two callers ran: the first of them too late.
const ENGINE: &str = r#"
{"is":"submitted","execution":"x-a-0","asked":990,"at":1000}
{"is":"submitted","execution":"x-b-0","asked":991,"at":1001}
{"is":"begun","execution":"x-a-0","attempt":1,"at":1010}
{"is":"left","execution":"x-a-0","attempt":1,"at":1012}
{"is":"leased","execution":"x-b-0","attempt":0,"epoch":1,"asked":1010,"at":1020,"ttl":1000,"expires_at":902000}
{"is":"refused","execution":"x-b-0","attempt":0,"epoch":1,"code":"lease_expired","asked":2500,"at":2510}
{"is":"leased","execution":"x-b-0","attempt":1,"epoch":2,"asked":2600,"at":2610,"ttl":1000,"expires_at":903600}
{"is":"ended","execution":"x-b-0","attempt":1,"epoch":2,"asked":2620,"at":2630}
{"is":"decided","lane":"gated","asked":4100,"at":4500}
{"is":"failed","call":"submit","code":"unavailable","at":4600}
"#;
/// What happened, in the order of the feed.
const EVENTS: [&str; 8] = [
    r#"{"v":1,"at":900990,"namespace":"default","lane":"work","execution":"x-a-0","what":{"submitted":{"kind":"job"}}}"#,
    r#"{"v":1,"at":900991,"namespace":"default","lane":"direct","execution":"x-b-0","what":{"submitted":{"kind":"job"}}}"#,
    r#"{"v":1,"at":901000,"namespace":"default","lane":"work","execution":"x-a-0","what":{"claimed":{"attempt":0,"epoch":1,"worker":"w"}}}"#,
    r#"{"v":1,"at":901000,"namespace":"default","lane":"direct","execution":"x-b-0","what":{"claimed":{"attempt":0,"epoch":1,"worker":"w"}}}"#,
    r#"{"v":1,"at":901012,"namespace":"default","lane":"work","execution":"x-a-0","what":{"completed":{"attempt":0}}}"#,
    r#"{"v":1,"at":902001,"namespace":"default","lane":"direct","execution":"x-b-0","what":{"lease_expired":{"attempt":0,"again_at":902001}}}"#,
    r#"{"v":1,"at":902600,"namespace":"default","lane":"direct","execution":"x-b-0","what":{"claimed":{"attempt":1,"epoch":2,"worker":"w"}}}"#,
    r#"{"v":1,"at":902620,"namespace":"default","lane":"direct","execution":"x-b-0","what":{"completed":{"attempt":1}}}"#,
];
const LOOK: &str = r#"
{"is":"listed","execution":"x-a-0","state":"completed"}
{"is":"listed","execution":"x-b-0","state":"completed"}
{"is":"dead","key":"dead/0/1/7"}
{"is":"examined","records":9,"faults":[]}
"#;

/// The files of a run, which a test changes before it has them judged.
struct Run {
    plan: String,
    driver: String,
    engine: String,
    saw: Vec<String>,
    stored: Vec<String>,
    look: String,
}

impl Run {
    fn good() -> Self {
        let events: Vec<String> = EVENTS.iter().map(|&event| event.to_owned()).collect();
        Self {
            plan: PLAN.into(),
            driver: DRIVER.into(),
            engine: ENGINE.into(),
            saw: events.clone(),
            stored: events,
            look: LOOK.into(),
        }
    }

    /// The same in which the last second before a kill at 3000 may be lost; nobody is asked to be late or to plant anything.
    fn lossy() -> Self {
        let mut run = Self::good();
        run.plan = LOSSY.into();
        run.driver.push_str(
            "{\"is\":\"fault\",\"what\":\"primary\",\"process\":null,\"at\":3000,\"until\":3002,\"primary\":true}\n",
        );
        run.engine.push_str("{\"is\":\"submitted\",\"execution\":\"x-c-0\",\"asked\":3100,\"at\":7000}\n");
        run.engine.push_str("{\"is\":\"begun\",\"execution\":\"x-c-0\",\"attempt\":1,\"at\":7010}\n");
        for what in [
            r#"{"submitted":{"kind":"job"}}"#,
            r#"{"claimed":{"attempt":0,"epoch":1,"worker":"w"}}"#,
            r#"{"completed":{"attempt":0}}"#,
        ] {
            let event = format!(
                r#"{{"v":1,"at":907000,"namespace":"default","lane":"work","execution":"x-c-0","what":{what}}}"#
            );
            run.saw.push(event.clone());
            run.stored.push(event);
        }
        run.look.push_str("{\"is\":\"listed\",\"execution\":\"x-c-0\",\"state\":\"completed\"}\n");
        run
    }

    fn files(&self) -> Vec<(String, String)> {
        let lines = |text: &str| text.lines().filter(|line| !line.is_empty()).map(|line| format!("{line}\n")).collect();
        let saw = self.saw.iter().enumerate().map(|(at, event)| {
            // The store's clock is so far ahead of the machine's, and the reader a little behind.
            let time = event.split("\"at\":").nth(1).and_then(|rest| rest.split(',').next()).unwrap();
            let seen = time.parse::<u64>().unwrap() - 899_890;
            format!("{{\"is\":\"saw\",\"event\":{event},\"at\":{seen},\"cursor\":\"{at}\"}}\n")
        });
        let stored = self.stored.iter().map(|event| format!("{{\"is\":\"stored\",\"event\":{event}}}\n"));
        vec![
            ("driver".into(), lines(&format!("{}\n{}", self.plan, self.driver))),
            ("engine-1".into(), lines(&self.engine)),
            ("look".into(), lines(&self.look) + &stored.collect::<String>()),
            ("reader-1".into(), saw.collect()),
        ]
    }

    fn judged(&self) -> Report {
        written(&self.files())
    }

    /// Exchanges a piece of text that must be there.
    fn swap(field: &mut String, old: &str, new: &str) {
        assert!(field.contains(old), "{old}");
        *field = field.replacen(old, new, 1);
    }
}

/// Judges files on a disk, as the program does.
fn written(files: &[(String, String)]) -> Report {
    let directory =
        std::env::temp_dir().join(format!("checker-{}-{:?}", std::process::id(), std::thread::current().id()));
    std::fs::create_dir_all(&directory).unwrap();
    for (name, text) in files {
        std::fs::write(directory.join(format!("{name}.jsonl")), text).unwrap();
    }
    let report = check(&directory).unwrap();
    std::fs::remove_dir_all(&directory).unwrap();
    report
}

/// The promises that a report calls broken.
fn broken(report: &Report) -> Vec<&'static str> {
    report.checks.iter().filter(|check| !check.broken.is_empty()).map(|check| check.name).collect()
}

#[test]
fn good_histories_hold() {
    for run in [Run::good(), Run::lossy()] {
        let report = run.judged();
        assert!(report.holds(), "{report}");
        assert!(report.summary.contains("submits acknowledged"), "{}", report.summary);
    }
    let summary = Run::good().judged().summary;
    assert!(summary.contains("success 87.50 %") && summary.contains("1 × submit unavailable"), "{summary}");
}

/// Breaks one thing of a good run, and names the promises that it breaks.
type Case = (&'static str, fn(&mut Run), &'static [&'static str]);

const KEPT: &str = "an acknowledged submit is kept";
const ONCE: &str = "every execution ends exactly once";
const RAN: &str = "every execution ran at least once";
const ENDS: &str = "an acknowledged end stays, once";
const APART: &str = "leases of an execution never overlap";
const UNDER: &str = "nothing ends under a lease that is over";
const LONG: &str = "no lease runs out before its time";
const LATE: &str = "a call under a lease that ran out is refused";
const KNOWN: &str = "every lease given is in the feed, once";
const TWICE: &str = "the reader sees no event twice";
const MISSED: &str = "the reader misses no event";
const ORDER: &str = "the reader sees an execution in order";
const TRUE: &str = "what the reader saw is stored";
const ASIDE: &str = "a poisoned message is set aside";
const PAIR: &str = "messages behind it are delivered";
const AGREE: &str = "records and indexes agree at the end";
const LIVE: &str = "every partition is live again in time";
const READ: &str = "every line can be read";
const FAULTS: &str = "faults happened";

const CASES: &[Case] = &[
    (
        "a lost submit",
        |run| {
            run.engine.push_str("{\"is\":\"submitted\",\"execution\":\"x-lost-0\",\"asked\":1,\"at\":2}\n");
        },
        &[KEPT],
    ),
    (
        "an execution that never ended",
        |run| Run::swap(&mut run.look, "\"state\":\"completed\"", "\"state\":\"active\""),
        &[ONCE],
    ),
    (
        "two terminal transitions",
        |run| {
            for events in [&mut run.saw, &mut run.stored] {
                let mut again = events[7].clone();
                Run::swap(&mut again, "902620", "902621");
                Run::swap(&mut again, "completed", "cancelled");
                events.push(again);
            }
        },
        &[ONCE, UNDER],
    ),
    (
        "an end that disagrees with the list",
        |run| Run::swap(&mut run.look, "\"state\":\"completed\"", "\"state\":\"failed\""),
        &[ONCE],
    ),
    (
        "an execution listed twice",
        |run| run.look.push_str("{\"is\":\"listed\",\"execution\":\"x-a-0\",\"state\":\"completed\"}\n"),
        &[ONCE],
    ),
    (
        "an execution that never ran",
        |run| {
            Run::swap(
                &mut run.engine,
                "{\"is\":\"begun\",\"execution\":\"x-a-0\"",
                "{\"is\":\"left\",\"execution\":\"x-a-0\"",
            )
        },
        &[RAN],
    ),
    (
        "an acknowledged end that is undone",
        |run| {
            for events in [&mut run.saw, &mut run.stored] {
                Run::swap(
                    &mut events[7],
                    "{\"completed\":{\"attempt\":1}}",
                    "{\"attempt_failed\":{\"attempt\":1,\"category\":\"x\"}}",
                );
            }
            run.look = run.look.replace("\"x-b-0\",\"state\":\"completed\"", "\"x-b-0\",\"state\":\"failed\"");
        },
        &[ENDS],
    ),
    (
        "an end acknowledged twice",
        |run| {
            run.engine.push_str(
                "{\"is\":\"ended\",\"execution\":\"x-b-0\",\"attempt\":1,\"epoch\":2,\"asked\":2620,\"at\":2640}\n",
            );
        },
        &[ENDS],
    ),
    (
        "overlapping leases",
        |run| {
            for events in [&mut run.saw, &mut run.stored] {
                events.swap(5, 6);
            }
        },
        &[APART, UNDER, LONG],
    ),
    (
        "a lease before the end of the last on the store's timeline",
        |run| {
            for events in [&mut run.saw, &mut run.stored] {
                Run::swap(&mut events[6], "902600", "901900");
            }
        },
        &[APART],
    ),
    (
        "a completion under an ended lease",
        |run| {
            for events in [&mut run.saw, &mut run.stored] {
                Run::swap(&mut events[7], "\"attempt\":1", "\"attempt\":0");
            }
            run.engine = run.engine.replace(
                "{\"is\":\"ended\",\"execution\":\"x-b-0\",\"attempt\":1,\"epoch\":2,\"asked\":2620,\"at\":2630}\n",
                "",
            );
        },
        &[UNDER],
    ),
    (
        "a completion without any lease",
        |run| {
            for events in [&mut run.saw, &mut run.stored] {
                events.remove(2);
            }
        },
        &[UNDER],
    ),
    (
        "a lease that ended before its ttl",
        |run| {
            for events in [&mut run.saw, &mut run.stored] {
                Run::swap(&mut events[5], "902001", "901999");
            }
        },
        &[LONG],
    ),
    (
        "a lease that ended before the time its holder was told",
        |run| Run::swap(&mut run.engine, "902000", "902002"),
        &[LONG],
    ),
    (
        "a lease that was seen to be over too soon",
        |run| Run::swap(&mut run.engine, "\"asked\":1010,\"at\":1020", "\"asked\":1210,\"at\":1220"),
        &[LONG],
    ),
    (
        "a late call that was accepted",
        |run| {
            Run::swap(&mut run.engine, "\"asked\":2620,\"at\":2630", "\"asked\":3610,\"at\":3620");
        },
        &[LATE],
    ),
    ("no late call at all", |run| Run::swap(&mut run.engine, "\"asked\":2500", "\"asked\":1900"), &[LATE]),
    (
        "an end under a lease that was given to nobody",
        |run| {
            run.engine = run.engine.replace(
                "{\"is\":\"leased\",\"execution\":\"x-b-0\",\"attempt\":1,",
                "{\"is\":\"leased\",\"execution\":\"x-b-0\",\"attempt\":2,",
            );
        },
        &[LATE, KNOWN],
    ),
    (
        "a lease given twice",
        |run| {
            run.engine.push_str("{\"is\":\"leased\",\"execution\":\"x-b-0\",\"attempt\":1,\"epoch\":2,\"asked\":2600,\"at\":2610,\"ttl\":1000,\"expires_at\":903600}\n");
        },
        &[KNOWN],
    ),
    ("an event seen twice", |run| run.saw.push(EVENTS[7].to_owned()), &[TWICE]),
    (
        "an event missed",
        |run| {
            run.saw.remove(3);
        },
        &[MISSED],
    ),
    ("a gap without a loss", |run| run.engine.push_str("{\"is\":\"gap\",\"at\":1}\n"), &[MISSED]),
    ("events of an execution out of order", |run| run.saw.swap(6, 7), &[ORDER]),
    (
        "an event that was taken back",
        |run| {
            let mut other = EVENTS[7].to_owned();
            Run::swap(&mut other, "902620", "902619");
            run.saw.push(other);
        },
        &[TRUE],
    ),
    (
        "a poison that was never set aside",
        |run| Run::swap(&mut run.look, "{\"is\":\"dead\",\"key\":\"dead/0/1/7\"}\n", ""),
        &[ASIDE],
    ),
    (
        "a message set aside that nobody planted",
        |run| run.look.push_str("{\"is\":\"dead\",\"key\":\"dead/0/1/8\"}\n"),
        &[ASIDE],
    ),
    (
        "no poison",
        |run| {
            Run::swap(&mut run.driver, "{\"is\":\"poisoned\",\"dead\":\"dead/0/1/7\",\"at\":4000}\n", "");
            Run::swap(&mut run.look, "{\"is\":\"dead\",\"key\":\"dead/0/1/7\"}\n", "");
        },
        &[ASIDE],
    ),
    ("a poison that blocks its pair", |run| Run::swap(&mut run.engine, "\"asked\":4100", "\"asked\":3900"), &[PAIR]),
    (
        "a store that does not agree",
        |run| Run::swap(&mut run.look, "\"faults\":[]", "\"faults\":[\"a place without its record\"]"),
        &[AGREE],
    ),
    (
        "a store that was not examined",
        |run| Run::swap(&mut run.look, "{\"is\":\"examined\",\"records\":9,\"faults\":[]}\n", ""),
        &[AGREE],
    ),
    ("a line that is none", |run| run.engine.push_str("{\"is\":\"begun\",\"execution\":\n"), &[READ]),
    ("a line of an unknown kind", |run| run.engine.push_str("{\"is\":\"surprise\"}\n"), &[READ]),
    (
        "no faults",
        |run| {
            Run::swap(
                &mut run.driver,
                "{\"is\":\"fault\",\"what\":\"kill\",\"process\":\"engine-1\",\"at\":5000,\"until\":5001}\n",
                "",
            )
        },
        &[FAULTS],
    ),
];

#[test]
fn each_broken_promise_is_found() {
    for (what, change, expected) in CASES {
        let mut run = Run::good();
        change(&mut run);
        let report = run.judged();
        assert_eq!(&broken(&report)[..], *expected, "{what}\n{report}");
    }
}

const LOSSY_CASES: &[Case] = &[
    (
        "a loss before the allowed second",
        |run| {
            run.engine.push_str("{\"is\":\"submitted\",\"execution\":\"x-l-0\",\"asked\":1,\"at\":1999}\n");
        },
        &[KEPT],
    ),
    (
        "a loss after the new primary took over",
        |run| {
            run.engine.push_str("{\"is\":\"submitted\",\"execution\":\"x-l-0\",\"asked\":4003,\"at\":4004}\n");
        },
        &[KEPT],
    ),
    (
        "a partition that was live too late",
        |run| Run::swap(&mut run.engine, "\"asked\":3100,\"at\":7000", "\"asked\":3100,\"at\":13001"),
        &[LIVE],
    ),
    (
        "a partition that was never live again",
        |run| Run::swap(&mut run.engine, "\"asked\":3100,\"at\":7000", "\"asked\":2900,\"at\":2950"),
        &[LIVE],
    ),
    (
        "an event missed without a gap",
        |run| {
            run.saw.remove(3);
        },
        &[MISSED],
    ),
    (
        "an event undone that was seen long before",
        |run| {
            let mut other = EVENTS[2].to_owned();
            Run::swap(&mut other, "901000", "900999");
            run.saw.insert(2, other);
        },
        &[TRUE],
    ),
];

#[test]
fn only_the_last_second_is_excused() {
    for (what, change, expected) in LOSSY_CASES {
        let mut run = Run::lossy();
        change(&mut run);
        let report = run.judged();
        assert_eq!(&broken(&report)[..], *expected, "{what}\n{report}");
    }
    let mut run = Run::lossy();
    run.engine.push_str(
        "{\"is\":\"submitted\",\"execution\":\"x-l-0\",\"asked\":1,\"at\":2000}\n{\"is\":\"gap\",\"at\":3}\n",
    );
    run.saw.remove(3);
    let report = run.judged();
    assert!(report.holds(), "{report}");
    assert!(report.to_string().contains("1 lost from the last second"), "{report}");
    assert!(report.to_string().contains("1 passed over, 1 gaps told"), "{report}");
}

#[test]
fn only_a_killed_process_may_leave_a_torn_end() {
    for (torn, name, expected) in [
        ("{\"is\":\"begun\",\"exec", "engine-1", &[][..]),
        ("{\"is\":\"left\",\"execution\":\"x-a-0\",\"attempt\":1,\"at\":1}", "engine-1", &[]),
        ("{\"is\":\"begun\",\"exec", "look", &[READ]),
        (
            "{\"is\":\"begun\",\"exec\n{\"is\":\"left\",\"execution\":\"x-a-0\",\"attempt\":1,\"at\":1}",
            "engine-1",
            &[READ],
        ),
    ] {
        let mut files = Run::good().files();
        let file = files.iter_mut().find(|(process, _)| process == name).unwrap();
        file.1.push_str(torn);
        let report = written(&files);
        assert_eq!(broken(&report), expected, "{torn}\n{report}");
    }
    assert_eq!(History::of(&[("a".into(), String::new())]).lines, 0);
}

#[test]
fn the_program_answers_with_its_exit_code() {
    let directory = std::env::temp_dir().join(format!("checker-program-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let program = |directory: &Path| {
        std::process::Command::new(env!("CARGO_BIN_EXE_onward-checker")).arg(directory).output().unwrap()
    };
    for (name, text) in Run::good().files() {
        std::fs::write(directory.join(format!("{name}.jsonl")), text).unwrap();
    }
    let good = program(&directory);
    assert_eq!(good.status.code(), Some(0), "{}", String::from_utf8_lossy(&good.stdout));
    std::fs::remove_file(directory.join("reader-1.jsonl")).unwrap();
    let bad = program(&directory);
    assert_eq!(bad.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&bad.stdout).contains("BROKEN: the reader misses no event"));
    std::fs::remove_dir_all(&directory).unwrap();
    assert_eq!(program(&directory).status.code(), Some(2));
}
