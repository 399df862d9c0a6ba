//! What a handler is told when it goes on: which waits ended, how, and what their signals carry.

use crate::record::{HowOver, PayloadSlot, SignalRecord, Taken, WaitEnd, WaitRef, Woke};
use crate::rules::{payload, waits};
use crate::{Actor, Blob, ExecutionId, Json, Key, Millis, Payload, SignalId, SignalName, Stop, View, limits};
use serde::{Deserialize, Serialize};

/// Why an attempt goes on after a suspension, with what its signals carry.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Woken {
    /// What ended the suspension.
    pub by: HowOver,
    /// When.
    pub at: Millis,
    /// The waits that are over because of it.
    #[serde(default)]
    pub waits: Vec<WaitResult>,
    /// What the worker wanted back.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<serde_json::Value>))]
    pub continuation: Option<Json>,
}

/// How one wait ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WaitResult {
    /// The wait.
    pub wait: WaitRef,
    /// How it ended.
    pub how: HowOver,
    /// When.
    pub at: Millis,
    /// The signals that it took, oldest first.
    #[serde(default)]
    pub signals: Vec<TakenSignal>,
}

/// A signal that a wait took.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TakenSignal {
    /// Id of the signal.
    pub id: SignalId,
    /// Its name, if it has one.
    pub name: Option<SignalName>,
    /// Who sent it, when the sender was authenticated by name.
    pub actor: Option<Actor>,
    /// Time at which it was accepted; absent when its payload is.
    pub at: Option<Millis>,
    /// What it carries, if that is JSON. Both are absent when there are more than 16 signals or more than a mebibyte of
    /// payloads: read it by the signal's id.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<serde_json::Value>))]
    pub payload: Option<Json>,
    /// What it carries, if that is not JSON.
    pub payload_bytes: Option<Blob>,
}

impl TakenSignal {
    /// What it carries, if that was told.
    #[must_use]
    pub fn carried(&self) -> Option<Payload> {
        match (&self.payload, &self.payload_bytes) {
            (Some(json), _) => Some(Payload::Json(json.clone())),
            (None, Some(blob)) => Some(Payload::Bytes(blob.clone())),
            (None, None) => None,
        }
    }
}

impl Woken {
    /// About how many bytes of memory it holds.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let signals = self.waits.iter().flat_map(|wait| &wait.signals);
        signals.map(|signal| 256 + signal.carried().map_or(0, |payload| payload.as_bytes().len())).sum()
    }
}

/// Tells why an attempt goes on, with the payloads of the first signals.
pub(crate) fn tell(view: &mut View, id: ExecutionId, woke: &Woke) -> Result<Woken, Stop> {
    let first: Vec<&Taken> = woke.waits.iter().flat_map(|wait| &wait.signals).take(limits::WOKE_PAYLOADS_MAX).collect();
    // Records and large payloads are read in one round.
    view.for_each(&first, |view, taken| {
        let record = view.get(&Key::Signal(id, taken.signal)).map(drop);
        let slot = PayloadSlot::Signal(taken.signal);
        let beside = if taken.beside { view.get(&Key::Payload(id, slot)).map(drop) } else { Ok(()) };
        both(record, beside)
    })?;
    let mut bytes = 0;
    let mut told = Vec::with_capacity(first.len());
    for taken in first {
        told.push(signal(view, id, taken, &mut bytes)?);
    }
    let mut told = told.into_iter();
    let mut waits = Vec::with_capacity(woke.waits.len());
    for WaitEnd { wait, how, at, signals } in &woke.waits {
        let signals = signals.iter().map(|taken| told.next().unwrap_or_else(|| untold(taken))).collect();
        waits.push(WaitResult { wait: wait.clone(), how: *how, at: *at, signals });
    }
    Ok(Woken { by: woke.by, at: woke.at, waits, continuation: woke.continuation.clone() })
}

/// What both lack, or the first of both.
fn both(one: Result<(), Stop>, other: Result<(), Stop>) -> Result<(), Stop> {
    match (one, other) {
        (Err(Stop::Need(mut wanted)), Err(Stop::Need(more))) => {
            wanted.extend(more);
            Err(Stop::Need(wanted))
        }
        (one, other) => one.and(other),
    }
}

fn signal(view: &mut View, id: ExecutionId, taken: &Taken, bytes: &mut usize) -> Result<TakenSignal, Stop> {
    let SignalRecord { payload: stored, at, .. } = waits::signal(view, id, taken.signal)?;
    let carried = payload::load(view, &Key::Payload(id, PayloadSlot::Signal(taken.signal)), &stored)?;
    *bytes += carried.as_bytes().len();
    let (payload, payload_bytes) = if *bytes > limits::WOKE_BYTES_MAX { (None, None) } else { carried.into_fields() };
    Ok(TakenSignal { at: Some(at), payload, payload_bytes, ..untold(taken) })
}

fn untold(taken: &Taken) -> TakenSignal {
    let Taken { signal, name, actor, .. } = taken.clone();
    TakenSignal { id: signal, name, actor, at: None, payload: None, payload_bytes: None }
}
