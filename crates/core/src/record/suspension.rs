//! A suspension: what an execution waits for, what has come so far, and what its handler is told when it goes on.

use super::{HowOver, Taken, WaitRef, formats, is_default};
use crate::condition::{Condition, Reached};
use crate::{Json, Millis, Reason, Span};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// An execution that waits for the world.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suspension {
    /// Since when.
    pub since: Millis,
    /// When it goes on.
    pub condition: Condition,
    /// The signals that count towards it, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taken: Vec<Taken>,
    /// Its waits that are over although it goes on waiting.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub over: BTreeMap<WaitRef, Over>,
    /// Its own timeout.
    pub timeout: Option<Timeout>,
    /// How long the execution is delayed once it goes on.
    pub delay: Option<Span>,
    /// What the worker wants back when it goes on.
    pub continuation: Option<Json>,
    /// For people.
    #[serde(default, skip_serializing_if = "Reason::is_empty")]
    pub reason: Reason,
    /// Whether its time was over and only an operator can let it go on.
    #[serde(default, skip_serializing_if = "is_default")]
    pub escalated: bool,
}

/// A wait of a suspension that is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Over {
    /// How it ended.
    pub how: HowOver,
    /// When.
    pub at: Millis,
    /// Whether it has a record already: it was over before the suspension.
    #[serde(default, skip_serializing_if = "is_default")]
    pub recorded: bool,
}

/// The timeout of a suspension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Timeout {
    /// When.
    pub at: Millis,
    /// What happens then.
    pub then: OnTimeout,
}

words! {
    /// What happens when a suspension times out.
    #[derive(Default)]
    OnTimeout {
        /// The execution goes on; its handler is told.
        #[default]
        Resume = "resume",
        /// The execution fails.
        Fail = "fail",
        /// The execution is cancelled.
        Cancel = "cancel",
        /// The execution expires.
        Expire = "expire",
        /// It stays suspended until an operator resumes it; signals do not.
        Escalate = "escalate",
    }
}

/// Why an attempt goes on after a suspension.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Woke {
    /// By what.
    pub by: HowOver,
    /// When.
    pub at: Millis,
    /// The waits that are over because of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<WaitEnd>,
    /// What the worker wanted back.
    pub continuation: Option<Json>,
}

/// How one wait ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitEnd {
    /// The wait.
    pub wait: WaitRef,
    /// How it ended.
    pub how: HowOver,
    /// When.
    pub at: Millis,
    /// The signals that it took, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signals: Vec<Taken>,
}

/// A hold by an operator, or for one: no worker gets the execution until an operator resumes it. What it waits for goes on
/// underneath.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// Why.
    pub why: WhyHeld,
    /// Since when.
    pub at: Millis,
    /// For people.
    #[serde(default, skip_serializing_if = "Reason::is_empty")]
    pub reason: Reason,
}

words! {
    /// Why an execution is held.
    WhyHeld {
        /// An operator paused it.
        Operator = "operator",
        /// No retry was left, and its policy says that an operator decides.
        Exhausted = "exhausted",
    }
}

impl OnTimeout {
    /// What it does, in words that follow "then".
    pub(crate) fn in_words(self) -> &'static str {
        match self {
            Self::Resume => "it goes on",
            Self::Fail => "it fails",
            Self::Cancel => "it is cancelled",
            Self::Expire => "it expires",
            Self::Escalate => "an operator decides",
        }
    }
}

impl Suspension {
    /// What has been reached so far.
    pub(crate) fn with_reached<T>(&self, see: impl FnOnce(&Condition, Reached<'_>) -> T) -> T {
        let over = |wait: &WaitRef| self.over.contains_key(wait);
        see(&self.condition, Reached { taken: &self.taken, over: &over })
    }

    /// Whether it can go on.
    pub(crate) fn is_met(&self) -> bool {
        !self.escalated && self.with_reached(Condition::holds)
    }

    /// The waits that it names.
    pub(crate) fn waits(&self) -> BTreeSet<WaitRef> {
        self.condition.waits().into_iter().cloned().collect()
    }

    /// The next time at which something of it is over.
    #[must_use]
    pub fn due(&self) -> Option<Millis> {
        if self.escalated {
            return None;
        }
        let open = |(wait, _): &(&WaitRef, Millis)| !self.over.contains_key(*wait);
        let waits = self.condition.timeouts().into_iter().filter(open).map(|(_, until)| until);
        waits.chain(self.timeout.map(|timeout| timeout.at)).min()
    }

    /// About how many bytes it takes in the record of the execution.
    pub(crate) fn bytes(&self) -> usize {
        let condition = serde_json::to_string(&self.condition).map_or(0, |text| text.len());
        let continuation = self.continuation.as_ref().map_or(0, |json| json.as_str().len());
        256 + condition + continuation + Taken::BYTES * self.taken.len() + 128 * self.over.len()
    }
}

impl Woke {
    /// About how many bytes it takes in the record of the execution.
    pub(crate) fn bytes(&self) -> usize {
        let signals: usize = self.waits.iter().map(|wait| 128 + Taken::BYTES * wait.signals.len()).sum();
        128 + signals + self.continuation.as_ref().map_or(0, |json| json.as_str().len())
    }
}

formats!(struct Suspension {
    since, condition, taken, over, timeout, delay, continuation, reason, escalated,
});
formats!(struct Over { how, at, recorded });
formats!(struct Timeout { at, then });
formats!(
    enum OnTimeout {
        Resume,
        Fail,
        Cancel,
        Expire,
        Escalate,
    }
);
formats!(struct Woke { by, at, waits, continuation });
formats!(struct WaitEnd { wait, how, at, signals });
formats!(struct Held { why, at, reason });
formats!(
    enum WhyHeld {
        Operator,
        Exhausted,
    }
);
