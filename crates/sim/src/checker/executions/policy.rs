//! Policies were obeyed: which failures and lost leases are followed by another attempt, after which pause, and how long
//! a lease lasts.
//!
//! Like the stages this is a second statement of the rules, and shares no code with them.

use onward_core::record::Execution;
use onward_core::{Category, Event, Millis, OnExhausted, RetryPolicy, Span, What};
use std::ops::RangeInclusive;

/// How often an execution was tried again, as its events tell.
#[derive(Debug, PartialEq, Eq)]
struct Tries {
    retries: u32,
    reclaims: u32,
    reclaims_in_a_row: u32,
}

impl Tries {
    fn of(execution: &Execution) -> Self {
        let Execution { retries, reclaims, reclaims_in_a_row, .. } = *execution;
        Self { retries, reclaims, reclaims_in_a_row }
    }

    fn failed(&mut self, policy: &Execution, event: &Event) -> Result<(), String> {
        let timeout = Category::timeout();
        let (category, retry_at) = match &event.what {
            What::AttemptFailed { category, retry_at, .. } => (category, retry_at),
            What::TimedOut { retry_at, .. } => (&timeout, retry_at),
            _ => return Ok(()),
        };
        let retry = policy.policy.retry();
        let listed = retry.categories.is_empty() || retry.categories.contains(category);
        let allowed = self.retries < retry.max_retries && listed && *category != Category::permanent();
        let tried = self.retries;
        let held = matches!(&event.what, What::AttemptFailed { held: true, .. } | What::TimedOut { held: true, .. });
        if held != (!allowed && pauses_when_exhausted(policy)) {
            return Err(format!("after {tried} retries it was held for an operator: {held}"));
        }
        if allowed != retry_at.is_some() {
            return Err(format!("a {} failure after {tried} retries was answered wrongly", category.as_str()));
        }
        self.reclaims_in_a_row = 0;
        let Some(retry_at) = *retry_at else { return Ok(()) };
        self.retries += 1;
        let pauses = pauses(&retry, tried);
        let early = kept(policy, event) && retry_at <= event.at + *pauses.end();
        if !early && (retry_at < event.at || !pauses.contains(&(retry_at - event.at))) {
            return Err(format!("retry {tried} comes at {retry_at} after a failure at {}, not {pauses:?}", event.at));
        }
        Ok(())
    }

    /// Another attempt follows a lost lease until there were too many, and from the third in a row on after a pause.
    fn lost(&mut self, most: u32, (at, kept): (Millis, bool), again_at: Option<Millis>) -> Result<(), String> {
        if (self.reclaims >= most) != again_at.is_none() {
            return Err(format!("after {} lost leases another one led to {again_at:?}", self.reclaims));
        }
        let Some(again_at) = again_at else { return Ok(()) };
        self.reclaims += 1;
        self.reclaims_in_a_row += 1;
        let pause = match self.reclaims_in_a_row {
            0..=2 => Span(0),
            many => Span::seconds(1 << (many - 3).min(20)).min(Span::minutes(5)),
        };
        if again_at != at + pause && !(kept && again_at < at + pause) {
            let many = self.reclaims_in_a_row;
            return Err(format!("after {many} lost leases in a row, the last at {at}, it waits until {again_at}"));
        }
        Ok(())
    }
}

/// Whether an operator decides once nothing is left to try.
fn pauses_when_exhausted(execution: &Execution) -> bool {
    execution.policy.on_exhausted == Some(OnExhausted::Pause)
}

/// Whether an event only repeats the record's own time, because the clock from which pauses count shows less.
fn kept(before: &Execution, event: &Event) -> bool {
    event.at <= before.changed_at
}

/// The pauses that a policy allows before a retry; the first one is 0.
fn pauses(policy: &RetryPolicy, retry: u32) -> RangeInclusive<Span> {
    let doubled = Span(policy.first_pause.0.saturating_mul(2_u64.saturating_pow(retry)));
    // Who wants a first pause that is longer than the longest gets it each time.
    let pause = doubled.min(policy.longest_pause).max(policy.first_pause);
    if policy.jitter { Span(pause.0.div_ceil(2))..=pause } else { pause..=pause }
}

/// Every failure and every lost lease was answered as the policy says, and is counted.
pub(super) fn obeyed(before: &Execution, after: &Execution, events: &[&Event]) -> Result<(), String> {
    let mut tries = Tries::of(before);
    for event in events {
        match &event.what {
            What::AttemptFailed { .. } | What::TimedOut { .. } => tries.failed(before, event)?,
            What::LeaseExpired { again_at, held, .. } | What::LeaseRevoked { again_at, held, .. } => {
                if *held != (again_at.is_none() && pauses_when_exhausted(before)) {
                    return Err(format!("after {} lost leases it was held for an operator: {held}", tries.reclaims));
                }
                tries.lost(before.policy.max_reclaims(), (event.at, kept(before, event)), *again_at)?;
            }
            What::Completed { .. } | What::Delayed { .. } | What::Suspended { .. } => tries.reclaims_in_a_row = 0,
            // Nobody is told how the attempt ended that was asked to stop.
            What::Cancelled { .. } if after.reclaims_in_a_row == 0 => tries.reclaims_in_a_row = 0,
            // A new life.
            What::Replayed { .. } => tries = Tries { retries: 0, reclaims: 0, reclaims_in_a_row: 0 },
            _ => {}
        }
    }
    let counted = Tries::of(after);
    if tries == counted { Ok(()) } else { Err(format!("it counts {counted:?} instead of {tries:?}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_their_limit_and_jitter_only_shortens_them() {
        let policy = |first, longest, jitter| RetryPolicy {
            first_pause: Span(first),
            longest_pause: Span(longest),
            jitter,
            ..RetryPolicy::default()
        };
        for (policy, retry, least, most) in [
            (policy(800, 800, false), 7, 800, 800),
            (policy(800, 300, true), 7, 400, 800),
            (policy(300, 4_000, false), 0, 300, 300),
            (policy(300, 4_000, false), 3, 2_400, 2_400),
            (policy(300, 4_000, true), 4, 2_000, 4_000),
            (policy(300, 4_000, false), 500, 4_000, 4_000),
        ] {
            assert_eq!(pauses(&policy, retry), Span(least)..=Span(most), "{policy:?}");
        }
    }

    #[test]
    fn only_too_many_lost_leases_are_the_end_and_many_in_a_row_wait() {
        let lost = |reclaims, reclaims_in_a_row, again_at: Option<u64>| {
            let mut tries = Tries { retries: 0, reclaims, reclaims_in_a_row };
            tries.lost(100, (Millis(5_000), false), again_at.map(Millis)).is_ok()
        };
        for (reclaims, in_a_row, again_at, right) in [
            (0, 0, Some(5_000), true),
            (0, 0, None, false),
            (1, 1, Some(6_000), false),
            (2, 2, Some(6_000), true),
            (9, 3, Some(7_000), true),
            (99, 40, Some(305_000), true),
            (100, 0, Some(5_000), false),
            (100, 0, None, true),
        ] {
            assert_eq!(lost(reclaims, in_a_row, again_at), right, "{reclaims} {in_a_row} {again_at:?}");
        }
    }
}
