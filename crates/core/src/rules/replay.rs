//! Running an execution again after it has ended: a new life with a fresh budget of retries.

use crate::record::{Did, Execution, Next, Readiness, State, StoredPayload, Waiting};
use crate::rules::{finish, submit};
use crate::{Key, Millis, PayloadSlot, Reason, Rejection, Stop, View, What, When};

pub(crate) fn replay(
    view: &mut View,
    execution: &mut Execution,
    reason: &Reason,
    deadline: Option<When>,
    now: Millis,
) -> Result<(What, Did), Stop> {
    let State::Finished(_) = &execution.state else {
        let state = execution.public_state();
        return Err(Rejection::NotFinished { execution: execution.id, state }.into());
    };
    if execution.replays >= execution.policy.max_replays() {
        let replays = execution.replays;
        return Err(Rejection::ReplaysExhausted { execution: execution.id, replays }.into());
    }
    if let Some(key) = &execution.unique_key
        && let Some(existing) = finish::holder(view, &execution.namespace, key)?
    {
        return Err(Rejection::UniqueKeyTaken { existing }.into());
    }
    finish::hold(view, execution)?;
    // The result of the first life must not be taken for that of the second.
    if let Some(StoredPayload::Beside { .. }) = execution.result.take() {
        view.delete(Key::Payload(execution.id, PayloadSlot::Result))?;
    }
    execution.deadline = submit::deadline(view, deadline, now)?;
    execution.replays += 1;
    (execution.retries, execution.reclaims, execution.reclaims_in_a_row) = (0, 0, 0);
    (execution.progress, execution.queued_at) = (None, None);
    execution.changed_at = execution.stamp(now);
    execution.wait(Waiting { readiness: Readiness::Ready { since: now }, next: Next::Replay });
    let replays = execution.replays;
    Ok((What::Replayed { replays, reason: reason.clone() }, Did::Replayed { replays }))
}
