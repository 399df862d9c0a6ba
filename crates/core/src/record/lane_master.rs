//! A lane's settings, and the record in which they are decided.

use super::{Format, Stored, formats};
use crate::index::{self, Entry};
use crate::{CommandId, Lane, Millis, Namespace, PartitionId, Policy};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, VecDeque};

words! {
    /// State of a lane.
    #[derive(Default)]
    LaneState {
        /// Accepts submits and claims.
        #[default]
        Open = "open",
        /// Accepts submits; workers cannot claim.
        Paused = "paused",
        /// Workers can claim; submits are refused.
        Draining = "draining",
    }
}

/// Settings of a lane.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LaneSettings {
    /// Whether it is open, paused or draining.
    pub state: LaneState,
    /// Default policy of executions that are submitted to it.
    #[serde(default, skip_serializing_if = "Policy::is_default")]
    pub defaults: Policy,
}

/// A lane's settings, in one place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaneMaster {
    /// The format of this record.
    #[serde(rename = "v", skip_serializing)]
    pub format: Format,
    /// Whose lane.
    pub namespace: Namespace,
    /// Its name.
    pub lane: Lane,
    /// What was decided last.
    pub settings: LaneSettings,
    /// Grows with every decision.
    pub revision: u64,
    /// The partitions that do not have this revision yet.
    pub owed: BTreeSet<PartitionId>,
    /// The calls that decided before the last one, oldest first, each with its revision: a repeat changes nothing.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    pub earlier: VecDeque<(CommandId, u64)>,
    /// The call that decided last.
    pub changed_by: CommandId,
    /// When.
    pub changed_at: Millis,
}

formats!(strict struct LaneMaster {
    format, namespace, lane, settings, revision, owed, earlier, changed_by, changed_at,
});
formats!(struct LaneSettings { state, defaults });
formats!(
    enum LaneState {
        Open,
        Paused,
        Draining,
    }
);

impl Stored for LaneMaster {
    fn usual_bytes(&self) -> usize {
        1_280
    }

    fn entries(&self) -> Vec<Entry> {
        Entry::single(index::lanes(&self.namespace), 0)
    }
}
