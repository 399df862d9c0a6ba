//! What an attempt says about how far it is: the last word stands, and no event is written.

use crate::record::{self, Record};
use crate::rules::fence::{self, Owner, fenced};
use crate::{Fence, Key, Millis, Reason, Rejection, Renewed, Stop, Verb, View};
use std::sync::Arc;

/// Says how far an attempt is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// Proof of ownership.
    pub fence: Fence,
    /// 0 to 100; what was said before stands when absent.
    pub percent: Option<u8>,
    /// For people; what was said before stands when absent.
    pub message: Option<Reason>,
}

fenced!(Progress);

impl Verb for Progress {
    type Reply = Renewed;

    fenced!(keys);

    fn run(&self, view: &mut View, now: Millis) -> Result<Renewed, Stop> {
        if let Some(percent) = self.percent.filter(|percent| *percent > 100) {
            return Err(Rejection::invalid("percent", format!("must be between 0 and 100, is {percent}")).into());
        }
        let Owner::Holds(mut execution, active) = fence::owner(view, &self.fence, None, now)? else {
            // Without a command id nothing can be a repeat.
            return Err(fence::other_use());
        };
        let (before, stamp) = (execution.progress.clone(), execution.stamp(now));
        let said = record::Progress {
            percent: self.percent.or(before.as_ref().and_then(|before| before.percent)),
            message: self.message.clone().or(before.as_ref().map(|before| before.message.clone())).unwrap_or_default(),
            at: stamp,
        };
        let same = |before: &record::Progress| (before.percent, &before.message) == (said.percent, &said.message);
        if !before.as_ref().is_some_and(same) {
            let changed = Arc::make_mut(&mut execution);
            (changed.progress, changed.changed_at) = (Some(said), stamp);
            view.put(Key::Execution(execution.id), Record::Execution(execution))?;
        }
        Ok(Renewed { expires_at: active.lease.expires_at, stop: active.stop })
    }
}

#[cfg(test)]
pub(crate) mod rows {
    use crate::rules::table::Row;
    use crate::rules::world::make;

    /// Rows of the (state × command) table.
    #[rustfmt::skip]
    pub(crate) const ROWS: &[Row] = &[
        Row::fenced("progress", |_, fence| make::progress(fence, Some(50), None), &[
            ("stays", "ActiveMine ActiveResumed ActiveAsked ActiveLapsed ActiveStopOver"),
        ]),
    ];
}
