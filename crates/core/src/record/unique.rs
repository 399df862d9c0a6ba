//! Unique keys, for as long as they are held and a while longer.

use super::{Format, Record, Stored};
use crate::audit::{Beside, Finding, Fix, Verdict};
use crate::{ExecutionId, Key, Millis, limits};
use serde::{Deserialize, Serialize};

/// Which unfinished execution a unique key stands for. A key that is free again keeps its record for
/// [`REPEAT_WINDOW`](crate::limits::REPEAT_WINDOW): absence has no version, so a batch in flight that expects the key to
/// be absent could be written after its caller was refused, if the key were absent a second time.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UniqueRecord {
    /// The format of this record.
    #[serde(rename = "v")]
    format: Format,
    /// The execution that holds the key, or held it last.
    execution: ExecutionId,
    /// When the key was freed; unset while it is held.
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
}

impl Stored for UniqueRecord {
    fn due(&self) -> Option<Millis> {
        self.freed_at.map(|at| at + limits::REPEAT_WINDOW)
    }

    fn is_housekeeping(&self) -> bool {
        true
    }

    fn presumes(&self, _: &Key) -> Vec<Key> {
        self.holder().map(Key::Execution).into_iter().collect()
    }

    fn judge(&self, key: &Key, now: Millis, beside: &Beside) -> Vec<Verdict> {
        let Some(execution) = self.holder() else { return Vec::new() };
        let holds = match beside(&Key::Execution(execution)) {
            Some(Record::Execution(holder)) => !holder.is_finished() && holder.unique().as_ref() == Some(key),
            // Whatever a newer version wrote there may well hold it.
            Some(_) => true,
            None => false,
        };
        if holds {
            return Vec::new();
        }
        let fix = Fix::put(key.clone(), Record::Unique(Self::freed(execution, now)));
        vec![Verdict { finding: Finding::UniqueStale { execution }, fix: Some(fix) }]
    }
}
