//! How much is measured: every amount of every scenario, with the small ones for a quick look.

use super::{BenchArgs, Error, Scenario};
use onward_core::Span;

/// The amounts of one run.
#[derive(Debug, Clone)]
pub(crate) struct Size {
    /// Rounds to take the median of.
    pub(crate) rounds: usize,
    /// Turns that the sides of a comparison take in each round: a multiple of two and of three sides, so that each
    /// goes first equally often.
    pub(crate) turns: usize,
    /// How long each side of a comparison is measured in each round.
    pub(crate) leg_seconds: f64,
    /// Callers at the same time.
    pub(crate) callers: usize,
    /// Callers at the same time where each call submits many.
    pub(crate) submitters: usize,
    /// Executions in one call of those.
    pub(crate) per_call: usize,
    /// Ready executions that a worker finds.
    pub(crate) backlog: usize,
    /// Samples of a latency in each round.
    pub(crate) samples: usize,
    /// Calls that wait and streams that follow on a crowded server, and how many of each on a quiet one.
    pub(crate) parked: usize,
    pub(crate) streams: usize,
    pub(crate) few: usize,
    /// Delayed executions, and the span over which they become due.
    pub(crate) timers: usize,
    pub(crate) timers_over: Span,
    /// Time to submit them before the first is due; doubled when that is not enough.
    pub(crate) timers_lead: Span,
    /// Executions that are due at one instant.
    pub(crate) midnight: usize,
    /// Killed processes, the leases each holds, and how long those last.
    pub(crate) trials: usize,
    pub(crate) held_by_trial: usize,
    pub(crate) trial_lease: Span,
    /// Leases held while something else is measured, by how many workers, and how long a worker's lease is.
    pub(crate) held: usize,
    pub(crate) holders: usize,
    pub(crate) held_lease: Span,
    /// What fills the grown store.
    pub(crate) finished: usize,
    pub(crate) waiting: usize,
    /// Finished executions that are weighed.
    pub(crate) kept: usize,
    /// How often each command is watched, by an engine that has seen all and by a new one.
    pub(crate) costs_warm: usize,
    pub(crate) costs_cold: usize,
    /// How often each way of looking at the grown store is timed.
    pub(crate) looks: usize,
    /// Ended executions that are removed while something else is measured.
    pub(crate) expired: usize,
    /// How long an idle engine is left alone before it is watched, for how long, and how much it has ahead.
    pub(crate) idle_settle: Span,
    pub(crate) idle: Span,
    pub(crate) idle_delayed: usize,
}

const FULL: Size = Size {
    rounds: 5,
    turns: 6,
    leg_seconds: 3.0,
    callers: 64,
    submitters: 4,
    per_call: 1_000,
    backlog: 20_000,
    samples: 400,
    parked: 2_000,
    streams: 500,
    few: 10,
    timers: 10_000,
    timers_over: Span::seconds(10),
    timers_lead: Span::seconds(2),
    midnight: 100_000,
    trials: 20,
    held_by_trial: 10,
    trial_lease: Span::seconds(1),
    held: 10_000,
    holders: 100,
    held_lease: Span::seconds(30),
    finished: 1_000_000,
    waiting: 100_000,
    kept: 100_000,
    costs_warm: 41,
    costs_cold: 11,
    looks: 20,
    expired: 100_000,
    idle_settle: Span::seconds(2),
    idle: Span::seconds(30),
    idle_delayed: 1_000,
};

const QUICK: Size = Size {
    rounds: 2,
    turns: 6,
    leg_seconds: 0.05,
    callers: 8,
    submitters: 2,
    per_call: 50,
    backlog: 200,
    samples: 10,
    parked: 40,
    streams: 10,
    few: 2,
    timers: 100,
    timers_over: Span(200),
    timers_lead: Span(200),
    midnight: 300,
    trials: 1,
    held_by_trial: 2,
    trial_lease: Span::seconds(1),
    held: 40,
    holders: 4,
    held_lease: Span::seconds(30),
    finished: 500,
    waiting: 200,
    kept: 300,
    costs_warm: 3,
    costs_cold: 1,
    looks: 2,
    expired: 300,
    idle_settle: Span(100),
    idle: Span(500),
    idle_delayed: 10,
};

impl Size {
    pub(crate) fn new(args: &BenchArgs) -> Result<Self, Error> {
        check(args)?;
        let mut size = if args.quick { QUICK } else { FULL };
        size.rounds = args.rounds.unwrap_or(size.rounds);
        if let Some(callers) = args.callers {
            (size.callers, size.submitters) = (callers, callers);
        }
        if let Some(seconds) = args.duration {
            size.leg_seconds = f64::from(seconds);
            size.timers = size.timers * seconds as usize * 1_000 / size.timers_over.0 as usize;
            (size.timers_over, size.idle) = (Span::seconds(seconds.into()), Span::seconds(seconds.into()));
        }
        size.finished = args.finished.unwrap_or(size.finished);
        size.kept = args.finished.unwrap_or(size.kept);
        size.waiting = args.waiting.unwrap_or(size.waiting);
        Ok(size)
    }
}

/// Refuses an option that the scenario would ignore, and amounts of nothing.
fn check(args: &BenchArgs) -> Result<(), Error> {
    use Scenario::{
        All, Bytes, Costs, Drain, Growth, Idle, Leases, Lifecycle, Processes, Recovery, Remote, Retention, Submit,
        Timers,
    };
    let scenario = args.scenario;
    let meant = |option: &str, given: bool, scenarios: &[Scenario]| {
        if given && scenario != All && !scenarios.contains(&scenario) {
            return Err(Error::Option(format!("--{option} has no meaning for {}", scenario.name())));
        }
        Ok(())
    };
    meant(
        "callers",
        args.callers.is_some(),
        &[Lifecycle, Submit, Drain, Processes, Remote, Leases, Growth, Retention, Bytes],
    )?;
    let timed = [Lifecycle, Submit, Processes, Remote, Leases, Growth, Retention, Timers, Idle];
    meant("duration", args.duration.is_some(), &timed)?;
    meant("finished", args.finished.is_some(), &[Growth, Bytes])?;
    meant("waiting", args.waiting.is_some(), &[Growth])?;
    if args.rounds.is_some() && matches!(scenario, Recovery | Bytes | Costs | Idle) {
        return Err(Error::Option(format!("--rounds has no meaning for {}", scenario.name())));
    }
    if args.finished == Some(0) && scenario == Bytes {
        return Err(Error::Option("--finished is at least 1 for bytes".to_owned()));
    }
    if args.callers == Some(0) || args.duration == Some(0) || args.rounds == Some(0) {
        return Err(Error::Option("--callers, --duration and --rounds are at least 1".to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: BenchArgs = BenchArgs {
        scenario: Scenario::Lifecycle,
        callers: None,
        duration: None,
        rounds: None,
        quick: false,
        finished: None,
        waiting: None,
    };

    #[test]
    fn options_change_what_they_name() {
        let size = Size::new(&BenchArgs { callers: Some(7), duration: Some(2), rounds: Some(3), ..PLAIN }).unwrap();
        assert_eq!((size.callers, size.submitters, size.rounds), (7, 7, 3));
        assert_eq!((size.leg_seconds, size.timers, size.timers_over), (2.0, 2_000, Span::seconds(2)));
        let grown = BenchArgs { scenario: Scenario::Growth, finished: Some(5), waiting: Some(6), ..PLAIN };
        let size = Size::new(&grown).unwrap();
        assert_eq!((size.finished, size.kept, size.waiting), (5, 5, 6));
    }

    #[test]
    fn two_sides_and_three_go_first_equally_often() {
        assert!([FULL, QUICK].iter().all(|size| size.turns.is_multiple_of(2) && size.turns.is_multiple_of(3)));
    }

    #[test]
    fn options_without_meaning_are_refused() {
        for args in [
            BenchArgs { scenario: Scenario::Latency, callers: Some(2), ..PLAIN },
            BenchArgs { scenario: Scenario::Recovery, duration: Some(2), ..PLAIN },
            BenchArgs { scenario: Scenario::Idle, rounds: Some(2), ..PLAIN },
            BenchArgs { scenario: Scenario::Bytes, rounds: Some(2), ..PLAIN },
            BenchArgs { finished: Some(2), ..PLAIN },
            BenchArgs { waiting: Some(2), ..PLAIN },
            BenchArgs { callers: Some(0), ..PLAIN },
        ] {
            assert!(matches!(Size::new(&args), Err(Error::Option(_))), "{args:?}");
        }
        assert!(Size::new(&BenchArgs { scenario: Scenario::All, callers: Some(2), waiting: Some(1), ..PLAIN }).is_ok());
    }
}
