//! Hand-written histories: good ones in which all holds, and for each promise one that breaks it.

mod cases;
mod run;
mod waits;

use cases::{CASES, LOSSY_CASES, READ};
use onward_checker::{History, Report};
use run::{Run, written};
use std::path::Path;
use waits::{WAIT_CASES, waiting};

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

#[test]
fn each_broken_promise_is_found() {
    for (what, change, expected) in CASES {
        let mut run = Run::good();
        change(&mut run);
        let report = run.judged();
        assert_eq!(&broken(&report)[..], *expected, "{what}\n{report}");
    }
}

#[test]
fn each_broken_promise_about_waits_is_found() {
    let good = waiting().judged();
    assert!(good.holds(), "{good}");
    assert!(good.to_string().contains("3 buffered, 1 counted, 1 ignored, 1 resumed"), "{good}");
    assert!(good.to_string().contains("1 by signals, 1 by timeout"), "{good}");
    for (what, change, expected) in WAIT_CASES {
        let mut run = waiting();
        change(&mut run);
        let report = run.judged();
        assert_eq!(&broken(&report)[..], *expected, "{what}\n{report}");
    }
}

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
