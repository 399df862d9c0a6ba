//! The report of an examination: findings counted by kind, the first of each kind in words.

use std::collections::BTreeMap;

/// Maximum findings of each kind that are reported in words.
const TOLD_MAX: u64 = 20;

/// The findings of an examination, so far or in all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Records checked.
    pub records: u64,
    /// Index rows checked.
    pub rows: u64,
    /// Partitions whose event readers were notified of a restore.
    pub feeds_raised: u64,
    /// Lanes whose settings were sent to every partition again.
    pub lanes_told: u64,
    /// Counts of findings, by code.
    pub tallies: BTreeMap<&'static str, Tally>,
    /// The first findings of each kind, in the order in which they were found.
    pub ailments: Vec<Ailment>,
}

/// Counts of one kind of finding.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// How often it was found.
    pub found: u64,
    /// How often it was repaired.
    pub repaired: u64,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ailment {
    /// Stable code of its kind.
    pub code: &'static str,
    /// Key of the record it is about.
    pub key: String,
    /// What is wrong, in words.
    pub detail: String,
    /// Whether it was repaired.
    pub repaired: bool,
}

impl Report {
    /// Number of findings.
    #[must_use]
    pub fn found(&self) -> u64 {
        self.tallies.values().map(|tally| tally.found).sum()
    }

    /// Number of repaired findings.
    #[must_use]
    pub fn repaired(&self) -> u64 {
        self.tallies.values().map(|tally| tally.repaired).sum()
    }

    /// Whether nothing is wrong, or everything was repaired.
    #[must_use]
    pub fn is_healthy(&self) -> bool {
        self.found() == self.repaired()
    }
}

/// The report in progress.
#[derive(Debug)]
pub(super) struct Notes {
    pub(super) report: Report,
    /// Whether to repair what can be repaired.
    pub(super) repair: bool,
}

impl Notes {
    pub(super) fn new(repair: bool) -> Self {
        Self { report: Report::default(), repair }
    }

    /// Adds a finding to the report.
    pub(super) fn note(&mut self, code: &'static str, key: String, detail: String, repaired: bool) {
        let tally = self.report.tallies.entry(code).or_default();
        tally.found += 1;
        tally.repaired += u64::from(repaired);
        if tally.found <= TOLD_MAX {
            self.report.ailments.push(Ailment { code, key, detail, repaired });
        }
    }
}
