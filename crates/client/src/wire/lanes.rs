//! Lanes over HTTP.

use onward_core::record::{LaneSettings, LaneState};
use onward_core::{Lane, LaneChange, Millis, Policy};
use onward_engine::LaneListing;
use serde::{Deserialize, Serialize};

/// A lane that is used or was changed.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LaneInfo {
    /// Its name.
    pub lane: Lane,
    /// What it lets through.
    pub state: LaneState,
    /// What holds for submissions that do not say otherwise.
    #[serde(default, skip_serializing_if = "Policy::is_default")]
    pub defaults: Policy,
    /// How much work is ready in it.
    pub ready: u64,
    /// Whether counting stopped there, so that more may be ready.
    pub ready_capped: bool,
    /// Since when the oldest of it is ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest: Option<Millis>,
}

/// The lanes of a namespace.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LaneList {
    /// By name.
    pub lanes: Vec<LaneInfo>,
}

/// What to change about a lane; what is absent stays as it is.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct LanePatch {
    /// What it lets through: everything when open, no claims when paused, no submissions when draining.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<LaneState>,
    /// What holds for submissions that do not say otherwise.
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
