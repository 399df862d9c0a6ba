//! Unique keys, for as long as they are held and a while longer.

use super::{Format, Record, Stored, formats};
use crate::audit::{Beside, Finding, Fix, Verdict};
use crate::index::DueKind;
use crate::{Asked, CommandId, ExecutionId, Key, Millis, limits};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Which unfinished execution a unique key stands for. A key that is free again keeps its record for
/// [`REPEAT_WINDOW`](crate::limits::REPEAT_WINDOW): absence has no version, so a batch in flight that expects the key to
/// be absent could be written after its caller was refused, if the key were absent a second time.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UniqueRecord {
    /// The format of this record.
    #[serde(rename = "v", skip_serializing)]
    format: Format,
    /// The execution that holds the key, or held it last.
    execution: ExecutionId,
    /// When the key was freed; unset while it is held.
    freed_at: Option<Millis>,
    /// The newest calls that named themselves and made an execution under the key, oldest first.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    calls: VecDeque<NamedCall>,
}

/// A call that named itself and made an execution under a unique key. A repeat of it gets the same answer, also when the
/// key stands for another execution by then.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedCall {
    /// The call.
    pub call: CommandId,
    /// What it asked for.
    pub asked: Asked,
    /// What it made.
    pub execution: ExecutionId,
    /// When that ended.
    ended_at: Option<Millis>,
}

impl UniqueRecord {
    /// A key that an unfinished execution holds.
    #[must_use]
    pub fn held(execution: ExecutionId) -> Self {
        Self { format: Format, execution, freed_at: None, calls: VecDeque::new() }
    }

    /// A key that is free again.
    #[must_use]
    pub fn freed(execution: ExecutionId, at: Millis) -> Self {
        Self { freed_at: Some(at), ..Self::held(execution) }
    }

    /// The key, held by an execution that this call made, or by one that is run again.
    pub(crate) fn hold(&mut self, execution: ExecutionId, call: Option<(CommandId, Asked)>, now: Millis) {
        (self.execution, self.freed_at) = (execution, None);
        self.calls.iter_mut().filter(|known| known.execution == execution).for_each(|known| known.ended_at = None);
        self.calls.retain(|known| known.ended_at.is_none_or(|at| now < at + limits::REPEAT_WINDOW));
        if let Some((call, asked)) = call {
            self.calls.push_back(NamedCall { call, asked, execution, ended_at: None });
        }
        while self.calls.len() > limits::NAMED_CALLS_MAX {
            self.calls.pop_front();
        }
    }

    /// The key, free again.
    pub(crate) fn free(&mut self, at: Millis) {
        self.freed_at = Some(at);
        let execution = self.execution;
        self.calls.iter_mut().filter(|known| known.execution == execution).for_each(|known| known.ended_at = Some(at));
    }

    /// What a call made that named itself, and until when it is remembered.
    #[must_use]
    pub fn call(&self, call: CommandId) -> Option<(&NamedCall, Option<Millis>)> {
        let known = self.calls.iter().find(|known| known.call == call)?;
        Some((known, known.ended_at.map(|at| at + limits::REPEAT_WINDOW)))
    }

    /// The execution that holds the key; `None` when it is free.
    #[must_use]
    pub fn holder(&self) -> Option<ExecutionId> {
        if self.freed_at.is_none() { Some(self.execution) } else { None }
    }
}

formats!(struct UniqueRecord { format, execution, freed_at, calls });
formats!(struct NamedCall { call, asked, execution, ended_at });

impl Stored for UniqueRecord {
    fn bytes(&self) -> usize {
        self.usual_bytes() + 320 * self.calls.len()
    }

    fn due(&self) -> Option<Millis> {
        self.freed_at.map(|at| at + limits::REPEAT_WINDOW)
    }

    fn due_kind(&self) -> DueKind {
        DueKind::Housekeeping
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
        let mut freed = self.clone();
        freed.free(now);
        let fix = Fix::put(key.clone(), Record::Unique(freed));
        vec![Verdict { finding: Finding::UniqueStale { execution }, fix: Some(fix) }]
    }
}
