//! Which seeds are kept: those that run with every change, and every seed that ever failed, with its cause.
//!
//! A kept seed makes the world that it made when it was listed: faults that were added later are off in it. Its trace would
//! otherwise be another one, and prove nothing about the fault that it once found.

use std::ops::Range;

/// The constants of FNV-1a.
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

/// The seeds of every test run.
pub const REGRESSION: Range<u64> = 0..2_000;

/// The faults that a world knows, in the order in which they were added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Generation {
    /// All faults of single calls, and those that strike at certain times.
    First,
    /// Commits that land minutes late, slow answers, old reads, crowds around one execution, repeats of old reports, and
    /// stores that lose what no replica has.
    Second,
    /// Callers that wait for ends through any process, and messages that are delivered again by a process that had stopped.
    Third,
    /// Attempts that are suspended, signals with and without proofs, operators that hold work and end waits, and policies that
    /// hold what is exhausted.
    Fourth,
}

/// A seed that failed once.
#[derive(Debug, Clone, Copy)]
pub struct Failed {
    /// The seed.
    pub seed: u64,
    /// The faults that its world knew.
    pub generation: Generation,
    /// What was wrong, in one line.
    pub cause: &'static str,
}

const fn first(seed: u64, cause: &'static str) -> Failed {
    Failed { seed, generation: Generation::First, cause }
}

const fn second(seed: u64, cause: &'static str) -> Failed {
    Failed { seed, generation: Generation::Second, cause }
}

const fn fourth(seed: u64, cause: &'static str) -> Failed {
    Failed { seed, generation: Generation::Fourth, cause }
}

/// Every seed that ever failed. Each was mended in the product or in the model before it came here.
pub const FAILED: &[Failed] = &[
    first(10_010_439, "product: a refused replay ran later, because a freed unique key was absent again"),
    first(50_001_514, "product: an execution answered as a duplicate appeared later, for the same reason"),
    first(10_019_794, "product: an old answer of a refused claim put a lane to sleep that another process had opened"),
    first(50_004_937, "product: work claimed and revoked in one commit vanished from the board until a sweep"),
    first(10_044_192, "product: the repeat of a report was denied while a purge had removed its attempt"),
    first(10_047_854, "product: the same, for a report whose first answer was lost"),
    first(10_001_446, "model: a second cancel that shortens the grace shares a commit with a progress report"),
    first(10_004_051, "model: after a rollback a repeated submit and a reschedule share the birth commit"),
    first(10_040_859, "model: the same"),
    first(10_009_606, "model: work counted as neglected before its lane, closed again by a rollback, was open"),
    first(10_029_456, "model: a claim, a revoke and another claim in one commit"),
    first(10_051_840, "model: a rollback to a record that is being purged, then a second one behind it"),
    first(100_012_727, "model: a claim answered after a purge was compared with an input that was gone"),
    second(200_005_528, "product: a replay refused by itself happened later with the lost batch of its completion"),
    second(200_000_830, "model: two progress reports in one commit"),
    second(200_000_956, "model: a claim, a change of tags and a cancel with grace in one commit"),
    second(200_001_632, "model: an end that a failover spared was looked for under an unknown id"),
    second(300_001_755, "model: a worker's double used a lease that had not been handed over"),
    second(300_004_427, "model: a pause, a cancel, a replay and a claim in one commit"),
    second(310_003_109, "model: after a failover a submit, a cancel and a replay share the birth commit"),
    second(310_031_398, "model: the purge of what a failover had taken was looked for in the execution born again"),
    second(310_032_781, "model: the same"),
    second(310_034_162, "model: the same"),
    second(310_136_278, "model: the purge of what a failover had taken was refused once its submit was repeated"),
    second(310_201_044, "model: after a failover a submit, a cancel and a purge share the birth commit"),
    second(310_214_753, "model: a clock that is behind delays work until a time that its events tell as past"),
    second(310_383_563, "model: work returned and claimed again in one commit, after a clock had run ahead"),
    second(310_028_683, "model: after a failover an execution is born with an attempt that has ended"),
    fourth(320_000_002, "product: signals that counted for a suspension were lost when it ended with its execution"),
    fourth(320_000_038, "product: signals that counted for an alternative were lost when another one was met"),
    fourth(320_000_148, "product: a repeated suspend on alternatives was told of more waits than the first"),
    fourth(1_163_319_669_885, "model: a signal whose execution was purged meanwhile was looked for as refused"),
    fourth(320_000_266, "product: a submit with a signal was refused because the time of its key's holder was over"),
    fourth(310_507_085, "model: time ended a wait, a signal came and an operator cancelled in one commit"),
    fourth(5_032, "model: a signal that had left its mailbox came again after a rollback"),
];

/// Seeds that follow from a text such as the name of a commit: each text has others, and hardly two the same.
#[must_use]
pub fn fresh_seeds(text: &str, count: u64) -> Range<u64> {
    let hash = text.bytes().fold(FNV_OFFSET, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME));
    // Behind all seeds that people count, and short enough to be typed.
    let from = (1 << 40) | ((hash >> 24) & 0xff_ffff_ff00);
    from..from + count
}

/// The faults that the world of a seed knows.
#[must_use]
pub fn generation(seed: u64) -> Generation {
    let failed = FAILED.iter().find(|failed| failed.seed == seed).map(|failed| failed.generation);
    let regression = REGRESSION.contains(&seed).then_some(Generation::First);
    failed.or(regression).unwrap_or(Generation::Fourth)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn kept_seeds_are_listed_once_and_fresh_ones_know_every_fault() {
        let seeds: BTreeSet<u64> = FAILED.iter().map(|failed| failed.seed).collect();
        assert_eq!(seeds.len(), FAILED.len());
        assert!(FAILED.iter().all(|failed| !REGRESSION.contains(&failed.seed) && !failed.cause.contains('\n')));
        assert_eq!((generation(7), generation(10_010_439)), (Generation::First, Generation::First));
        assert_eq!(generation(REGRESSION.end), Generation::Fourth);
    }

    #[test]
    fn every_commit_has_seeds_of_its_own() {
        let (one, other) = (fresh_seeds("1d401b7", 500), fresh_seeds("a4be50c", 500));
        assert_eq!((one.clone(), one.end - one.start), (fresh_seeds("1d401b7", 500), 500));
        assert!(one.end <= other.start || other.end <= one.start);
        assert_eq!(generation(one.start), Generation::Fourth);
    }
}
