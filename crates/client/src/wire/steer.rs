//! What operators do over HTTP with one execution, and what they look at.

use super::submit::when;
use super::{Length, Time};
use crate::{AttemptDescription, Result};
use onward_core::record::{Did, Transition};
use onward_core::{Act, Reason, TagKey, TagValue, When};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Ends an execution.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct CancelRequest {
    /// Why.
    pub reason: Reason,
    /// How long a running attempt gets to stop by itself; none when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace: Option<Length>,
}

/// Why something is done.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct ReasonRequest {
    /// Why.
    pub reason: Reason,
}

/// When an execution shall run; at once when both are absent.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct RescheduleRequest {
    /// After this long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Length>,
    /// At this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_at: Option<Time>,
}

/// The place of an execution in its queue.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct PriorityRequest {
    /// Higher runs first.
    #[cfg_attr(feature = "openapi", schema(maximum = 9000))]
    pub priority: u16,
}

/// Labels to add, replace and remove, all of them or none.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct TagsRequest {
    /// Labels to add or replace.
    pub set: BTreeMap<TagKey, TagValue>,
    /// Labels to take away.
    pub remove: BTreeSet<TagKey>,
}

/// What came of it.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Acted {
    /// What came of it.
    pub did: Did,
}

/// The attempts of an execution.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AttemptList {
    /// Oldest first, with the one that runs now.
    pub attempts: Vec<AttemptDescription>,
}

/// What happened to an execution.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = History))]
pub struct HistoryPage {
    /// Oldest first.
    pub transitions: Vec<Transition>,
}

impl From<CancelRequest> for Act {
    fn from(request: CancelRequest) -> Self {
        Self::Cancel { reason: request.reason, grace: request.grace.map(|length| length.0) }
    }
}

impl RescheduleRequest {
    /// What the engine is told.
    ///
    /// # Errors
    /// When both fields are there.
    pub fn into_act(self) -> Result<Act> {
        Ok(Act::Reschedule { when: when(self.delay, self.run_at, "run_at")?.unwrap_or(When::Now) })
    }
}

impl From<PriorityRequest> for Act {
    fn from(request: PriorityRequest) -> Self {
        Self::Prioritise { priority: request.priority }
    }
}

impl From<TagsRequest> for Act {
    fn from(request: TagsRequest) -> Self {
        Self::Tag { set: request.set, remove: request.remove }
    }
}
