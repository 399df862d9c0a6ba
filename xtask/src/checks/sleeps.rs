//! Tests wait for what they expect, not for time to pass: a sleep makes them slow on a quiet machine and wrong on a
//! busy one.

use crate::finding::Finding;
use crate::rust::Source;
use crate::tree::Tree;

/// Calls that let real time pass.
const SLEEPS: [&str; 3] = ["thread::sleep", "time::sleep", "time::interval"];

/// The comment that explains a sleep which is part of what is tested.
const EXCUSE: &str = "// not synchronisation:";

/// Sleeps in test code without a reason above them.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, source) in tree.rust() {
        let comments: Vec<_> = source.comments.lines().collect();
        for (number, start, line) in source.code_lines() {
            let Some(at) = sleep_in(line) else { continue };
            if source.is_test(start + at) && !is_excused(source, &comments, number) {
                let fix = format!("wait for the event, or explain it above with `{EXCUSE} <reason>`");
                findings.push(Finding::new(&file.path, number, "a sleep in a test", fix));
            }
        }
    }
    findings
}

/// Where a line sleeps: by path, or by a bare call of an imported name.
fn sleep_in(line: &str) -> Option<usize> {
    let bare = line.match_indices("sleep(").map(|(at, _)| at).find(|at| {
        let before = line[..*at].trim_end();
        let is_call = !line[..*at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        is_call && !before.ends_with(['.', ':']) && !before.ends_with("fn")
    });
    SLEEPS.iter().find_map(|sleep| line.find(sleep)).or(bare)
}

/// Whether the comment directly above the line gives a reason.
fn is_excused(source: &Source, comments: &[&str], number: usize) -> bool {
    let code: Vec<_> = source.code.lines().collect();
    let above =
        (0..number - 1).rev().take_while(|index| !comments[*index].trim().is_empty() && code[*index].trim().is_empty());
    above.into_iter().any(|index| {
        let comment = comments[index].trim();
        comment.strip_prefix(EXCUSE).is_some_and(|reason| !reason.trim().is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<usize> {
        check(&Tree::of(&[(path, text)])).into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn sleeps_in_tests_fail() {
        assert_eq!(found("a/tests/b.rs", "std::thread::sleep(x);\ntokio::time::sleep(x).await;\nsleep(x)"), [1, 2, 3]);
        assert_eq!(found("a/src/b.rs", "thread::sleep(x);\n#[cfg(test)]\nmod t { fn a() { thread::sleep(x) } }"), [3]);
    }

    #[test]
    fn a_reason_above_excuses_a_sleep() {
        assert!(
            found("tests/b.rs", "    // not synchronisation: the file clock ticks in ms\n    sleep(x);").is_empty()
        );
        assert!(found("tests/b.rs", "// not synchronisation: the clock\n// is coarse\nsleep(x);").is_empty());
        assert_eq!(found("tests/b.rs", "// not synchronisation:\nsleep(x);"), [2]);
        assert_eq!(found("tests/b.rs", "// not synchronisation: a\nf();\nsleep(x);"), [3]);
    }

    #[test]
    fn the_injected_clock_may_sleep() {
        assert!(
            found("a/tests/b.rs", "clock.sleep(x); ctx\n.sleep(x); fn sleep() {} asleep(x); // sleep(x)").is_empty()
        );
    }
}
