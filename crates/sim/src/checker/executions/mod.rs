//! Executions: only legal transitions, one event for each, one lease at a time, epochs that only grow, one end.

mod changes;
mod holding;
mod life;
mod policy;
mod stage;

pub(super) use holding::Holding;
pub(super) use life::{is_open, unfinished};
pub(crate) use stage::Stage;

use super::{Change, When, execution, idempotency};
use life::Life;
use onward_core::record::{Execution, Next, Outcome, Record, State, Waiting};
use onward_core::{CommandId, Event, ExecutionId, Fence, Key, LeaseId, Millis, What, WorkerName};
use onward_engine::Wants;
use stage::Terms;
use std::collections::{BTreeMap, BTreeSet};

/// All executions ever seen.
#[derive(Debug, Default)]
pub(super) struct Executions {
    lives: BTreeMap<ExecutionId, Life>,
    created: BTreeMap<CommandId, ExecutionId>,
    pub(super) keys: idempotency::Keys,
    leases: BTreeMap<LeaseId, ExecutionId>,
    /// The attempts that ended and were followed by another, by their lease: one commit may begin and end several.
    followed: BTreeMap<LeaseId, (ExecutionId, u32, WorkerName)>,
    /// Every claim that was told: its execution, epoch, attempt and worker.
    claims: BTreeSet<(ExecutionId, u64, u32, WorkerName)>,
    /// What each worker asks for, as its owner told.
    workers: BTreeMap<WorkerName, Wants>,
    /// The store went back at least once.
    went_back: bool,
}

impl Executions {
    pub(super) fn worker(&mut self, wants: &Wants) {
        self.workers.insert(wants.worker.clone(), wants.clone());
    }

    pub(super) fn is_void(&self, id: ExecutionId) -> bool {
        self.lives.get(&id).is_some_and(|life| life.void)
    }

    /// The stages that an execution had at any time since a commit; absent counts.
    pub(super) fn stages(&self, id: ExecutionId, since: u64) -> Vec<&Stage> {
        let Some(life) = self.lives.get(&id) else { return vec![&Stage::Absent] };
        let first = life.versions.iter().rposition(|(seq, _)| *seq <= since);
        let mut stages: Vec<&Stage> = life.versions[first.unwrap_or(0)..].iter().map(|(_, stage)| stage).collect();
        if first.is_none() {
            stages.push(&Stage::Absent);
        }
        stages
    }

    /// Since when an execution waits for a worker; `None` when it does not, or when it is not known.
    pub(super) fn ready_since(&self, id: ExecutionId) -> Option<Millis> {
        self.lives.get(&id).and_then(|life| life.ready_since)
    }

    /// The execution that a call created.
    pub(super) fn created_by(&self, command: CommandId) -> Option<ExecutionId> {
        self.created.get(&command).copied()
    }

    /// The execution that a lease was ever given out for.
    pub(super) fn leased(&self, lease: LeaseId) -> Option<ExecutionId> {
        self.leases.get(&lease).copied()
    }

    /// Whether a lease was given to a worker for an attempt that was followed by another.
    pub(super) fn was_given(&self, fence: &Fence, worker: &WorkerName) -> bool {
        let given = |(id, attempt, to): &(ExecutionId, u32, WorkerName)| {
            (*id, *attempt, to) == (fence.execution, fence.attempt, worker)
        };
        self.followed.get(&fence.lease).is_some_and(given)
    }

    /// Whether a claim was told. A lease that was taken away and followed by another within one commit shows nowhere else when
    /// its attempt goes on.
    pub(super) fn was_told(&self, fence: &Fence, worker: &WorkerName) -> bool {
        self.claims.contains(&(fence.execution, fence.epoch, fence.attempt, worker.clone()))
    }

    /// Whether an execution was ever removed, so that what was said about it before may be forgotten.
    pub(super) fn is_removed(&self, id: ExecutionId) -> bool {
        self.lives.get(&id).is_some_and(|life| life.removed)
    }

    /// An execution in a stage that fits, chosen by a draw; any when none fits.
    pub(super) fn pick(&self, draw: u64, fits: impl Fn(&Stage) -> bool) -> Option<ExecutionId> {
        let standing = |life: &&Life| life.versions.last().is_some_and(|(_, stage)| fits(stage));
        let count = self.lives.values().filter(standing).count() as u64;
        let nth = usize::try_from(draw % count.max(1)).ok()?;
        self.lives.iter().filter(|(_, life)| standing(life)).nth(nth).map(|(id, _)| *id)
    }

    /// Looks at all executions that a commit changed.
    pub(super) fn committed(&mut self, when: When, changes: &[Change], events: &[Event]) -> Result<(), String> {
        let mut told = BTreeSet::new();
        for change in changes {
            if let (Key::Attempt(id, number), Some(Record::Attempt(ended))) = (&change.key, change.after.as_deref()) {
                self.leases.insert(ended.lease, *id);
                self.followed.insert(ended.lease, (*id, *number, ended.worker.clone()));
            }
            let Key::Execution(id) = change.key else { continue };
            told.insert(id);
            let [before, after] = [&change.before, &change.after].map(|record| execution(record.as_deref()));
            let own: Vec<&Event> = events.iter().filter(|event| event.execution() == Some(id)).collect();
            self.changed(when, (before, after), &own).map_err(|what| format!("{id}: {what}"))?;
        }
        match events.iter().filter_map(|event| event.execution()).find(|id| !told.contains(id)) {
            Some(id) => Err(format!("an event was written for {id}, which did not change")),
            None => Ok(()),
        }
    }

    fn changed(
        &mut self,
        (seq, now): When,
        (before, after): (Option<&Execution>, Option<&Execution>),
        events: &[&Event],
    ) -> Result<(), String> {
        // A record that somebody touched is written again as it was.
        if before == after && events.is_empty() {
            return Ok(());
        }
        let mut stage = before.map_or(Stage::Absent, Stage::of);
        let Some(mut terms) = before.or(after).map(Terms::of) else { return Ok(()) };
        let mut between = Vec::new();
        for event in events {
            if let (What::Replayed { .. }, Some(after)) = (&event.what, after) {
                terms = Terms::of(after);
            }
            stage = stage.after(&event.what, event.at, now, terms)?;
            if let Some(after) = after {
                self.event(after, &event.what)?;
            }
            between.push((seq, stage.clone()));
        }
        let Some(after) = after else { return self.removed(seq, before, &stage, between) };
        // What a commit passes through is true for the answers that it gives on the way.
        between.pop();
        let found = Stage::of(after);
        if !stage.agrees(&found, changes::clamped(before, after)) {
            return Err(format!("its events lead to {stage:?}, its record says {found:?}"));
        }
        match before {
            None => {
                self.accepted(after, events, now)?;
                // After the store went back, calls about an execution may share the commit in which it is born again.
                let newborn = Execution { retries: 0, reclaims: 0, reclaims_in_a_row: 0, ..after.clone() };
                policy::obeyed(&newborn, after, events)?;
            }
            Some(before) => {
                changes::unchanged(before, after, events)?;
                changes::ended(before, after)?;
                policy::obeyed(before, after, events)?;
                if events.is_empty() {
                    changes::silent(before, after, now)?;
                }
            }
        }
        self.lasts(before, after, now)?;
        self.consistent(after)?;
        let life = self.lives.entry(after.id).or_default();
        life.ready_since = matches!(found, Stage::Ready(_)).then_some(now);
        life.versions.extend(between);
        life.versions.push((seq, found));
        Ok(())
    }

    /// An execution is gone. Whoever removes it within the time in which its submit may be repeated lets that repeat
    /// create it again, as if it had never been.
    fn removed(
        &mut self,
        seq: u64,
        before: Option<&Execution>,
        stage: &Stage,
        between: Vec<(u64, Stage)>,
    ) -> Result<(), String> {
        let Some(before) = before else { return Ok(()) };
        if !matches!(stage, Stage::Purging(_)) {
            return Err(format!("it was {stage:?} and disappeared"));
        }
        self.created.remove(&before.created_by);
        let life = self.lives.entry(before.id).or_default();
        life.versions.extend(between);
        life.versions.push((seq, Stage::Absent));
        (life.epoch, life.claims, life.ready_since, life.removed) = (0, 0, None, true);
        Ok(())
    }

    /// What an event says beyond the stage it leads to.
    fn event(&mut self, execution: &Execution, what: &What) -> Result<(), String> {
        let What::Claimed { attempt, epoch, worker, resumed } = what else { return Ok(()) };
        self.claims.insert((execution.id, *epoch, *attempt, worker.clone()));
        let life = self.lives.entry(execution.id).or_default();
        if *epoch <= life.epoch {
            return Err(format!("epoch {epoch} was given out after epoch {}", life.epoch));
        }
        life.epoch = *epoch;
        life.claims += u32::from(!resumed);
        if *attempt != life.claims {
            return Err(format!("attempt {attempt} began as number {}", life.claims));
        }
        let Some(asks) = self.workers.get(worker) else { return Err(format!("nobody is called {worker}")) };
        let lane_fits = asks.namespace == execution.namespace && asks.lanes.contains(&execution.lane);
        let kind_fits = asks.kinds.as_ref().is_none_or(|kinds| kinds.contains(&execution.kind));
        if !lane_fits || !kind_fits || !execution.requires.missing_from(&asks.capabilities).is_empty() {
            return Err(format!("{worker} got work that it did not ask for or cannot do"));
        }
        Ok(())
    }

    /// A lease that was just given out or renewed lasts as long as its worker asked for.
    fn lasts(&self, before: Option<&Execution>, after: &Execution, now: Millis) -> Result<(), String> {
        let State::Active(active) = &after.state else { return Ok(()) };
        let lease = &active.lease;
        let old = match before.map(|before| &before.state) {
            Some(State::Active(old)) if old.lease.id == lease.id => Some(&old.lease),
            _ => None,
        };
        if old.is_some_and(|old| old.expires_at == lease.expires_at) {
            return Ok(());
        }
        let begun = active.attempt.since.unwrap_or(active.attempt.started_at);
        let from = if old.is_none() { begun } else { after.changed_at };
        if now >= lease.expires_at {
            return Err(format!("a lease was written at {now} that had ended at {}", lease.expires_at));
        }
        let asked = self.workers.get(&lease.worker).map(|asks| asks.lease);
        // Time is judged by the clock, and a record's own time may be ahead of it.
        let early = from == after.changed_at && changes::clamped(before, after);
        if asked.is_none_or(|asked| lease.expires_at != from + asked && !(early && lease.expires_at < from + asked)) {
            return Err(format!("a lease from {from} to {} was given for {asked:?}", lease.expires_at));
        }
        Ok(())
    }

    /// A new execution: without a past, and the only one of its call and of its key.
    fn accepted(&mut self, new: &Execution, events: &[&Event], now: Millis) -> Result<(), String> {
        if let Some(other) = self.created.insert(new.created_by, new.id) {
            return Err(format!("one submit created it and {other}"));
        }
        let begins = |event: &&Event| matches!(event.what, What::Submitted { .. } | What::Claimed { .. });
        let has_past = (new.attempts, new.retries, new.reclaims) != (new.attempts.min(1), 0, 0) || new.last.is_some();
        if has_past && (!self.went_back || events.iter().all(begins)) {
            return Err("it was born with a past".to_owned());
        }
        self.keys.accepted(new, now)
    }

    fn consistent(&mut self, execution: &Execution) -> Result<(), String> {
        let succeeded =
            matches!(Stage::of(execution), Stage::Finished(Outcome::Success) | Stage::Purging(Outcome::Success));
        if execution.result.is_some() != succeeded {
            return Err("it has a result without success, or success without a result".to_owned());
        }
        if execution.retries > execution.policy.retry().max_retries
            || execution.reclaims > execution.policy.max_reclaims()
        {
            return Err("it was tried more often than allowed".to_owned());
        }
        let life = self.lives.entry(execution.id).or_default();
        if (execution.epoch, execution.attempts) != (life.epoch, life.claims) {
            return Err(format!("its record counts epoch {} and {} attempts", execution.epoch, execution.attempts));
        }
        // A lease that was taken away in the commit that gave it out is known only by the attempt that ended or was paused.
        let current = match &execution.state {
            State::Active(active) => Some(active.lease.id),
            State::Waiting(Waiting { next: Next::Resume(paused), .. }) => Some(paused.lease),
            _ => execution.last.as_ref().map(|last| last.lease),
        };
        match current.and_then(|lease| self.leases.insert(lease, execution.id)) {
            Some(other) if other != execution.id => Err(format!("its lease id was used for {other}")),
            _ => Ok(()),
        }
    }

    /// The store went back to an earlier state of these executions.
    pub(super) fn rolled_back(&mut self, seq: u64, changes: &[Change]) {
        self.went_back = true;
        for change in changes {
            let Key::Execution(id) = change.key else { continue };
            let mut life = Life { void: true, removed: self.is_removed(id), ..Life::default() };
            if let Some(Record::Execution(execution)) = change.after.as_deref() {
                life.versions.push((seq, Stage::of(execution)));
                (life.epoch, life.claims) = (execution.epoch, execution.attempts);
            }
            self.lives.insert(id, life);
            self.leases.retain(|_, of| *of != id);
            self.followed.retain(|_, (of, ..)| *of != id);
            self.claims.retain(|(of, ..)| *of != id);
            if change.after.is_none() {
                self.created.retain(|_, of| *of != id);
                self.keys.lost(id);
            }
        }
    }
}
