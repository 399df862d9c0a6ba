//! Ending a lease: check that the caller holds it, answer a repeat as before, end it as the worker says.

use crate::end::{End, Ending};
use crate::rules::fence::{self, Owner, fenced};
use crate::verb::USUAL_BYTES;
use crate::{CommandId, Fence, Millis, Stop, Verb, View};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Ends a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// This call; a repeat carries the same and gets the same answer.
    pub command: CommandId,
    /// Proof of ownership.
    pub fence: Fence,
    /// How the lease ends.
    pub end: End,
}

/// Result of a report.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ReportAnswer))]
pub struct Reported {
    /// Time at which the execution is retried or resumes; absent when it has ended or is ready.
    pub again_at: Option<Millis>,
    /// Whether this report ended the execution. An execution that was asked to stop can also be cancelled by a report that
    /// gives it back or delays it.
    pub ended: bool,
}

impl Reported {
    /// The execution has ended.
    pub const ENDED: Self = Self { again_at: None, ended: true };
    /// The execution is ready for another worker.
    pub const READY: Self = Self { again_at: None, ended: false };

    /// The execution is tried again or goes on at this time.
    #[must_use]
    pub fn again(at: Millis) -> Self {
        Self { again_at: Some(at), ended: false }
    }
}

fenced!(Report);

impl Verb for Report {
    type Reply = Reported;

    fenced!(keys);

    fn part(&self) -> Option<&'static str> {
        Some(self.end.name())
    }

    fn bytes(&self) -> usize {
        let held = match &self.end {
            End::Complete(complete) => complete.result.as_bytes().len(),
            End::Fail(fail) => fail.failure.details.as_ref().map_or(0, |details| details.as_str().len()),
            _ => 0,
        };
        USUAL_BYTES + held
    }

    fn run(&self, view: &mut View, now: Millis) -> Result<Reported, Stop> {
        let (mut execution, active) = match fence::owner(view, &self.fence, Some(self.command), now)? {
            Owner::Holds(execution, active) => (execution, active),
            Owner::Repeats(earlier) => return self.end.rule().answered(&earlier).ok_or_else(fence::other_use),
        };
        let at = execution.moment(now);
        let ending = Ending { execution: Arc::make_mut(&mut execution), active, command: self.command, at };
        let (event, reported) = self.end.rule().end(view, ending)?;
        view.put_execution(execution, event)?;
        Ok(reported)
    }
}

#[cfg(test)]
pub(crate) mod rows {
    /// Every end has rows of its own.
    pub(crate) const ROWS: &[crate::rules::table::Row] = &[];
}
