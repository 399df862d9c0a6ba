//! Accepting new work: check it, find out whether it is a repeat, place it in its queue.

use crate::record::{Execution, Format, IdempotencyRecord, LaneState, Next, Record, SignalEffect, WhyDelayed};
use crate::rules::signal::Sent;
use crate::rules::{lane, payload, ready, timed_out, times, unique};
use crate::verb::USUAL_BYTES;
use crate::view::unreadable;
use crate::{
    Addressed, Arrival, Asked, CommandId, ExecutionId, Key, Millis, NewExecution, PartitionId, Payload, PayloadSlot,
    Policy, Rejection, Stop, Urgency, Verb, View, What,
};
use std::sync::Arc;

/// Accepts a new execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submit {
    /// This call.
    pub command: CommandId,
    /// The id it gets unless a key of it stands for another.
    pub id: ExecutionId,
    /// When the call arrived: its place in the queue.
    pub arrived: Arrival,
    /// What is submitted.
    pub new: Box<NewExecution>,
}

/// The answer to a submit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Submitted {
    /// The execution, new or old.
    pub id: ExecutionId,
    /// Whether this call created it; false when a key of it stands for an earlier one.
    pub created: bool,
    /// What the signal did that was sent along.
    pub signalled: Option<SignalEffect>,
}

impl Addressed for Submit {
    fn home(&self, _: u16) -> PartitionId {
        self.id.partition()
    }
}

impl Verb for Submit {
    const URGENCY: Urgency = Urgency::Sheddable;
    type Reply = Submitted;

    fn keys(&self, partition: PartitionId) -> Vec<Key> {
        let new = &self.new;
        let mut keys = vec![
            Key::LaneCopy(new.namespace.clone(), new.lane.clone(), partition),
            Key::Queues(new.namespace.clone(), new.lane.clone(), partition),
        ];
        // With both it is refused, and what one of them names lives elsewhere.
        match (&new.idempotency_key, &new.unique_key) {
            (Some(key), None) => keys.push(Key::Idempotency(new.namespace.clone(), key.clone())),
            (None, Some(key)) => keys.push(Key::Unique(new.namespace.clone(), key.clone())),
            _ => {}
        }
        keys
    }

    fn fresh_key(&self) -> Option<Key> {
        Some(Key::Execution(self.id))
    }

    fn bytes(&self) -> usize {
        USUAL_BYTES + self.new.input_parts().1.len() + self.new.signal.as_ref().map_or(0, |signal| signal.bytes())
    }

    fn run(&self, view: &mut View, now: Millis) -> Result<Submitted, Stop> {
        let (id, new) = (self.id, &*self.new);
        if let Some(existing) = view.execution(id)? {
            let same_call = existing.namespace == new.namespace && existing.created_by == self.command;
            return if same_call { Ok(self.answered_before(id)) } else { Err(Rejection::ExecutionExists(id).into()) };
        }
        // Before the keys: whether a call is right must not depend on who holds them.
        let input = payload::input(new)?;
        check(view, id, new)?;
        if let Some(first) = first_of_key(view, new, now)? {
            return Ok(Submitted { id: first, created: false, signalled: None });
        }
        if let Some(known) = unique::find(view, new, now)? {
            if known.created {
                return Ok(self.answered_before(known.id));
            }
            if !self.outlives(view, known.id, now)? {
                return self.signal(view, known, now);
            }
        }
        let lane = lane::copy(view, &new.namespace, &new.lane)?;
        if lane.state == LaneState::Draining {
            return Err(Rejection::LaneDraining(new.lane.clone()).into());
        }
        ready::register(view, new, now)?;
        let policy = new.policy.clone().or(&lane.defaults);
        remember_key(view, id, new, &policy, now)?;
        create(view, self, (input, policy), now)?;
        self.signal(view, Submitted { id, created: true, signalled: None }, now)
    }
}

impl Submit {
    /// Whether the signal comes after the end of the execution that has the unique key: when the time of its suspension is over,
    /// it ends now, and the signal is for the new execution.
    fn outlives(&self, view: &mut View, holder: ExecutionId, now: Millis) -> Result<bool, Stop> {
        let Some(signal) = &self.new.signal else { return Ok(false) };
        // A repeat is answered as before, whatever followed.
        if view.get(&Key::Signal(holder, signal.id(self.command)))?.is_some() {
            return Ok(false);
        }
        let Some(execution) = view.execution(holder)? else { return Ok(false) };
        Ok(timed_out::settle(view, execution, now)?.is_finished())
    }

    /// Sends the signal to the execution that was found or made.
    fn signal(&self, view: &mut View, submitted: Submitted, now: Millis) -> Result<Submitted, Stop> {
        let Some(signal) = &self.new.signal else { return Ok(submitted) };
        let Some(execution) = view.execution(submitted.id)? else {
            return Err(Rejection::ExecutionNotFound(submitted.id).into());
        };
        let sent = Sent { id: signal.id(self.command), signal, actor: None, proof: None };
        let signalled = sent.deliver(view, execution, now)?;
        Ok(Submitted { signalled: Some(signalled.effect), ..submitted })
    }

    /// The answer of a repeat: a new execution waits for nothing, so it kept the signal.
    fn answered_before(&self, id: ExecutionId) -> Submitted {
        let signalled = self.new.signal.is_some().then_some(SignalEffect::Buffered);
        Submitted { id, created: true, signalled }
    }
}

fn create(view: &mut View, submit: &Submit, (input, policy): (Payload, Policy), now: Millis) -> Result<(), Stop> {
    let new = &*submit.new;
    let ready_at = times::time(view, "run_at", new.when()?, now)?;
    let input = payload::store(view, submit.id, PayloadSlot::Input, input)?;
    let deadline = times::deadline(view, new.deadline()?, now)?;
    let mut execution = Execution { policy, deadline, ..Execution::new(submit, input, now) };
    // Work that is ready at once queues by its arrival; other work by the time that it waits for.
    execution.place = (ready_at <= now).then(|| submit.arrived.near(now));
    let delayed_until = ready::at(view, &mut execution, ready_at, (WhyDelayed::Submitted, Next::Initial), now)?;
    unique::hold(view, &execution, Some(new), now)?;
    view.put_execution(Arc::new(execution), What::Submitted { kind: new.kind.clone(), delayed_until })
}

/// The execution that the idempotency key stands for, if the key is remembered.
fn first_of_key(view: &mut View, new: &NewExecution, now: Millis) -> Result<Option<ExecutionId>, Stop> {
    let Some(idempotency_key) = &new.idempotency_key else { return Ok(None) };
    let key = Key::Idempotency(new.namespace.clone(), idempotency_key.clone());
    match view.get(&key)?.as_deref() {
        None => Ok(None),
        Some(Record::Idempotency(known)) if known.expires_at <= now => {
            view.not_before(known.expires_at);
            Ok(None)
        }
        Some(Record::Idempotency(known)) => {
            view.not_after(known.expires_at);
            match known.asked.difference(&Asked::of(new)) {
                None => Ok(Some(known.execution)),
                Some(field) => Err(Rejection::IdempotencyMismatch { existing: known.execution, field }.into()),
            }
        }
        Some(_) => Err(unreadable(&key)),
    }
}

fn remember_key(
    view: &mut View,
    id: ExecutionId,
    new: &NewExecution,
    policy: &Policy,
    now: Millis,
) -> Result<(), Stop> {
    let Some(key) = &new.idempotency_key else { return Ok(()) };
    let expires_at = now + policy.dedup_window();
    let record = IdempotencyRecord { format: Format, execution: id, asked: Asked::of(new), expires_at };
    view.put(Key::Idempotency(new.namespace.clone(), key.clone()), Record::Idempotency(record))
}

fn check(view: &View, id: ExecutionId, new: &NewExecution) -> Result<(), Rejection> {
    if id.partition() != view.partition() {
        let why = format!("{} does not belong to partition {}", id, view.partition());
        return Err(Rejection::invalid("id", why));
    }
    new.check()
}

#[cfg(test)]
pub(crate) mod rows {
    use super::*;
    use crate::rules::table::Row;
    use crate::rules::world::make;

    /// Rows of the (state × command) table.
    #[rustfmt::skip]
    pub(crate) const ROWS: &[Row] = &[
        Row::new("submit (same call)", |_, _| make::submit(1).into(), &[
            ("→ ReadyFirst", "Absent"),
            ("=", "*"),
        ]),
        Row::new("submit (other call)", |_, _| Submit { command: CommandId(99), ..make::submit(1) }.into(), &[
            ("→ ReadyFirst", "Absent"),
            ("execution_exists", "*"),
        ]),
    ];
}
