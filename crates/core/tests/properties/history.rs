//! What a run has seen so far, kept apart from the records under test.

use crate::world::{Done, World};
use onward_core::index::{self, Entry};
use onward_core::record::{EndedAttempt, Execution, State, Transition};
use onward_core::{Command, End, Event, ExecutionId, Key, LeaseId, Millis, Payload, What};
use std::collections::{BTreeMap, BTreeSet};

/// The story of one execution.
#[derive(Debug, Default, Clone)]
pub(crate) struct Story {
    /// What it was submitted with.
    pub(crate) input: Option<Payload>,
    /// What it was completed with in its newest life.
    pub(crate) result: Option<Payload>,
    /// Every lease given out, in order.
    pub(crate) leases: Vec<(u64, LeaseId)>,
    /// Every attempt as it was first seen to have ended.
    pub(crate) ended: BTreeMap<u32, EndedAttempt>,
    /// The attempts that ended together with the execution.
    pub(crate) ended_with_it: BTreeSet<u32>,
    /// The number of attempts at every replay.
    pub(crate) lives: Vec<u32>,
    /// Lost leases in a row, counted from what was told.
    pub(crate) row: u32,
    /// Everything that was told about it, in order, but its removal.
    pub(crate) told: Vec<Transition>,
    /// How often its end was told.
    pub(crate) ends_told: usize,
    /// How often it was replayed while it was held because no retry was left.
    pub(crate) replayed_held: usize,
    /// How often its removal was told.
    pub(crate) purges_told: usize,
}

/// The stories of all executions, and an index that follows the writes alone.
#[derive(Debug, Default)]
pub(crate) struct History {
    pub(crate) stories: BTreeMap<ExecutionId, Story>,
    pub(crate) index: BTreeMap<Key, (Vec<Entry>, Option<Millis>)>,
}

impl History {
    pub(crate) fn note(&mut self, before: &World, after: &World, command: &Command, done: &Done) {
        for key in &done.step.writes {
            match after.record(key) {
                None => drop(self.index.remove(key)),
                Some(record) => drop(self.index.insert(key.clone(), (index::entries(key, record), index::due(record)))),
            }
        }
        for event in &done.events {
            if let Some(id) = event.execution() {
                self.stories.entry(id).or_default().note(event, after.find(id));
            }
        }
        for execution in after.executions() {
            let story = self.stories.entry(execution.id).or_default();
            note_lease(story, before.find(execution.id), execution);
            if let Some(last) = &execution.last {
                story.ended.entry(last.number).or_insert_with(|| last.clone());
            }
            let attempt = before.find(execution.id).and_then(|before| match &before.state {
                State::Active(active) => Some(active.attempt.number),
                State::Waiting(waiting) => waiting.next.paused().map(|paused| paused.attempt.number),
                State::Finished(_) => None,
            });
            if let State::Finished(_) = &execution.state {
                story.ended_with_it.extend(attempt);
            }
        }
        match (command, &done.result) {
            (Command::Submit(submit), Ok(_)) if done.step.writes.contains(&Key::Execution(submit.id)) => {
                self.stories.entry(submit.id).or_default().input = Some(submit.new.payload().unwrap());
            }
            (Command::Report(report), Ok(_)) if !done.step.writes.is_empty() => {
                if let End::Complete(complete) = &report.end {
                    let story = self.stories.entry(report.fence.execution).or_default();
                    story.result = Some(complete.result.clone());
                }
            }
            _ => {}
        }
    }
}

impl Story {
    fn note(&mut self, event: &Event, execution: Option<&Execution>) {
        self.ends_told += usize::from(event.what.outcome().is_some());
        if let What::AttemptFailed { attempt, held: true, .. }
        | What::TimedOut { attempt, held: true, .. }
        | What::LeaseExpired { attempt, held: true, .. }
        | What::LeaseRevoked { attempt, held: true, .. } = &event.what
        {
            // What follows is an operator's decision and counts neither as a retry nor as a reclaim.
            self.ended_with_it.insert(*attempt);
        }
        match &event.what {
            What::Signalled { .. } => return,
            What::Purged => {
                self.purges_told += 1;
                return;
            }
            What::LeaseExpired { again_at: Some(_), .. } | What::LeaseRevoked { again_at: Some(_), .. } => {
                self.row += 1;
            }
            What::Completed { .. }
            | What::AttemptFailed { .. }
            | What::TimedOut { .. }
            | What::Suspended { .. }
            | What::Delayed { .. } => {
                self.row = 0;
            }
            What::Replayed { .. } => {
                self.replayed_held += usize::from(self.ends_told + self.replayed_held == self.lives.len());
                (self.row, self.result) = (0, None);
                self.lives.extend(execution.map(|execution| execution.attempts));
            }
            _ => {}
        }
        self.told.push(Transition { at: event.at, by: event.by.clone(), what: event.what.clone() });
    }

    /// The first attempt of the newest life.
    pub(crate) fn life_began(&self) -> u32 {
        self.lives.last().copied().unwrap_or(0) + 1
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
