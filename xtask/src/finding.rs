//! What a check has to say: where, what, and how to fix it.

use std::fmt;

/// One place that breaks a rule of the repository.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The file, relative to the root of the repository.
    pub path: String,
    /// The line, counted from one.
    pub line: usize,
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub fix: String,
}

impl Finding {
    pub(crate) fn new(path: &str, line: usize, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, what: what.into(), fix: fix.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}; {}", self.path, self.line, self.what, self.fix)
    }
}

/// The result of all checks.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// How many text files were read.
    pub files: usize,
    /// What must be fixed, in order of path and line.
    pub findings: Vec<Finding>,
    /// What is worth a look but breaks no rule.
    pub notes: Vec<Finding>,
}

impl Report {
    /// One line that sums up the report.
    #[must_use]
    pub fn summary(&self) -> String {
        format!("tidy: {} files, {} findings, {} notes", self.files, self.findings.len(), self.notes.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_one_line_with_place_problem_and_remedy() {
        let finding = Finding::new("a.rs", 3, "too long", "split it");
        assert_eq!(finding.to_string(), "a.rs:3: too long; split it");
    }

    #[test]
    fn findings_sort_by_path_then_line() {
        let mut findings = [Finding::new("b", 1, "", ""), Finding::new("a", 10, "", ""), Finding::new("a", 9, "", "")];
        findings.sort();
        let places: Vec<_> = findings.iter().map(|finding| (finding.path.as_str(), finding.line)).collect();
        assert_eq!(places, [("a", 9), ("a", 10), ("b", 1)]);
    }
}
