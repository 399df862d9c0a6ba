//! Accepting new work: check it, find out whether it is a repeat, place it in its queue.

use crate::ids::fingerprint;
use crate::record::{
    ClassSeen, Execution, ExecutionFormat, Format, IdempotencyRecord, LaneState, Next, Readiness, Record, State,
    StoredPayload, Waiting, WhyDelayed,
};
use crate::rules::{finish, lane};
use crate::view::unreadable;
use crate::{
    Key, Millis, Payload, PayloadSlot, Policy, Rejection, Reply, Span, Stop, Submit, Submitted, View, What, When,
    limits,
};
use bytes::Bytes;
use std::collections::VecDeque;

pub(crate) fn submit(view: &mut View, submit: &Submit, now: Millis) -> Result<Reply, Stop> {
    if let Some(existing) = view.execution(submit.id)? {
        return if existing.created_by == submit.command {
            Ok(Reply::Submitted(Submitted { id: submit.id, created: true }))
        } else {
            Err(Rejection::ExecutionExists(submit.id).into())
        };
    }
    if let Some(first) = first_of_key(view, submit, now)? {
        return Ok(Reply::Submitted(Submitted { id: first, created: false }));
    }
    if let Some(unfinished) = holder_of_key(view, submit)? {
        return Ok(Reply::Submitted(Submitted { id: unfinished, created: false }));
    }
    check(view, submit)?;
    let lane = lane::copy(view, &submit.namespace, &submit.lane)?;
    if lane.state == LaneState::Draining {
        return Err(Rejection::LaneDraining(submit.lane.clone()).into());
    }
    register_class(view, submit)?;
    let policy = submit.policy.clone().or(&lane.defaults);
    remember_key(view, submit, &policy, now)?;
    create(view, submit, policy, now)?;
    Ok(Reply::Submitted(Submitted { id: submit.id, created: true }))
}

fn create(view: &mut View, submit: &Submit, policy: Policy, now: Millis) -> Result<(), Stop> {
    let ready_at = time(view, "run_at", submit.when, now)?;
    let mut execution = Execution {
        format: ExecutionFormat::of(submit.trace),
        id: submit.id,
        namespace: submit.namespace.clone(),
        lane: submit.lane.clone(),
        kind: submit.kind.clone(),
        requires: submit.requires.clone(),
        share: submit.share.clone(),
        priority: submit.priority,
        input: store_payload(view, Key::Payload(submit.id, PayloadSlot::Input), &submit.input)?,
        policy,
        idempotency_key: submit.idempotency_key.clone(),
        unique_key: submit.unique_key.clone(),
        created_at: now,
        created_by: submit.command,
        trace: submit.trace,
        deadline: deadline(view, submit.deadline, now)?,
        tags: submit.tags.clone(),
        state: State::Waiting(Waiting { readiness: Readiness::Ready { since: now }, next: Next::Initial }),
        changed_at: now,
        queued_at: None,
        started_at: None,
        attempts: 0,
        retries: 0,
        reclaims: 0,
        reclaims_in_a_row: 0,
        replays: 0,
        epoch: 0,
        last: None,
        result: None,
        progress: None,
        operated: VecDeque::new(),
        pages: 0,
        history: Vec::new(),
    };
    let readiness = Readiness::at(ready_at, WhyDelayed::Submitted, now);
    execution.wait(Waiting { readiness, next: Next::Initial });
    let delayed_until = matches!(readiness, Readiness::Delayed { .. }).then_some(ready_at);
    finish::hold(view, &execution)?;
    view.put_execution(execution, What::Submitted { kind: submit.kind.clone(), delayed_until })
}

/// The execution that the submit's key stands for, if the key is remembered.
fn first_of_key(view: &mut View, submit: &Submit, now: Millis) -> Result<Option<crate::ExecutionId>, Stop> {
    let Some(idempotency_key) = &submit.idempotency_key else { return Ok(None) };
    let key = Key::Idempotency(submit.namespace.clone(), idempotency_key.clone());
    match view.get(&key)?.as_deref() {
        None => Ok(None),
        Some(Record::Idempotency(known)) if known.expires_at <= now => {
            view.not_before(known.expires_at);
            Ok(None)
        }
        Some(Record::Idempotency(known)) => {
            view.not_after(known.expires_at);
            if known.fingerprint == arguments(submit) {
                Ok(Some(known.execution))
            } else {
                Err(Rejection::IdempotencyMismatch { existing: known.execution }.into())
            }
        }
        Some(_) => Err(unreadable(&key)),
    }
}

/// The unfinished execution that the submit's unique key stands for.
fn holder_of_key(view: &mut View, submit: &Submit) -> Result<Option<crate::ExecutionId>, Stop> {
    submit.unique_key.as_ref().map_or(Ok(None), |key| finish::holder(view, &submit.namespace, key))
}

fn remember_key(view: &mut View, submit: &Submit, policy: &Policy, now: Millis) -> Result<(), Stop> {
    let Some(key) = &submit.idempotency_key else { return Ok(()) };
    let record = IdempotencyRecord {
        format: Format,
        execution: submit.id,
        fingerprint: arguments(submit),
        expires_at: now + policy.dedup_window(),
    };
    view.put(Key::Idempotency(submit.namespace.clone(), key.clone()), Record::Idempotency(record))
}

/// Tells two submits apart by what they ask for. The time is left out: a caller that says "in an hour" and repeats
/// itself a second later means the same. So is the trace: a repeat may come from another one.
fn arguments(submit: &Submit) -> u64 {
    let tags: Vec<u8> = submit
        .tags
        .iter()
        .flat_map(|(key, value)| [key.as_str(), "=", value.as_str(), "\n"])
        .flat_map(str::bytes)
        .collect();
    let policy = serde_json::to_vec(&submit.policy).unwrap_or_default();
    fingerprint(&[
        submit.lane.as_str().as_bytes(),
        submit.kind.as_str().as_bytes(),
        submit.input.content_type().as_bytes(),
        submit.input.as_bytes(),
        &submit.priority.to_le_bytes(),
        submit.requires.name().as_bytes(),
        submit.share.as_str().as_bytes(),
        &policy,
        &tags,
    ])
}

/// Makes the class known the first time it is used in this partition, so that workers look into its queue.
fn register_class(view: &mut View, submit: &Submit) -> Result<(), Stop> {
    let key = Key::class(&submit.namespace, &submit.lane, &submit.requires, view.partition());
    match view.get(&key)?.as_deref() {
        None => {
            let seen = ClassSeen { format: Format, capabilities: submit.requires.clone() };
            view.put(key, Record::Class(seen))
        }
        Some(Record::Class(seen)) if seen.capabilities == submit.requires => Ok(()),
        Some(Record::Class(_)) => {
            let why = "another set of capabilities has the same hash; add or remove one";
            Err(Rejection::invalid("requires", why).into())
        }
        Some(_) => Err(unreadable(&key)),
    }
}

/// The time that somebody chose. What follows from a time being past holds only from that time on, lest a clock that
/// runs ahead lets work run early or refuses a time to come.
pub(crate) fn time(view: &mut View, field: &'static str, when: When, now: Millis) -> Result<Millis, Rejection> {
    let at = match when {
        When::Now => return Ok(now),
        When::After(pause) => now + pause,
        When::At(at) => {
            if at <= now {
                view.not_before(at);
            }
            at
        }
    };
    if at + limits::PAST_GRACE < now {
        view.not_before(at + limits::PAST_GRACE + Span(1));
        return Err(Rejection::TimeInPast { field, ago: now - at });
    }
    if at > now + limits::FUTURE_MAX {
        return Err(Rejection::invalid(field, format!("is more than {} ahead", limits::FUTURE_MAX)));
    }
    if let When::At(at) = when {
        // A commit that comes later must not happen: a repeat of it would have been refused by then.
        view.not_after(at + limits::PAST_GRACE + Span(1));
    }
    Ok(at)
}

/// The deadline that somebody chose, which must be yet to come.
pub(crate) fn deadline(view: &mut View, when: Option<When>, now: Millis) -> Result<Option<Millis>, Rejection> {
    let Some(when) = when else { return Ok(None) };
    let at = time(view, "deadline", when, now)?;
    if at <= now {
        return Err(Rejection::TimeInPast { field: "deadline", ago: now - at });
    }
    Ok(Some(at))
}

pub(crate) fn check_priority(priority: u16) -> Result<(), Rejection> {
    if priority > limits::PRIORITY_MAX {
        let why = format!("is 0 to {}, not {priority}", limits::PRIORITY_MAX);
        return Err(Rejection::invalid("priority", why));
    }
    Ok(())
}

fn check(view: &View, submit: &Submit) -> Result<(), Rejection> {
    if submit.id.partition() != view.partition() {
        let why = format!("{} does not belong to partition {}", submit.id, view.partition());
        return Err(Rejection::invalid("id", why));
    }
    if submit.idempotency_key.is_some() && submit.unique_key.is_some() {
        // Each decides in which partition the execution lives, and they would decide differently.
        return Err(Rejection::invalid("unique_key", "cannot be combined with an idempotency key"));
    }
    check_priority(submit.priority)?;
    if submit.tags.len() > limits::TAGS_MAX {
        let why = format!("at most {} are allowed, {} were given", limits::TAGS_MAX, submit.tags.len());
        return Err(Rejection::invalid("tags", why));
    }
    submit.policy.check()
}

/// Stores a payload: small JSON in the execution, anything else in a record of its own.
pub(crate) fn store_payload(view: &mut View, key: Key, payload: &Payload) -> Result<StoredPayload, Stop> {
    payload.check().map_err(|error| Rejection::invalid("payload", error.to_string()))?;
    let bytes = match payload {
        Payload::Json(json) if json.as_str().len() <= limits::PAYLOAD_INLINE_BYTES_MAX => {
            return Ok(StoredPayload::Json(json.clone()));
        }
        Payload::Json(json) => Bytes::copy_from_slice(json.as_str().as_bytes()),
        Payload::Bytes { bytes, .. } => bytes.clone(),
    };
    let stored = StoredPayload::Beside { content_type: payload.content_type().into(), bytes: bytes.len() as u64 };
    view.put_new(key, Record::Payload(bytes))?;
    Ok(stored)
}

/// Loads a payload that [`store_payload`] stored.
pub(crate) fn load_payload(view: &mut View, key: &Key, stored: &StoredPayload) -> Result<Payload, Stop> {
    let (content_type, bytes) = match stored {
        StoredPayload::Json(json) => return Ok(Payload::Json(json.clone())),
        StoredPayload::Beside { content_type, .. } => match view.get(key)?.as_deref() {
            Some(Record::Payload(bytes)) => (content_type, bytes.clone()),
            _ => return Err(unreadable(key)),
        },
    };
    Payload::bytes(content_type, bytes).map_err(|_| unreadable(key))
}
