//! What operators do with an execution: find it, answer a repeat as before, do it, remember it.

use crate::record::{Did, Execution, Operated};
use crate::rules::{cancel, lost, purge, replay, steer};
use crate::{Act, Millis, Operate, Rejection, Reply, Stop, View, What, limits};

pub(crate) fn operate(view: &mut View, operate: &Operate, now: Millis) -> Result<Reply, Stop> {
    let mut execution = match view.execution(operate.execution)? {
        Some(execution) if execution.namespace == operate.namespace => execution,
        // What is gone is purged: nothing is left that could remember the first call. What belongs to others does not
        // exist either, and must not be told apart.
        _ if operate.act == Act::Purge => return Ok(Reply::Operated(Did::Purged)),
        _ => return Err(Rejection::ExecutionNotFound(operate.execution).into()),
    };
    if let Some(earlier) = execution.operated.iter().find(|earlier| earlier.by == operate.command) {
        return if answers(earlier.did, &operate.act) {
            Ok(Reply::Operated(earlier.did))
        } else {
            Err(Rejection::invalid("command", "this id did something else to the execution before").into())
        };
    }
    if execution.is_purging() {
        return match operate.act {
            Act::Purge => Ok(Reply::Operated(Did::Purged)),
            _ => Err(Rejection::Purged(operate.execution).into()),
        };
    }
    let Some((what, did)) = act(view, &mut execution, &operate.act, now)? else {
        let stamp = execution.stamp(now);
        purge::remove(view, execution, Some(operate.command), stamp)?;
        return Ok(Reply::Operated(Did::Purged));
    };
    remember(&mut execution, operate.command, did);
    view.put_execution(execution, what)?;
    Ok(Reply::Operated(did))
}

/// Whether this can be the answer to such a call.
fn answers(did: Did, act: &Act) -> bool {
    match act {
        Act::Cancel { .. } => matches!(did, Did::Cancelled | Did::AskedToStop { .. }),
        Act::Reschedule { .. } => matches!(did, Did::Rescheduled { .. }),
        Act::Prioritise { .. } => matches!(did, Did::Prioritised { .. }),
        Act::Tag { .. } => matches!(did, Did::Tagged),
        Act::Revoke { .. } => matches!(did, Did::Revoked { .. }),
        Act::Replay { .. } => matches!(did, Did::Replayed { .. }),
        Act::Purge => matches!(did, Did::Purged),
    }
}

/// Does it. A purge has no answer of its own: it writes everything itself.
fn act(view: &mut View, execution: &mut Execution, act: &Act, now: Millis) -> Result<Option<(What, Did)>, Stop> {
    let stamp = execution.stamp(now);
    let done = match act {
        Act::Cancel { reason, grace } => {
            let until = grace.map(|grace| cancel::until(grace, now)).transpose()?;
            cancel::by_operator(view, execution, reason, until, stamp)?
        }
        Act::Reschedule { when } => steer::reschedule(view, execution, *when, now)?,
        Act::Prioritise { priority } => steer::prioritise(execution, *priority, stamp)?,
        Act::Tag { set, remove } => steer::tag(execution, set, remove, stamp)?,
        Act::Revoke { lease, reason } => lost::revoke(view, execution, *lease, reason, stamp)?,
        Act::Replay { reason, deadline } => replay::replay(view, execution, reason, *deadline, now)?,
        Act::Purge => {
            purge::check(execution)?;
            return Ok(None);
        }
    };
    Ok(Some(done))
}

/// Remembers a call, so that a repeat finds itself.
pub(crate) fn remember(execution: &mut Execution, by: crate::CommandId, did: Did) {
    while execution.operated.len() >= limits::OPERATOR_COMMANDS_KEPT {
        execution.operated.pop_front();
    }
    execution.operated.push_back(Operated { by, did });
}
