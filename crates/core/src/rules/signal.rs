//! Signals: what somebody outside tells an execution. An open wait takes one, otherwise it is kept for the next that does.

use crate::record::{Execution, Format, HowOver, Ordinal, Record, SignalEffect, SignalRecord, State, WaitId, WaitRef};
use crate::rules::{payload, timed_out, waits};
use crate::verb::USUAL_BYTES;
use crate::view::unreadable;
use crate::{
    Actor, Addressed, CommandId, Event, ExecutionId, Key, Millis, Namespace, NewSignal, PartitionId, PayloadSlot,
    Rejection, SignalId, SignalName, Stop, Subject, Urgency, Verb, View, What, limits,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Sends a signal to an execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signal {
    /// This call.
    pub command: CommandId,
    /// Whose execution; one of another namespace does not exist for the caller.
    pub namespace: Namespace,
    /// Which.
    pub execution: ExecutionId,
    /// Who sends it, when the caller is known by name.
    pub by: Option<Actor>,
    /// What a token proves that was verified; absent for a caller with other credentials.
    pub proof: Option<Proof>,
    /// The signal.
    pub signal: Box<NewSignal>,
}

/// What a verified token says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    /// The only wait that it is good for.
    pub wait: WaitId,
    /// Whose it is.
    pub actor: Actor,
    /// The names of signals that it allows; any when empty.
    pub names: Vec<SignalName>,
    /// From this time on it is good for nothing.
    pub not_after: Millis,
    /// Who made the token, when that caller is known by name.
    pub minted_by: Option<Actor>,
}

/// What came of a signal.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Signalled {
    /// Id of the signal.
    pub signal: SignalId,
    /// Name of the signal that stands: the first one, when this is a repeat.
    pub name: Option<SignalName>,
    /// What it did.
    pub effect: SignalEffect,
}

impl Addressed for Signal {
    fn home(&self, _: u16) -> PartitionId {
        self.execution.partition()
    }
}

impl Verb for Signal {
    const URGENCY: Urgency = Urgency::Sheddable;
    type Reply = Signalled;

    fn keys(&self, _: PartitionId) -> Vec<Key> {
        vec![Key::Execution(self.execution)]
    }

    fn fresh_key(&self) -> Option<Key> {
        Some(Key::Signal(self.execution, self.signal_id()))
    }

    fn actor(&self) -> Option<&Actor> {
        self.proof.as_ref().map(|proof| &proof.actor).or(self.by.as_ref())
    }

    fn bytes(&self) -> usize {
        USUAL_BYTES + self.signal.bytes()
    }

    fn run(&self, view: &mut View, now: Millis) -> Result<Signalled, Stop> {
        let execution = match view.execution(self.execution)? {
            Some(execution) if execution.namespace == self.namespace => execution,
            // What belongs to others does not exist, and must not be told apart.
            _ => return Err(Rejection::ExecutionNotFound(self.execution).into()),
        };
        let sent = Sent { id: self.signal_id(), signal: &self.signal, actor: self.actor(), proof: self.proof.as_ref() };
        sent.deliver(view, execution, now)
    }
}

impl Signal {
    /// The id of the signal: the same for a repeat. A token has one signal for each wait, so that a person's first choice
    /// stands.
    #[must_use]
    pub fn signal_id(&self) -> SignalId {
        self.proof.as_ref().map_or_else(|| self.signal.id(self.command), Proof::signal_id)
    }
}

impl Proof {
    /// The id of the only signal that a person has for this wait.
    #[must_use]
    pub fn signal_id(&self) -> SignalId {
        SignalId::of(&[b"token", self.wait.to_string().as_bytes(), self.actor.as_str().as_bytes()])
    }
}

/// A signal on its way into an execution.
pub(crate) struct Sent<'a> {
    pub(crate) id: SignalId,
    pub(crate) signal: &'a NewSignal,
    pub(crate) actor: Option<&'a Actor>,
    pub(crate) proof: Option<&'a Proof>,
}

impl Sent<'_> {
    /// Delivers it. The order is part of the contract: a repeat is answered as before whatever followed, then comes whether
    /// the execution and the wait are over.
    pub(crate) fn deliver(&self, view: &mut View, shared: Arc<Execution>, now: Millis) -> Result<Signalled, Stop> {
        let key = Key::Signal(shared.id, self.id);
        match view.get(&key)?.as_deref() {
            None => {}
            Some(Record::Signal(first)) => {
                return Ok(Signalled { signal: self.id, name: first.name.clone(), effect: first.effect });
            }
            Some(_) => return Err(unreadable(&key)),
        }
        if shared.is_purging() {
            return Err(Rejection::Purged(shared.id).into());
        }
        self.check(view, now)?;
        let shared = timed_out::settle(view, shared, now)?;
        if let State::Finished(finished) = &shared.state {
            let state = finished.outcome.public();
            return Err(Rejection::Finished { execution: shared.id, state }.into());
        }
        let only = self.only(view, &shared)?;
        self.accept(view, shared, only, now)
    }

    fn check(&self, view: &mut View, now: Millis) -> Result<(), Stop> {
        let Some(proof) = self.proof else { return Ok(()) };
        if proof.not_after <= now {
            view.not_before(proof.not_after);
            return Err(Rejection::TokenExpired { at: proof.not_after }.into());
        }
        view.not_after(proof.not_after);
        let allowed =
            proof.names.is_empty() || self.signal.name.as_ref().is_some_and(|name| proof.names.contains(name));
        if !allowed {
            let names = proof.names.iter().map(SignalName::as_str).collect::<Vec<_>>().join(", ");
            return Err(Rejection::invalid("name", format!("the token allows {names}")).into());
        }
        Ok(())
    }

    /// The only wait that may take it, which must not be over.
    fn only(&self, view: &mut View, execution: &Execution) -> Result<Option<Ordinal>, Stop> {
        if self.proof.is_some_and(|proof| proof.wait.wait.name != self.signal.wait.name) {
            return Err(Rejection::TokenInvalid.into());
        }
        let (life, n) = match (self.proof, self.signal.wait.n) {
            (Some(proof), _) => (proof.wait.life, proof.wait.wait.n),
            (None, Some(n)) => (execution.life, n),
            (None, None) => return Ok(None),
        };
        let wait = WaitRef::new(self.signal.wait.name.clone(), n);
        let closed = || Rejection::WaitpointClosed { wait: wait.clone() };
        if life != execution.life {
            return Err(closed().into());
        }
        if execution.waits.as_ref().is_some_and(|waits| waits.over > 0)
            && view.get(&Key::Wait(execution.id, WaitId { life, wait: wait.clone() }))?.is_some()
        {
            return Err(closed().into());
        }
        if waits::suspended(execution).is_some_and(|(suspension, _)| suspension.over.contains_key(&wait)) {
            return Err(closed().into());
        }
        Ok(Some(Ordinal { life, n }))
    }

    /// Records the signal, and lets an open wait take it.
    fn accept(
        &self,
        view: &mut View,
        mut shared: Arc<Execution>,
        only: Option<Ordinal>,
        now: Millis,
    ) -> Result<Signalled, Stop> {
        let execution = Arc::make_mut(&mut shared);
        let at = execution.moment(now);
        let mut record = self.record(view, execution, only, at.stamp)?;
        execution.changed_at = at.stamp;
        let mut resumed = None;
        if let Some((mut suspension, paused)) = waits::suspended(execution) {
            // From its own times on it is for them to decide.
            suspension.due().into_iter().for_each(|due| view.not_after(due));
            let took = waits::take(&mut suspension, execution.life, self.id, &record);
            record.effect = waits::effect_of(&suspension, &took);
            match record.effect {
                SignalEffect::Resumed => {
                    let how = (HowOver::Signals, suspension.delay);
                    resumed = Some(waits::resume(view, execution, (suspension, paused), how, at)?);
                }
                SignalEffect::Counted => waits::put_back(execution, suspension, paused),
                SignalEffect::Ignored | SignalEffect::Buffered => {}
            }
        }
        if record.effect == SignalEffect::Buffered {
            self.keep(execution, &record)?;
        }
        let answer = Signalled { signal: self.id, name: record.name.clone(), effect: record.effect };
        let what = What::Signalled {
            signal: self.id,
            wait: record.wait.clone(),
            name: record.name.clone(),
            effect: record.effect,
        };
        view.put(Key::Signal(execution.id, self.id), Record::Signal(record))?;
        view.event(Event::new(at.stamp, Subject::of(execution), what));
        match resumed {
            Some(event) => view.put_execution(shared, event)?,
            None => view.put(Key::Execution(shared.id), Record::Execution(shared))?,
        }
        Ok(answer)
    }

    fn record(
        &self,
        view: &mut View,
        execution: &mut Execution,
        only: Option<Ordinal>,
        at: Millis,
    ) -> Result<SignalRecord, Stop> {
        let carried = self.signal.carried().and_then(|payload| payload.check().map(|()| payload));
        let carried = carried.map_err(|error| Rejection::Payload { field: "payload", error })?;
        let waits = execution.waits.get_or_insert_default();
        if waits.signals >= limits::SIGNALS_MAX {
            return Err(Rejection::SignalsExhausted(execution.id).into());
        }
        waits.signals += 1;
        let seq = waits.signals;
        let payload = payload::store(view, execution.id, PayloadSlot::Signal(self.id), carried)?;
        if let Some(waits) = execution.waits.as_mut().filter(|_| payload.is_beside()) {
            waits.payloads += 1;
        }
        let (wait, name, actor) = (self.signal.wait.name.clone(), self.signal.name.clone(), self.actor.cloned());
        let effect = SignalEffect::Buffered;
        let minted_by = self.proof.and_then(|proof| proof.minted_by.clone());
        Ok(SignalRecord { format: Format, wait, only, name, actor, minted_by, payload, effect, at, seq })
    }

    fn keep(&self, execution: &mut Execution, record: &SignalRecord) -> Result<(), Rejection> {
        if execution.waits.as_ref().is_some_and(|waits| waits.mail.len() >= limits::MAILBOX_MAX) {
            return Err(Rejection::MailboxFull(execution.id));
        }
        waits::keep(execution, self.id, record);
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod rows {
    use super::*;
    use crate::rules::table::Row;
    use crate::rules::world::make::{self, id};

    /// Rows of the (state × command) table.
    #[rustfmt::skip]
    pub(crate) const ROWS: &[Row] = &[
        Row::new("signal", |_, _| make::signal(61, id(1), "approval").into(), &[
            ("execution_not_found", "Absent"),
            ("→ ReadyResume", "Suspended SuspendedOver"),
            ("execution_finished", "Completed Failed Cancelled Expired ReadyTooLate ActiveTooLate"),
            ("execution_purged", "Stub"),
            ("stays", "*"),
        ]),
        Row::new("signal (this wait)", |_, _| make::signal(61, id(1), "approval#1").into(), &[
            ("execution_not_found", "Absent"),
            ("→ ReadyResume", "Suspended"),
            ("waitpoint_closed", "SuspendedOver"),
            ("execution_finished", "Completed Failed Cancelled Expired ReadyTooLate ActiveTooLate"),
            ("execution_purged", "Stub"),
            ("stays", "*"),
        ]),
        Row::new("signal (elsewhere)", |_, _| {
            Signal { namespace: "other".parse().unwrap(), ..make::signal(61, id(1), "approval") }.into()
        }, &[
            ("execution_not_found", "*"),
        ]),
    ];
}
