//! Accepting new work: check it, find out whether it is a repeat, place it in its queue.

use crate::ids::fingerprint;
use crate::record::{
    AttemptKind, ClassSeen, Execution, Format, Held, IdempotencyRecord, LaneState, Readiness, Record, State, Waiting,
    WhyDelayed,
};
use crate::view::unreadable;
use crate::{
    Key, Millis, Payload, PayloadSlot, Rejection, Reply, Span, Stop, Submit, Submitted, View, What, When, limits,
    rules::lane,
};
use bytes::Bytes;

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
    check(view, submit)?;
    let ready_at = ready_at(view, submit.when, now)?;
    if lane::copy(view, &submit.namespace, &submit.lane)?.state == LaneState::Draining {
        return Err(Rejection::LaneDraining(submit.lane.clone()).into());
    }
    register_class(view, submit)?;
    remember_key(view, submit, now)?;
    create(view, submit, ready_at, now)?;
    Ok(Reply::Submitted(Submitted { id: submit.id, created: true }))
}

fn create(view: &mut View, submit: &Submit, ready_at: Millis, now: Millis) -> Result<(), Stop> {
    let mut execution = Execution {
        format: Format,
        id: submit.id,
        namespace: submit.namespace.clone(),
        lane: submit.lane.clone(),
        kind: submit.kind.clone(),
        requires: submit.requires.clone(),
        share: submit.share.clone(),
        priority: submit.priority,
        input: hold(view, Key::Payload(submit.id, PayloadSlot::Input), &submit.input)?,
        policy: submit.policy.clone(),
        idempotency_key: submit.idempotency_key.clone(),
        created_at: now,
        created_by: submit.command,
        tags: submit.tags.clone(),
        state: State::Waiting(Waiting { readiness: Readiness::Ready { since: now }, next: AttemptKind::Initial }),
        changed_at: now,
        queued_at: None,
        started_at: None,
        attempts: 0,
        retries: 0,
        reclaims: 0,
        reclaims_in_a_row: 0,
        epoch: 0,
        last: None,
        result: None,
    };
    let readiness = Readiness::at(ready_at, WhyDelayed::Submitted, now);
    execution.wait(Waiting { readiness, next: AttemptKind::Initial });
    let delayed_until = execution.state.due();
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

fn remember_key(view: &mut View, submit: &Submit, now: Millis) -> Result<(), Stop> {
    let Some(key) = &submit.idempotency_key else { return Ok(()) };
    let record = IdempotencyRecord {
        format: Format,
        execution: submit.id,
        fingerprint: arguments(submit),
        expires_at: now + submit.policy.dedup_window.unwrap_or(limits::DEDUP_WINDOW_DEFAULT),
    };
    view.put(Key::Idempotency(submit.namespace.clone(), key.clone()), Record::Idempotency(record))
}

/// Tells two submits apart by what they ask for. The time is left out: a caller that says "in an hour" and repeats
/// itself a second later means the same.
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

/// When the work may run. What follows from a time being past holds only from that time on, lest a clock that runs
/// ahead lets work run early or refuses a time to come.
fn ready_at(view: &mut View, when: When, now: Millis) -> Result<Millis, Rejection> {
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
        return Err(Rejection::TimeInPast { field: "run_at", ago: now - at });
    }
    if at > now + limits::FUTURE_MAX {
        return Err(Rejection::invalid("run_at", format!("is more than {} ahead", limits::FUTURE_MAX)));
    }
    if let When::At(at) = when {
        // A commit that comes later must not happen: a repeat of it would have been refused by then.
        view.not_after(at + limits::PAST_GRACE + Span(1));
    }
    Ok(at)
}

fn check(view: &View, submit: &Submit) -> Result<(), Rejection> {
    if submit.id.partition() != view.partition() {
        let why = format!("{} does not belong to partition {}", submit.id, view.partition());
        return Err(Rejection::invalid("id", why));
    }
    if submit.priority > limits::PRIORITY_MAX {
        let why = format!("is 0 to {}, not {}", limits::PRIORITY_MAX, submit.priority);
        return Err(Rejection::invalid("priority", why));
    }
    if submit.tags.len() > limits::TAGS_MAX {
        let why = format!("at most {} are allowed, {} were given", limits::TAGS_MAX, submit.tags.len());
        return Err(Rejection::invalid("tags", why));
    }
    submit.policy.check()
}

/// Keeps a payload: small JSON in the execution, anything else in a record of its own.
pub(crate) fn hold(view: &mut View, key: Key, payload: &Payload) -> Result<Held, Stop> {
    payload.check().map_err(|error| Rejection::invalid("payload", error.to_string()))?;
    let bytes = match payload {
        Payload::Json(json) if json.as_str().len() <= limits::PAYLOAD_INLINE_BYTES_MAX => {
            return Ok(Held::Json(json.clone()));
        }
        Payload::Json(json) => Bytes::copy_from_slice(json.as_str().as_bytes()),
        Payload::Bytes { bytes, .. } => bytes.clone(),
    };
    let held = Held::Beside { content_type: payload.content_type().into(), bytes: bytes.len() as u64 };
    view.put_new(key, Record::Payload(bytes))?;
    Ok(held)
}

/// Reads a payload back.
pub(crate) fn take(view: &mut View, key: &Key, held: &Held) -> Result<Payload, Stop> {
    let (content_type, bytes) = match held {
        Held::Json(json) => return Ok(Payload::Json(json.clone())),
        Held::Beside { content_type, .. } => match view.get(key)?.as_deref() {
            Some(Record::Payload(bytes)) => (content_type, bytes.clone()),
            _ => return Err(unreadable(key)),
        },
    };
    Payload::bytes(content_type, bytes).map_err(|_| unreadable(key))
}
