//! Errands: work that a commit left over because it is more than one commit may do.

use super::{Format, Stored, formats, is_default};
use crate::index::DueKind;
use crate::{Millis, Span, limits};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

words! {
    /// What an errand is for. An execution has one errand for each, however much there is to do.
    ErrandKind {
        /// Removes what belongs to an execution that is being purged.
        Purge = "purge",
    }
}

impl fmt::Display for ErrandKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ErrandKind {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::named(text).ok_or(())
    }
}

/// Work left over. It is written in the commit that leaves it, is due until it is done, and is removed with its last piece.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Errand {
    /// The format of this record.
    #[serde(rename = "v", skip_serializing)]
    pub format: Format,
    /// When it can go on: when it was written, or after a pause because nothing could be done.
    pub since: Millis,
    /// How many records are still to be handled. Every commit that handles some counts them down, so that a page of
    /// candidates that misses some ends nothing.
    pub left: u32,
    /// Pauses in a row in which no candidate was found.
    #[serde(default, skip_serializing_if = "is_default")]
    pub pauses: u32,
}

impl Errand {
    /// An errand that can begin now.
    pub(crate) fn new(left: u32, now: Millis) -> Self {
        Self { format: Format, since: now, left, pauses: 0 }
    }

    /// Puts it off because no candidate was found: what is being written at the moment appears in an index within
    /// milliseconds, what is damaged never does.
    pub(crate) fn put_off(&mut self, now: Millis) {
        let pause = limits::ERRAND_PAUSE_FIRST.0.saturating_mul(1 << self.pauses.min(20));
        self.since = now + Span(pause).min(limits::ERRAND_PAUSE_MAX);
        self.pauses += 1;
    }

    /// Handles some of what is left.
    pub(crate) fn done(&mut self, count: usize, now: Millis) {
        self.left = self.left.saturating_sub(u32::try_from(count).unwrap_or(u32::MAX));
        self.since = now;
        self.pauses = 0;
    }
}

formats!(struct Errand { format, since, left, pauses });

impl Stored for Errand {
    fn due(&self) -> Option<Millis> {
        Some(self.since)
    }

    fn due_kind(&self) -> DueKind {
        DueKind::Housekeeping
    }
}
