//! What an attempt says about how far it is: the last word stands, and nobody is told.

use crate::record::{self, Record};
use crate::rules::fence::{self, Owner};
use crate::{Key, Millis, Progress, Rejection, Renewed, Reply, Stop, View};

pub(crate) fn progress(view: &mut View, progress: &Progress, now: Millis) -> Result<Reply, Stop> {
    if let Some(percent) = progress.percent.filter(|percent| *percent > 100) {
        return Err(Rejection::invalid("percent", format!("is 0 to 100, not {percent}")).into());
    }
    let Owner::Holds(mut execution, active, now) = fence::owner(view, &progress.fence, None, now)? else {
        // Without a command id nothing can be a repeat.
        return Err(fence::other_use());
    };
    let before = execution.progress.clone();
    let said = record::Progress {
        percent: progress.percent.or(before.as_ref().and_then(|before| before.percent)),
        message: progress.message.clone().or(before.as_ref().map(|before| before.message.clone())).unwrap_or_default(),
        at: now,
    };
    let same = |before: &record::Progress| (before.percent, &before.message) == (said.percent, &said.message);
    if !before.as_ref().is_some_and(same) {
        execution.progress = Some(said);
        execution.changed_at = now;
        view.put(Key::Execution(execution.id), Record::Execution(*execution))?;
    }
    Ok(Reply::Noted(Renewed { expires_at: active.lease.expires_at, stop: active.stop }))
}
