//! What was asked for is what was written: an execution is born with the arguments, the input and the delay of its
//! submit.

use super::{Change, Checker};
use onward_core::record::{Execution, ExecutionFormat, Readiness, Record, State, Waiting};
use onward_core::{Key, Millis, PayloadSlot, Span, When};
use onward_engine::NewExecution;

/// The checker of requests, by name.
const REQUESTS: &str = "requests";
/// How far the time that a process writes may be from the store's once every clock has been corrected.
const TIME_ERROR_MAX: Span = Span::seconds(1);

impl Checker {
    /// Looks at the executions that a commit created.
    pub(super) fn born(&mut self, changes: &[Change], now: Millis) {
        for change in changes {
            let (Key::Execution(id), None, Some(Record::Execution(born))) =
                (&change.key, &change.before, change.after.as_deref())
            else {
                continue;
            };
            if let Some(new) = self.calls.request(born.created_by)
                && let Some(what) = self.differs_from(new, born)
            {
                self.violate(REQUESTS, format!("{id} {what}"));
            }
            let error = (now - born.created_at).max(born.created_at - now);
            if self.quiet && error > TIME_ERROR_MAX {
                self.violate(REQUESTS, format!("{id} says at {now} that it was created at {}", born.created_at));
            }
        }
    }

    /// How a new execution differs from what its submit asked for, if it does.
    pub(super) fn differs_from(&self, new: &NewExecution, born: &Execution) -> Option<String> {
        if !self.same_arguments(born, new) {
            return Some("has other arguments than its submit".to_owned());
        }
        let needed = if new.trace.is_some() { ExecutionFormat::Traced } else { ExecutionFormat::First };
        if (born.trace, born.format) != (new.trace, needed) {
            return Some(format!("is of the trace {:?} and should be of {:?}", born.trace, new.trace));
        }
        let asked = match new.when {
            When::Now => born.created_at,
            When::After(pause) => born.created_at + pause,
            When::At(at) => at,
        };
        let asked = Some(asked).filter(|at| *at > born.created_at);
        let written = match born.state {
            State::Waiting(Waiting { readiness: Readiness::Delayed { until, .. }, .. }) => Some(until),
            _ => None,
        };
        let deadline = match new.deadline {
            Some(When::After(span)) => Some(born.created_at + span),
            Some(When::At(at)) => Some(at),
            Some(When::Now) | None => None,
        };
        if deadline != born.deadline {
            return Some(format!("expires at {:?} and should at {deadline:?}", born.deadline));
        }
        (asked != written).then(|| format!("is delayed until {written:?} and should be until {asked:?}"))
    }

    /// Whether an execution was submitted with these arguments; the time is none of them.
    pub(super) fn same_arguments(&self, execution: &Execution, new: &NewExecution) -> bool {
        // What stands beside an execution goes with it.
        let gone = self.execution(execution.id).is_none_or(Execution::is_purging);
        let place = (&execution.namespace, &execution.lane, &execution.kind, execution.priority)
            == (&new.namespace, &new.lane, &new.kind, new.priority);
        place
            && self.payload(execution, PayloadSlot::Input).map_or(gone, |input| input == new.input)
            && execution.unique_key == new.unique_key
            && (&execution.requires, &execution.tags, &execution.policy) == (&new.requires, &new.tags, &new.policy)
            && execution.idempotency_key == new.idempotency_key
    }
}
