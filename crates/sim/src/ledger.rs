//! The ledger: which seeds were ever run, by which commit, and what they found.

use crate::Totals;
use std::fmt::Write;

/// What one line says beside its figures.
#[derive(Debug, Clone)]
pub struct Entry<'a> {
    /// The day, as `2026-01-31`.
    pub date: &'a str,
    /// The commit that was run.
    pub commit: &'a str,
    /// The first seed.
    pub from: u64,
}

/// The first seed behind all that a ledger names in its third column.
#[must_use]
pub fn next_seed(ledger: &str) -> u64 {
    let seeds = ledger.lines().filter_map(|line| line.strip_prefix('|')?.split('|').nth(2));
    seeds.flat_map(numbers).max().map_or(0, |last| last + 1)
}

/// The numbers in a text, which may have commas between their thousands.
fn numbers(text: &str) -> Vec<u64> {
    let plain = text.replace(',', "");
    plain.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}

/// The line for a campaign over neighbouring seeds.
#[must_use]
pub fn line(entry: &Entry<'_>, totals: &Totals) -> String {
    let last = (entry.from + totals.seeds).saturating_sub(1);
    let mut failures = totals.failures.len().to_string();
    for report in &totals.failures {
        let checker = report.violation.as_ref().map_or("?", |violation| violation.checker);
        // Writing to a string cannot fail.
        let _ = write!(failures, "; {} ({checker}): cause and commit to be added", report.seed);
    }
    format!(
        "| {} | {} | {}–{} | {} | {} | {} | {failures} |\n",
        entry.date,
        entry.commit,
        grouped(entry.from),
        grouped(last),
        grouped(totals.seeds),
        grouped(totals.operations),
        grouped(totals.fault_count()),
    )
}

/// A number with commas between its thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ledger_goes_on_behind_its_last_seed() {
        assert_eq!(next_seed("# Ledger\n\ntext with 99,999\n"), 0);
        let entry = Entry { date: "2026-01-31", commit: "abc1234", from: 100_000 };
        let totals = Totals { seeds: 2_500, operations: 1_234_567, ..Totals::default() };
        let line = line(&entry, &totals);
        assert_eq!(line, "| 2026-01-31 | abc1234 | 100,000–102,499 | 2,500 | 1,234,567 | 0 | 0 |\n");
        let ledger =
            format!("| date | commit | seeds |\n|---|---|---|\n{line}| d | c | 7–8 and 50 on | 9,999,999 | | |\n");
        assert_eq!(next_seed(&ledger), 102_500);
        assert_eq!([0, 999, 1_000, 12_345_678].map(grouped), ["0", "999", "1,000", "12,345,678"]);
    }
}
