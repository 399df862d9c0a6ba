//! The registry of a lane's queues in one partition: which kinds and classes of work have been ready there.

use super::{Format, Stored, formats};
use crate::index::{self, DueKind, Entry};
use crate::{Class, Kind, Millis, Span, limits};
use serde::{Deserialize, Serialize};

/// The queues of a lane in one partition, so that workers know where to look.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaneQueues {
    /// The format of this record.
    #[serde(rename = "v", skip_serializing)]
    pub format: Format,
    /// When a queue was last added. It ranks the registry, so that a process reads what is new and nothing else.
    pub grown_at: Millis,
    /// The queues, in order.
    pub queues: Vec<QueueSeen>,
}

/// A queue that has had work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueSeen {
    /// The kind of its work.
    pub kind: Kind,
    /// What its work requires.
    #[serde(default, skip_serializing_if = "Class::is_empty")]
    pub class: Class,
    /// When it was last seen in use; not written for every use.
    pub used_at: Millis,
}

impl LaneQueues {
    /// A registry with one queue.
    pub(crate) fn of(kind: &Kind, class: &Class, now: Millis) -> Self {
        let queues = vec![QueueSeen { kind: kind.clone(), class: class.clone(), used_at: now }];
        Self { format: Format, grown_at: now, queues }
    }

    /// Whether a queue is known, and lately enough that its use need not be noted again.
    pub(crate) fn knows(&self, kind: &Kind, class: &Class, now: Millis) -> bool {
        self.find(kind, class).is_ok_and(|at| now - self.queues[at].used_at < limits::QUEUE_USE_NOTED)
    }

    /// Whether a queue is listed.
    #[must_use]
    pub fn lists(&self, kind: &Kind, class: &Class) -> bool {
        self.find(kind, class).is_ok()
    }

    /// Notes that a queue is in use.
    pub(crate) fn note(&mut self, kind: &Kind, class: &Class, now: Millis) {
        match self.find(kind, class) {
            Ok(at) => self.queues[at].used_at = now,
            Err(at) => {
                self.queues.insert(at, QueueSeen { kind: kind.clone(), class: class.clone(), used_at: now });
                // Never the same twice, so that a reader can tell that it has grown.
                self.grown_at = now.max(self.grown_at + Span(1));
            }
        }
    }

    /// About how many bytes it takes when it is stored.
    pub(crate) fn bytes(&self) -> usize {
        self.queues.iter().map(|seen| QueueSeen::bytes_of(&seen.kind, &seen.class)).sum()
    }

    fn find(&self, kind: &Kind, class: &Class) -> Result<usize, usize> {
        self.queues.binary_search_by(|seen| (&seen.kind, &seen.class).cmp(&(kind, class)))
    }
}

impl QueueSeen {
    /// About how many bytes a queue takes.
    pub(crate) fn bytes_of(kind: &Kind, class: &Class) -> usize {
        const AROUND: usize = 64;
        const AROUND_CAPABILITY: usize = 3;
        let capabilities = class.capabilities().map(|capability| capability.as_str().len() + AROUND_CAPABILITY);
        AROUND + kind.as_str().len() + capabilities.sum::<usize>()
    }

    /// From when on it is worth looking whether it is empty, so that it can be forgotten.
    #[must_use]
    pub fn stale_at(&self) -> Millis {
        self.used_at + limits::QUEUE_KEPT
    }
}

formats!(struct LaneQueues { format, grown_at, queues });
formats!(struct QueueSeen { kind, class, used_at });

impl Stored for LaneQueues {
    fn bytes(&self) -> usize {
        self.usual_bytes() + Self::bytes(self)
    }

    fn entries(&self) -> Vec<Entry> {
        Entry::single(index::QUEUES, self.grown_at.0)
    }

    fn due(&self) -> Option<Millis> {
        self.queues.iter().map(QueueSeen::stale_at).min()
    }

    fn due_kind(&self) -> DueKind {
        DueKind::Housekeeping
    }
}
