//! Registries and settings: lanes, their copies, the classes in use, and idempotency keys.

use super::Format;
use crate::{Class, CommandId, ExecutionId, Lane, Millis, Namespace, PartitionId, Policy, limits};
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
    #[serde(rename = "v")]
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

/// One partition's copy of a lane's settings; its rules read nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaneCopy {
    /// The format of this record.
    #[serde(rename = "v")]
    pub format: Format,
    /// The settings in force here.
    pub settings: LaneSettings,
    /// Which decision they are.
    pub revision: u64,
}

/// Says that work of this class was submitted here, so that workers know which ready queues exist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassSeen {
    /// The format of this record.
    #[serde(rename = "v")]
    pub format: Format,
    /// The capabilities, in full.
    pub capabilities: Class,
}

/// Which execution an idempotency key stands for, until it is forgotten.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdempotencyRecord {
    /// The format of this record.
    #[serde(rename = "v")]
    pub format: Format,
    /// The execution.
    pub execution: ExecutionId,
    /// Tells whether a later submit asks for the same.
    pub fingerprint: u64,
    /// When the key is forgotten.
    pub expires_at: Millis,
}

/// Which unfinished execution a unique key stands for. A key that is free again keeps its record for
/// [`REPEAT_WINDOW`](crate::limits::REPEAT_WINDOW): absence has no version, so a batch in flight that expects the key to
/// be absent could be written after its caller was refused, if the key were absent a second time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UniqueRecord {
    /// The format of this record.
    #[serde(rename = "v")]
    format: Format,
    /// The execution that holds the key, or held it last.
    execution: ExecutionId,
    /// When the key was freed; unset while it is held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    freed_at: Option<Millis>,
}

impl UniqueRecord {
    /// A key that an unfinished execution holds.
    #[must_use]
    pub fn held(execution: ExecutionId) -> Self {
        Self { format: Format, execution, freed_at: None }
    }

    /// A key that is free again.
    #[must_use]
    pub fn freed(execution: ExecutionId, at: Millis) -> Self {
        Self { format: Format, execution, freed_at: Some(at) }
    }

    /// The execution that holds the key; `None` when it is free.
    #[must_use]
    pub fn holder(&self) -> Option<ExecutionId> {
        if self.freed_at.is_none() { Some(self.execution) } else { None }
    }

    /// When the record is removed; `None` while the key is held.
    #[must_use]
    pub fn removed_at(&self) -> Option<Millis> {
        self.freed_at.map(|at| at + limits::REPEAT_WINDOW)
    }
}
