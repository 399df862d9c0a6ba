//! Choosing when an execution runs, before whom, and under which labels.

use crate::record::{Did, Execution, Readiness, State, Waiting, WhyDelayed};
use crate::rules::submit;
use crate::{Millis, Rejection, Stop, TagKey, TagValue, View, What, When, limits};
use std::collections::{BTreeMap, BTreeSet};

/// Chooses when waiting work may run; the attempt that comes next stays what it is.
pub(crate) fn reschedule(
    view: &mut View,
    execution: &mut Execution,
    when: When,
    now: Millis,
) -> Result<(What, Did), Stop> {
    let State::Waiting(Waiting { next, .. }) = &execution.state else {
        let state = execution.public_state();
        return Err(Rejection::NotWaiting { execution: execution.id, state }.into());
    };
    let next = next.clone();
    let at = submit::time(view, "when", when, now)?;
    let readiness = Readiness::at(at, WhyDelayed::Operator, now);
    let until = matches!(readiness, Readiness::Delayed { .. }).then_some(at);
    execution.changed_at = execution.stamp(now);
    execution.wait(Waiting { readiness, next });
    Ok((What::Rescheduled { until }, Did::Rescheduled { until }))
}

/// Chooses its place among the work that waits; running work takes it when it waits again.
pub(crate) fn prioritise(execution: &mut Execution, priority: u16, now: Millis) -> Result<(What, Did), Stop> {
    submit::check_priority(priority)?;
    unfinished(execution)?;
    let before = std::mem::replace(&mut execution.priority, priority);
    execution.changed_at = now;
    Ok((What::PriorityChanged { before, after: priority }, Did::Prioritised { before }))
}

/// Changes its labels, all or none; work that has ended can still be labelled.
pub(crate) fn tag(
    execution: &mut Execution,
    set: &BTreeMap<TagKey, TagValue>,
    remove: &BTreeSet<TagKey>,
    now: Millis,
) -> Result<(What, Did), Stop> {
    if let Some(key) = set.keys().find(|key| remove.contains(*key)) {
        return Err(Rejection::invalid("tags", format!("{key} is both set and removed")).into());
    }
    execution.tags.retain(|key, _| !remove.contains(key));
    execution.tags.extend(set.iter().map(|(key, value)| (key.clone(), value.clone())));
    if execution.tags.len() > limits::TAGS_MAX {
        let why = format!("at most {} are allowed, there would be {}", limits::TAGS_MAX, execution.tags.len());
        return Err(Rejection::invalid("tags", why).into());
    }
    execution.changed_at = now;
    Ok((What::TagsChanged, Did::Tagged))
}

fn unfinished(execution: &Execution) -> Result<(), Stop> {
    match &execution.state {
        State::Finished(finished) => {
            let state = finished.outcome.public();
            Err(Rejection::Finished { execution: execution.id, state }.into())
        }
        State::Waiting(_) | State::Active(_) => Ok(()),
    }
}
