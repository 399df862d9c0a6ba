//! What was asked for is what was written: an execution is born with the arguments, the input and the delay of its
//! submit.

use super::{Change, Checker};
use onward_core::record::{Execution, Record};
use onward_core::{Act, Key, Millis, NewExecution, PayloadSlot, Span, What};

/// The checker of requests, by name.
const REQUESTS: &str = "requests";
/// How far the time that a process writes may be from the store's once every clock has been corrected.
const TIME_ERROR_MAX: Span = Span::seconds(1);

/// When something is to expire: after so long, or at a time.
type Expiry = (Option<Span>, Option<Millis>);

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
            if let Some(input) = self.payload(born, PayloadSlot::Input) {
                self.calls.born(*id, input);
            }
            let error = (now - born.created_at).max(born.created_at - now);
            if self.quiet && error > TIME_ERROR_MAX {
                self.violate(REQUESTS, format!("{id} says at {now} that it was created at {}", born.created_at));
            }
        }
    }

    /// How a new execution differs from what its submit asked for, if it does.
    pub(super) fn differs_from(&self, new: &NewExecution, born: &Execution) -> Option<String> {
        // After a failover a purge may share the commit of a birth, and leaves nothing to compare.
        if born.is_purging() {
            return None;
        }
        if !self.same_arguments(born, new) {
            return Some("has other arguments than its submit".to_owned());
        }
        if born.trace != new.trace {
            return Some(format!("is of the trace {:?} and should be of {:?}", born.trace, new.trace));
        }
        let asked = match (new.delay, new.run_at) {
            (Some(pause), _) => born.created_at + pause,
            (None, Some(at)) => at,
            (None, None) => born.created_at,
        };
        let asked = Some(asked).filter(|at| *at > born.created_at);
        // What its record says may already be the work of an operator whose call shares the commit.
        let Some(What::Submitted { delayed_until: written, .. }) = born.history.first().map(|line| &line.what) else {
            return Some("does not remember its submit".to_owned());
        };
        let wanted = (new.expires_after, new.expires_at);
        let ((after, at), from) = self.replay_of(born).unwrap_or((wanted, born.created_at));
        let deadline = after.map(|span| from + span).or(at);
        if deadline != born.deadline {
            return Some(format!("expires at {:?} and should at {deadline:?}", born.deadline));
        }
        (asked != *written).then(|| format!("is delayed until {written:?} and should be until {asked:?}"))
    }

    /// The deadline that the last replay wished for and when that was, if one shares the commit of its birth.
    fn replay_of(&self, born: &Execution) -> Option<(Expiry, Millis)> {
        let line = born.history.iter().rfind(|line| matches!(line.what, What::Replayed { .. }))?;
        let mut acts = born.operated.iter().rev().filter_map(|operated| self.calls.act(operated.by));
        acts.find_map(|act| match act {
            Act::Replay(replay) => Some(((replay.expires_after, replay.expires_at), line.at)),
            _ => None,
        })
    }

    /// Whether an execution was submitted with these arguments; the time is none of them. Priority and tags are compared
    /// with what the operators made of them that the execution remembers.
    pub(super) fn same_arguments(&self, execution: &Execution, new: &NewExecution) -> bool {
        let (mut priority, mut tags) = (new.priority, new.tags.clone());
        for act in execution.operated.iter().filter_map(|operated| self.calls.act(operated.by)) {
            match act {
                Act::Prioritise(wished) => priority = wished.priority,
                Act::Tag(wished) => {
                    tags.retain(|key, _| !wished.remove.contains(key));
                    tags.extend(wished.set.clone());
                }
                _ => {}
            }
        }
        // What stands beside an execution goes with it.
        let gone = self.execution(execution.id).is_none_or(Execution::is_purging);
        let place = (&execution.namespace, &execution.lane, &execution.kind, execution.priority)
            == (&new.namespace, &new.lane, &new.kind, priority);
        let input = self.payload(execution, PayloadSlot::Input);
        place
            && input.map_or(gone, |input| new.payload().is_ok_and(|sent| sent == input))
            && execution.unique_key == new.unique_key
            && (&execution.requires, &execution.tags, &execution.policy) == (&new.requires, &tags, &new.policy)
            && execution.idempotency_key == new.idempotency_key
    }
}
