//! Waits and signals of an execution over HTTP.

use onward_core::record::{Execution, HowOver, Readiness, SignalEffect, State, Timeout, WaitOver, WaitRef, Waiting};
use onward_core::{Actor, Condition, Millis, Reason, SignalId, SignalName, WaitName};
use onward_engine::WaitList;
use serde::{Deserialize, Serialize};

/// What an execution waits for, and what it waited for.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Waits))]
pub struct WaitsInfo {
    /// The suspension, if it is suspended.
    pub suspension: Option<SuspensionInfo>,
    /// Waits that are over, newest first, up to 100.
    pub over: Vec<WaitInfo>,
    /// Signals that were sent to it, newest first, up to 100.
    pub signals: Vec<SignalInfo>,
    /// Number of signals that are kept for later waits.
    pub kept: usize,
}

/// A suspension.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = SuspensionState))]
pub struct SuspensionInfo {
    /// Time since which it is suspended.
    pub since: Millis,
    /// When it resumes.
    pub condition: Condition,
    /// Waits of the condition that are open.
    pub open: Vec<WaitRef>,
    /// Ids of the signals that count already.
    pub counted: Vec<SignalId>,
    /// Time at which it times out, and what happens then.
    pub timeout: Option<Timeout>,
    /// Whether it timed out and only an operator can resume it.
    pub escalated: bool,
    /// What it waits for, as its worker put it.
    #[serde(default, skip_serializing_if = "Reason::is_empty")]
    pub reason: Reason,
}

/// A wait that is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = EndedWait))]
pub struct WaitInfo {
    /// The wait.
    pub wait: WaitRef,
    /// How it ended.
    pub how: HowOver,
    /// When.
    pub at: Millis,
    /// Ids of the signals that it took, oldest first.
    pub signals: Vec<SignalId>,
}

/// A signal that was accepted.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = AcceptedSignal))]
pub struct SignalInfo {
    /// Id of the signal.
    pub id: SignalId,
    /// Name of the wait that it was sent to.
    pub wait: WaitName,
    /// Name of the signal, if it has one.
    pub name: Option<SignalName>,
    /// Who sent it, when the sender was authenticated by name.
    pub actor: Option<Actor>,
    /// Who made the token by which it was sent, if it was and that caller was known by name.
    pub minted_by: Option<Actor>,
    /// Time at which it was accepted.
    pub at: Millis,
    /// What it did then.
    pub effect: SignalEffect,
}

impl WaitsInfo {
    pub(crate) fn of(execution: &Execution, list: WaitList) -> Self {
        let ended = |(wait, over): (WaitRef, WaitOver)| WaitInfo {
            wait,
            how: over.how,
            at: over.at,
            signals: over.signals.into_iter().map(|taken| taken.signal).collect(),
        };
        let signals = list.signals.into_iter().map(|(id, signal)| SignalInfo {
            id,
            wait: signal.wait,
            name: signal.name,
            actor: signal.actor,
            minted_by: signal.minted_by,
            at: signal.at,
            effect: signal.effect,
        });
        Self {
            suspension: suspension(execution),
            over: list.over.into_iter().map(ended).collect(),
            signals: signals.collect(),
            kept: execution.waits.as_ref().map_or(0, |waits| waits.mail.len()),
        }
    }
}

fn suspension(execution: &Execution) -> Option<SuspensionInfo> {
    let State::Waiting(Waiting { readiness: Readiness::Suspended(suspension), .. }) = &execution.state else {
        return None;
    };
    let open = suspension.condition.waits().into_iter().filter(|wait| !suspension.over.contains_key(*wait));
    Some(SuspensionInfo {
        since: suspension.since,
        open: open.cloned().collect(),
        condition: suspension.condition.clone(),
        counted: suspension.taken.iter().map(|taken| taken.signal).collect(),
        timeout: suspension.timeout,
        escalated: suspension.escalated,
        reason: suspension.reason.clone(),
    })
}
