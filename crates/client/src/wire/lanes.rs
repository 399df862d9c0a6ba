//! Lanes over HTTP.

use onward_core::record::{LaneSettings, LaneState};
use onward_core::{Lane, LaneChange, Millis, Policy};
use onward_engine::LaneListing;
use serde::{Deserialize, Serialize};

/// A lane with its settings and backlog.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LaneInfo {
    /// Name of the lane.
    pub lane: Lane,
    /// Whether it is open, paused or draining.
    pub state: LaneState,
    /// Default policy of executions that are submitted to it.
    #[serde(default, skip_serializing_if = "Policy::is_default")]
    pub defaults: Policy,
    /// Number of ready executions.
    pub ready: u64,
    /// Whether counting stopped at `ready`, so that there may be more.
    pub ready_capped: bool,
    /// Time since which the oldest ready execution is ready; absent when none is ready.
    pub oldest: Option<Millis>,
}

/// The lanes of a namespace.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LaneList {
    /// Lanes, sorted by name.
    pub lanes: Vec<LaneInfo>,
}

/// Changes to a lane; absent fields stay unchanged.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct LanePatch {
    /// `open`, `paused` (workers cannot claim) or `draining` (submits are refused).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<LaneState>,
    /// Default policy of executions that are submitted to it; replaces all earlier defaults.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub defaults: Option<Policy>,
}

impl From<LaneListing> for LaneInfo {
    fn from(listing: LaneListing) -> Self {
        let LaneListing { lane, settings: LaneSettings { state, defaults }, ready, ready_capped, oldest } = listing;
        Self { lane, state, defaults, ready, ready_capped, oldest }
    }
}

impl From<LanePatch> for LaneChange {
    fn from(patch: LanePatch) -> Self {
        Self { state: patch.state, defaults: patch.defaults }
    }
}

impl From<LaneChange> for LanePatch {
    fn from(change: LaneChange) -> Self {
        Self { state: change.state, defaults: change.defaults }
    }
}
