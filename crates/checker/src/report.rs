//! What was checked, how much of it, and what broke, as a table for people.

use std::fmt;

/// How many offenders of one check are named.
const NAMED_MAX: usize = 5;

/// One promise and how it was kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// The promise in words.
    pub name: &'static str,
    /// How many cases were looked at.
    pub looked_at: usize,
    /// Those that broke it.
    pub broken: Vec<String>,
    /// What else is worth knowing, such as what was lost but might be.
    pub note: String,
}

impl Check {
    pub(crate) fn new(name: &'static str) -> Self {
        Self { name, looked_at: 0, broken: Vec::new(), note: String::new() }
    }

    pub(crate) fn breaks(&mut self, offender: impl Into<String>) {
        self.broken.push(offender.into());
    }
}

/// All promises.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The name of the plan that was run.
    pub plan: String,
    /// One by one.
    pub checks: Vec<Check>,
    /// The run in one line.
    pub summary: String,
}

impl Report {
    /// Whether every promise was kept.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.checks.iter().all(|check| check.broken.is_empty())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.checks.iter().map(|check| check.name.len()).max().unwrap_or(0);
        writeln!(f, "  {:width$}  {:>9}  {:>6}", "promise", "looked at", "broken")?;
        for check in &self.checks {
            let note = if check.note.is_empty() { String::new() } else { format!("  {}", check.note) };
            let counted = (grouped(check.looked_at), grouped(check.broken.len()));
            writeln!(f, "  {:width$}  {:>9}  {:>6}{note}", check.name, counted.0, counted.1)?;
        }
        for check in self.checks.iter().filter(|check| !check.broken.is_empty()) {
            writeln!(f, "  BROKEN: {}", check.name)?;
            for offender in check.broken.iter().take(NAMED_MAX) {
                writeln!(f, "    {offender}")?;
            }
            if check.broken.len() > NAMED_MAX {
                writeln!(f, "    and {} more", grouped(check.broken.len() - NAMED_MAX))?;
            }
        }
        write!(f, "{}", self.summary)
    }
}

/// A number with commas between its thousands.
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_names_the_first_offenders() {
        let mut check = Check::new("nothing is lost");
        check.looked_at = 41_200;
        for number in 0..7 {
            check.breaks(format!("x-{number}"));
        }
        let report = Report { plan: "p".into(), checks: vec![check], summary: "p: lost".into() };
        let text = report.to_string();
        assert!(
            text.contains("41,200") && text.contains("x-4") && !text.contains("x-5") && text.contains("and 2 more")
        );
        assert!(!report.holds());
        assert_eq!((grouped(0), grouped(999), grouped(1_000_000)), ("0".into(), "999".into(), "1,000,000".into()));
    }
}
