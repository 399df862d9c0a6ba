//! What an examination found: counted by kind, the first of each kind in words.

use std::collections::BTreeMap;

/// How many of each kind are told in words.
const TOLD_MAX: u64 = 20;

/// What an examination found, so far or in all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Records looked at.
    pub records: u64,
    /// Index rows looked at.
    pub rows: u64,
    /// Partitions whose readers were told of a restore.
    pub feeds_raised: u64,
    /// Lanes whose settings were told to every partition again.
    pub lanes_told: u64,
    /// What is wrong, by its code.
    pub tallies: BTreeMap<&'static str, Tally>,
    /// The first of each kind, in the order in which they were found.
    pub ailments: Vec<Ailment>,
}

/// How often something is wrong.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// How often it was found.
    pub found: u64,
    /// How often it was set right.
    pub repaired: u64,
}

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ailment {
    /// The stable word for it.
    pub code: &'static str,
    /// The record it is about.
    pub key: String,
    /// What is wrong, for people.
    pub detail: String,
    /// Whether it was set right.
    pub repaired: bool,
}

impl Report {
    /// How much was found.
    #[must_use]
    pub fn found(&self) -> u64 {
        self.tallies.values().map(|tally| tally.found).sum()
    }

    /// How much of it was set right.
    #[must_use]
    pub fn repaired(&self) -> u64 {
        self.tallies.values().map(|tally| tally.repaired).sum()
    }

    /// Whether nothing is wrong, or nothing any more.
    #[must_use]
    pub fn is_healthy(&self) -> bool {
        self.found() == self.repaired()
    }
}

/// The report while it is written.
#[derive(Debug)]
pub(super) struct Notes {
    pub(super) report: Report,
    /// Whether to set right what can be.
    pub(super) repair: bool,
}

impl Notes {
    pub(super) fn new(repair: bool) -> Self {
        Self { report: Report::default(), repair }
    }

    /// Writes down what is wrong.
    pub(super) fn note(&mut self, code: &'static str, key: String, detail: String, repaired: bool) {
        let tally = self.report.tallies.entry(code).or_default();
        tally.found += 1;
        tally.repaired += u64::from(repaired);
        if tally.found <= TOLD_MAX {
            self.report.ailments.push(Ailment { code, key, detail, repaired });
        }
    }
}
