//! What one test program came to: read from the events that libtest prints.

use serde_json::Value;
use std::time::Duration;

/// The results of one program.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    program: String,
    pub(super) passed: u64,
    seconds: f64,
    /// Every test with its seconds.
    tests: Vec<(String, f64)>,
    /// Every failed test with what it printed.
    failed: Vec<(String, String)>,
}

impl Outcome {
    /// Reads libtest's events, one JSON object to a line. `success` is how the program ended.
    pub(super) fn of_events(program: &str, output: &str, success: bool, took: Duration) -> Self {
        let mut outcome = Self { program: program.to_owned(), seconds: took.as_secs_f64(), ..Self::default() };
        let mut ended = false;
        for event in output.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
            let name = || event["name"].as_str().unwrap_or_default().to_owned();
            match (event["type"].as_str(), event["event"].as_str()) {
                (Some("suite"), Some("ok" | "failed")) => ended = true,
                (Some("test"), Some("ok")) => {
                    outcome.passed += 1;
                    outcome.tests.push((name(), event["exec_time"].as_f64().unwrap_or(0.0)));
                }
                (Some("test"), Some("failed")) => {
                    let printed = event["stdout"].as_str().or(event["message"].as_str()).unwrap_or_default();
                    outcome.failed.push((name(), printed.to_owned()));
                }
                _ => {}
            }
        }
        if !ended || (!success && outcome.failed.is_empty()) {
            outcome.failed.push(("(the program itself)".into(), output.to_owned()));
        }
        outcome
    }

    /// Counts the `test result:` lines of plain output.
    pub(super) fn of_text(program: &str, output: String, success: bool, took: Duration) -> Self {
        let results = output.lines().filter_map(|line| line.strip_prefix("test result: "));
        let passed = results.filter_map(|result| result.split(' ').nth(1)?.parse::<u64>().ok()).sum();
        let failed = if success { Vec::new() } else { vec![("(see above)".into(), output)] };
        Self { program: program.to_owned(), passed, seconds: took.as_secs_f64(), tests: Vec::new(), failed }
    }

    pub(super) fn is_ok(&self) -> bool {
        self.failed.is_empty()
    }

    /// The program in one line.
    pub(super) fn line(&self) -> String {
        let state = if self.is_ok() { "ok" } else { "FAILED" };
        let failed = self.failed.len();
        format!("{state:<6} {:<34} {:>4} passed, {failed} failed {:>7.1} s", self.program, self.passed, self.seconds)
    }

    /// What the failed tests printed.
    pub(super) fn failures(&self) -> String {
        let texts = self.failed.iter().map(|(name, text)| format!("---- {} {name} ----\n{text}", self.program));
        texts.collect::<Vec<_>>().join("\n")
    }

    pub(super) fn failed_tests(&self) -> impl Iterator<Item = String> {
        self.failed.iter().map(|(name, _)| format!("{} {name}", self.program))
    }

    /// Seconds, program and name of every test.
    pub(super) fn timed(&self) -> impl Iterator<Item = (f64, &str, &str)> {
        self.tests.iter().map(|(name, seconds)| (*seconds, self.program.as_str(), name.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSED: &str = r#"{"type":"test","name":"a","event":"ok","exec_time":1.5}"#;
    const FAILED: &str = r#"{"type":"test","name":"b","event":"failed","exec_time":2.5,"stdout":"why"}"#;

    fn outcome(lines: &[&str], success: bool) -> Outcome {
        Outcome::of_events("p", &lines.join("\n"), success, Duration::from_secs(3))
    }

    #[test]
    fn events_tell_what_passed_and_failed() {
        let good = outcome(&[PASSED, r#"{"type":"suite","event":"ok"}"#], true);
        assert!(good.is_ok());
        assert_eq!((good.passed, good.timed().collect::<Vec<_>>()), (1, vec![(1.5, "p", "a")]));
        let bad = outcome(&[PASSED, FAILED, r#"{"type":"suite","event":"failed"}"#], false);
        assert_eq!(bad.failed_tests().collect::<Vec<_>>(), ["p b"]);
        assert!(bad.failures().contains("why") && bad.line().starts_with("FAILED"), "{}", bad.line());
    }

    #[test]
    fn a_program_that_dies_has_failed_whatever_passed_before() {
        assert!(!outcome(&[PASSED], true).is_ok(), "it never ended");
        assert!(!outcome(&[PASSED, r#"{"type":"suite","event":"ok"}"#], false).is_ok(), "it ended badly");
        assert!(!outcome(&[], true).is_ok());
    }

    #[test]
    fn plain_output_is_counted() {
        let text = "test result: ok. 3 passed; 0 failed;\nx\ntest result: ok. 4 passed; 0 failed;\n".to_owned();
        assert_eq!(Outcome::of_text("d", text.clone(), true, Duration::ZERO).passed, 7);
        assert!(!Outcome::of_text("d", text, false, Duration::ZERO).is_ok());
    }
}
