//! What a run has seen so far, kept apart from the records under test.

use crate::world::{Done, World};
use onward_core::record::{EndedAttempt, Execution, State};
use onward_core::{Command, Event, ExecutionId, Key, LeaseId, Payload, Reply, What};
use std::collections::BTreeMap;

/// The story of one execution.
#[derive(Debug, Default, Clone)]
pub(crate) struct Story {
    /// What it was submitted with.
    pub(crate) input: Option<Payload>,
    /// What it was completed with.
    pub(crate) result: Option<Payload>,
    /// Every lease given out, in order.
    pub(crate) leases: Vec<(u64, LeaseId)>,
    /// Every attempt as it was first seen to have ended.
    pub(crate) ended: BTreeMap<u32, EndedAttempt>,
    /// How often its end was told.
    pub(crate) ends_told: usize,
}

/// The stories of all executions.
#[derive(Debug, Default)]
pub(crate) struct History {
    pub(crate) stories: BTreeMap<ExecutionId, Story>,
}

impl History {
    pub(crate) fn note(&mut self, before: &World, after: &World, command: &Command, done: &Done) {
        for execution in after.executions() {
            let story = self.stories.entry(execution.id).or_default();
            note_lease(story, before.find(execution.id), execution);
            if let Some(last) = &execution.last {
                story.ended.entry(last.index).or_insert_with(|| last.clone());
            }
        }
        for event in &done.events {
            if let (Some(id), true) = (event.execution, is_end(event)) {
                self.stories.entry(id).or_default().ends_told += 1;
            }
        }
        match (command, &done.result) {
            (Command::Submit(submit), Ok(_)) if done.step.writes.contains(&Key::Execution(submit.id)) => {
                self.stories.entry(submit.id).or_default().input = Some(submit.input.clone());
            }
            (Command::Complete(complete), Ok(Reply::Completed)) if !done.step.writes.is_empty() => {
                let story = self.stories.entry(complete.fence.execution).or_default();
                story.result = Some(complete.result.clone());
            }
            _ => {}
        }
    }
}

fn note_lease(story: &mut Story, before: Option<&Execution>, execution: &Execution) {
    let State::Active(active) = &execution.state else { return };
    let known = match before.map(|execution| &execution.state) {
        Some(State::Active(before)) => (before.lease.epoch, before.lease.id) == (active.lease.epoch, active.lease.id),
        _ => false,
    };
    if !known {
        story.leases.push((active.lease.epoch, active.lease.id));
    }
}

/// Whether an event tells the end of an execution.
fn is_end(event: &Event) -> bool {
    match &event.what {
        What::Completed { .. } => true,
        What::AttemptFailed { retry_at, .. } => retry_at.is_none(),
        What::LeaseExpired { again_at, .. } => again_at.is_none(),
        What::Submitted { .. }
        | What::Ready
        | What::Claimed { .. }
        | What::Returned { .. }
        | What::LaneChanged { .. } => false,
    }
}
