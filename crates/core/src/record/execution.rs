//! A unit of work with a stable id: what it is, where it stands, and what it went through.

use super::{
    Active, EndedAttempt, Finished, Format, Held, LaneQueues, Next, Operated, PayloadSlot, PublicState, Purging,
    Readiness, Record, State, Stored, Transition, UniqueRecord, Waiting, Waits, format, formats, is_default,
};
use crate::audit::{Beside, Finding, Fix, Verdict};
use crate::index::{self, DueKind, Entry};
use crate::rules::times::Moment;
use crate::{
    Arrival, Class, CommandId, ExecutionId, Failure, IdempotencyKey, Json, Key, Kind, Lane, Millis, Namespace, Policy,
    Reason, Submit, TagKey, TagValue, TraceContext, UniqueKey,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// One execution. The first group of fields never changes.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Execution {
    /// The format of this record.
    #[serde(rename = "v", skip_serializing)]
    pub format: Format,
    /// Its stable name.
    pub id: ExecutionId,
    /// Whose it is.
    pub namespace: Namespace,
    /// Where it queues.
    pub lane: Lane,
    /// Which handler runs it.
    pub kind: Kind,
    /// Which capabilities it requires.
    #[serde(default, skip_serializing_if = "Class::is_empty")]
    pub requires: Class,
    /// Higher runs first.
    #[serde(default, skip_serializing_if = "is_default")]
    pub priority: u16,
    /// What it works on.
    pub input: StoredPayload,
    /// What its submitter decided beforehand.
    #[serde(default, skip_serializing_if = "Policy::is_default")]
    pub policy: Policy,
    /// The key it was submitted under.
    pub idempotency_key: Option<IdempotencyKey>,
    /// The key that stands for it, and for no other, until it ends.
    pub unique_key: Option<UniqueKey>,
    /// When it was submitted.
    pub created_at: Millis,
    /// The call that submitted it.
    pub created_by: CommandId,
    /// The trace from which it was submitted.
    pub trace: Option<TraceContext>,

    /// When it expires, wherever it stands then.
    pub deadline: Option<Millis>,
    /// Labels for finding it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<TagKey, TagValue>,
    /// Where it stands.
    pub state: State,
    /// Whether an operator holds it, or it is held for one. What it waits for goes on underneath.
    pub held: Option<Held>,
    /// When it last changed; the rules never go back behind it.
    pub changed_at: Millis,
    /// Its place among what arrived within one millisecond.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sequence: u8,
    /// When it arrived, or was first due: with the priority, its place in the queue for life.
    pub place: Option<Arrival>,
    /// When it was first claimed.
    pub started_at: Option<Millis>,
    /// How many attempts were ever made.
    #[serde(default, skip_serializing_if = "is_default")]
    pub attempts: u32,
    /// How many failures were followed by another attempt, since it was last replayed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub retries: u32,
    /// How many lost leases were followed by another attempt, since it was last replayed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub reclaims: u32,
    /// How many of them in a row, without an attempt that ended by itself.
    #[serde(default, skip_serializing_if = "is_default")]
    pub reclaims_in_a_row: u32,
    /// How often it was run again after it had ended.
    #[serde(default, skip_serializing_if = "is_default")]
    pub replays: u32,
    /// How often it started afresh: what a life waited for is not what the one before it did.
    #[serde(default, skip_serializing_if = "is_default")]
    pub life: u32,
    /// Its waits and signals, once it has had one.
    pub waits: Option<Box<Waits>>,
    /// The epoch of the newest lease; 0 before the first.
    #[serde(default, skip_serializing_if = "is_default")]
    pub epoch: u64,
    /// The newest attempt that has ended; it becomes a record of its own when another one starts.
    #[serde(serialize_with = "format::stamped")]
    pub last: Option<EndedAttempt>,
    /// What it ended with.
    pub result: Option<StoredPayload>,
    /// How far its newest attempt says it is.
    pub progress: Option<Progress>,
    /// What an operator wrote on it.
    pub note: Option<Arc<str>>,
    /// The newest calls of operators, oldest first.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    pub operated: VecDeque<Operated>,
    /// How many full pages of its history stand beside it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub pages: u32,
    /// What happened since, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<Transition>,
}

/// Progress of an attempt, as its worker reported it.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Progress {
    /// Percentage, from 0 to 100.
    pub percent: Option<u8>,
    /// Message for people.
    #[serde(default, skip_serializing_if = "Reason::is_empty")]
    pub message: Reason,
    /// Time of the report.
    pub at: Millis,
}

/// A payload as an execution stores it: small JSON inline, anything else in a record of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoredPayload {
    /// Inline.
    Json(Json),
    /// In a payload record beside the execution.
    Beside {
        /// Content type of the bytes.
        content_type: Arc<str>,
        /// Number of bytes.
        bytes: u64,
    },
}

formats!(struct Execution {
    format, id, namespace, lane, kind, requires, priority, input, policy, idempotency_key, unique_key, created_at,
    created_by, trace, deadline, tags, state, held = 2, changed_at, sequence, place, started_at, attempts, retries,
    reclaims, reclaims_in_a_row, replays, life = 2, waits = 2, epoch, last, result, progress, note, operated, pages, history,
});
formats!(struct Progress { percent, message, at });
impl StoredPayload {
    /// Whether it is a record of its own.
    #[must_use]
    pub fn is_beside(&self) -> bool {
        matches!(self, Self::Beside { .. })
    }
}

formats!(enum StoredPayload { Json(inline), Beside { content_type, bytes } });

impl Stored for Arc<Execution> {
    fn usual_bytes(&self) -> usize {
        1_280
    }

    fn bytes(&self) -> usize {
        let inline =
            |stored: &StoredPayload| if let StoredPayload::Json(json) = stored { json.as_str().len() } else { 64 };
        let class: usize = self.requires.capabilities().map(|one| one.as_str().len() + 3).sum();
        let payloads = inline(&self.input) + self.result.as_ref().map_or(0, inline);
        let details = self.last.as_ref().and_then(|last| last.details.as_ref()).map_or(0, |json| json.as_str().len());
        self.usual_bytes()
            + class
            + payloads
            + details
            + self.waits.as_ref().map_or(0, |waits| waits.bytes())
            + self.suspension_bytes()
            + 192 * self.history.len()
            + 96 * (self.operated.len() + self.tags.len())
    }

    fn places(&self) -> usize {
        // Its due time, the list of its namespace, and that of its state.
        if self.is_purging() { 1 } else { 3 + self.tags.len() }
    }

    fn entries(&self) -> Vec<Entry> {
        // An execution that is being removed is not listed.
        if self.is_purging() {
            return Vec::new();
        }
        let (namespace, created) = (&self.namespace, self.created_at.0);
        let mut entries = Entry::single(index::list(namespace), created);
        match &self.state {
            State::Waiting(waiting) if self.held.is_some() || matches!(waiting.readiness, Readiness::Suspended(_)) => {
                let since = self.suspended_since(&waiting.readiness);
                entries.push(Entry { name: index::state(namespace, PublicState::Suspended), rank: since.0 });
            }
            State::Waiting(Waiting { readiness: Readiness::Ready { .. }, .. }) => {
                let name = index::ready(namespace, &self.lane, &self.requires, &self.kind);
                entries.push(Entry { name, rank: self.ready_rank() });
            }
            State::Finished(finished) => {
                entries.push(Entry { name: index::ended(namespace, finished.outcome.as_str()), rank: finished.at.0 });
            }
            State::Waiting(Waiting { readiness: Readiness::Delayed { until, .. }, .. }) => {
                entries.push(Entry { name: index::state(namespace, PublicState::Delayed), rank: until.0 });
            }
            State::Active(_) | State::Waiting(Waiting { readiness: Readiness::Suspended(_), .. }) => {}
        }
        let tag = |(key, value): (&TagKey, &TagValue)| index::tag(namespace, key.as_str(), value.as_str());
        entries.extend(self.tags.iter().map(|both| Entry { name: tag(both), rank: created }));
        entries
    }

    fn due(&self) -> Option<Millis> {
        Execution::due(self)
    }

    fn due_kind(&self) -> DueKind {
        match self.state {
            State::Waiting(_) => DueKind::Timer,
            State::Active(_) => DueKind::Lease,
            State::Finished(_) => DueKind::Housekeeping,
        }
    }

    fn presumes(&self, _: &Key) -> Vec<Key> {
        if self.is_purging() {
            return Vec::new();
        }
        let mut keys = self.parts();
        if !self.is_finished() {
            keys.extend(self.queues());
            keys.extend(self.unique());
        }
        keys
    }

    fn judge(&self, _: &Key, now: Millis, beside: &Beside) -> Vec<Verdict> {
        if self.is_purging() {
            return Vec::new();
        }
        let missing = self.parts().into_iter().filter(|part| beside(part).is_none());
        let mut verdicts: Vec<Verdict> =
            missing.map(|part| Verdict { finding: Finding::PartMissing { part }, fix: None }).collect();
        if !self.is_finished() {
            verdicts.extend(self.judge_queue(now, beside));
            verdicts.extend(self.judge_unique(now, beside));
        }
        verdicts
    }
}

impl Execution {
    fn judge_queue(&self, now: Millis, beside: &Beside) -> Option<Verdict> {
        let queues = self.queues()?;
        let registry = match beside(&queues) {
            None => LaneQueues::of(&self.kind, &self.requires, now),
            Some(Record::Queues(registry)) if registry.lists(&self.kind, &self.requires) => return None,
            Some(Record::Queues(registry)) => {
                let mut registry = registry.clone();
                registry.note(&self.kind, &self.requires, now);
                registry
            }
            // What cannot be read is reported as such.
            Some(_) => return None,
        };
        let fix = Some(Fix::put(queues.clone(), Record::Queues(registry)));
        Some(Verdict { finding: Finding::QueueMissing { queues }, fix })
    }

    fn judge_unique(&self, now: Millis, beside: &Beside) -> Option<Verdict> {
        let unique = self.unique()?;
        let mut record = match beside(&unique) {
            None => UniqueRecord::freed(self.id, now),
            Some(Record::Unique(record)) => record.clone(),
            // What cannot be read is reported as such.
            Some(_) => return None,
        };
        match record.holder() {
            None => {
                record.hold(self.id, None, now);
                let fix = Some(Fix::put(unique.clone(), Record::Unique(record)));
                Some(Verdict { finding: Finding::UniqueMissing { unique }, fix })
            }
            Some(by) if by != self.id => Some(Verdict { finding: Finding::UniqueTaken { by }, fix: None }),
            Some(_) => None,
        }
    }

    /// The records that belong to it: ended attempts, pages of its history, payloads.
    pub(crate) fn parts(&self) -> Vec<Key> {
        let attempts = (1..self.attempts).map(|number| Key::Attempt(self.id, number));
        let pages = (0..self.pages).map(|page| Key::History(self.id, page));
        let payloads = [(Some(&self.input), PayloadSlot::Input), (self.result.as_ref(), PayloadSlot::Result)];
        let payloads = payloads.into_iter().filter(|(stored, _)| stored.is_some_and(StoredPayload::is_beside));
        attempts.chain(pages).chain(payloads.map(|(_, slot)| Key::Payload(self.id, slot))).collect()
    }

    /// How many records belong to it beside [`Execution::parts`]: signals with their payloads, and waits that are over.
    pub(crate) fn uncounted_parts(&self) -> u32 {
        self.waits.as_ref().map_or(0, |waits| waits.records())
    }

    /// Whether a worker may claim it.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.held.is_none() && matches!(self.state, State::Waiting(Waiting { readiness: Readiness::Ready { .. }, .. }))
    }

    /// Since when users see it as suspended, if they do.
    fn suspended_since(&self, readiness: &Readiness) -> Millis {
        match (readiness, &self.held) {
            (Readiness::Suspended(suspension), _) => suspension.since,
            (_, held) => held.as_ref().map_or(self.changed_at, |held| held.at),
        }
    }

    fn suspension_bytes(&self) -> usize {
        match &self.state {
            State::Waiting(Waiting { readiness, next }) => {
                let suspension = if let Readiness::Suspended(suspension) = readiness { suspension.bytes() } else { 0 };
                let paused = next.paused().and_then(|paused| paused.attempt.woke.as_ref());
                suspension + paused.map_or(0, |woke| woke.bytes())
            }
            State::Active(active) => active.attempt.woke.as_ref().map_or(0, |woke| woke.bytes()),
            State::Finished(_) => 0,
        }
    }

    /// The registry that lists the queue that it waits in, while it is ready.
    fn queues(&self) -> Option<Key> {
        self.is_ready().then(|| Key::Queues(self.namespace.clone(), self.lane.clone(), self.id.partition()))
    }

    /// The record of its unique key.
    pub(crate) fn unique(&self) -> Option<Key> {
        self.unique_key.as_ref().map(|key| Key::Unique(self.namespace.clone(), key.clone()))
    }

    /// Whether it has ended.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        matches!(self.state, State::Finished(_))
    }

    /// A new execution that is ready now; its policy and its deadline are the rule's to decide.
    pub(crate) fn new(submit: &Submit, input: StoredPayload, now: Millis) -> Self {
        let new = &*submit.new;
        Self {
            format: Format,
            id: submit.id,
            namespace: new.namespace.clone(),
            lane: new.lane.clone(),
            kind: new.kind.clone(),
            requires: new.requires.clone(),
            priority: new.priority,
            input,
            policy: Policy::default(),
            idempotency_key: new.idempotency_key.clone(),
            unique_key: new.unique_key.clone(),
            created_at: now,
            created_by: submit.command,
            trace: new.trace,
            deadline: None,
            tags: new.tags.clone(),
            state: State::Waiting(Waiting { readiness: Readiness::Ready { since: now }, next: Next::Initial }),
            held: None,
            changed_at: now,
            sequence: submit.arrived.sequence(),
            place: None,
            started_at: None,
            attempts: 0,
            retries: 0,
            reclaims: 0,
            reclaims_in_a_row: 0,
            replays: 0,
            life: 0,
            waits: None,
            epoch: 0,
            last: None,
            result: None,
            progress: None,
            note: None,
            operated: VecDeque::new(),
            pages: 0,
            history: Vec::new(),
        }
    }

    /// Why it ended, if it failed or expired, or else why its last attempt failed; with the details, which stay with the
    /// attempt.
    #[must_use]
    pub fn failure(&self) -> Option<Failure> {
        let last = self.last.as_ref().and_then(EndedAttempt::failure);
        let State::Finished(finished) = &self.state else { return last };
        let finished = finished.failure.as_ref()?;
        Some(last.filter(|last| last.in_short() == *finished).unwrap_or_else(|| finished.clone()))
    }

    /// What users see.
    #[must_use]
    pub fn public_state(&self) -> PublicState {
        match &self.state {
            State::Waiting(_) if self.held.is_some() => PublicState::Suspended,
            state => state.public(),
        }
    }

    /// The earliest time at which somebody must look at it.
    #[must_use]
    pub fn due(&self) -> Option<Millis> {
        match &self.state {
            State::Finished(Finished { purging: Some(Purging { until }), .. }) => Some(*until),
            State::Finished(finished) => Some(finished.at + self.policy.retention()),
            State::Waiting(waiting) => {
                let time = match &waiting.readiness {
                    Readiness::Ready { .. } => None,
                    Readiness::Delayed { until, .. } => Some(*until),
                    Readiness::Suspended(suspension) => suspension.due(),
                };
                time.into_iter().chain(self.deadline).min()
            }
            State::Active(active) => {
                let stop = active.stop.as_ref().map(|stop| stop.until);
                Some(stop.map_or(self.alive_until(active), |stop| stop.min(self.alive_until(active))))
            }
        }
    }

    /// When time ends a running attempt: by its lease, its timeout or the execution's deadline.
    #[must_use]
    pub fn alive_until(&self, active: &Active) -> Millis {
        self.acts_until(active).map_or(active.lease.expires_at, |until| until.min(active.lease.expires_at))
    }

    /// The end of the time in which a running attempt may act: its timeout or the execution's deadline. An expired
    /// lease ends it once that is committed: before that, no other worker can have the work.
    #[must_use]
    pub fn acts_until(&self, active: &Active) -> Option<Millis> {
        self.times_out_at(active).into_iter().chain(self.deadline).min()
    }

    /// When a running attempt has run for too long.
    #[must_use]
    pub fn times_out_at(&self, active: &Active) -> Option<Millis> {
        self.policy.attempt_timeout.map(|timeout| active.attempt.times_out_at(timeout))
    }

    /// The time to write down for something that happens now: the record's own time never goes back. What time decides
    /// is decided by the clock itself, lest one clock that ran ahead once ends leases that live.
    pub(crate) fn stamp(&self, now: Millis) -> Millis {
        now.max(self.changed_at)
    }

    /// A change that happens now.
    pub(crate) fn moment(&self, now: Millis) -> Moment {
        Moment { now, stamp: self.stamp(now) }
    }

    /// Whether it is being removed, so that nothing more can be done with it.
    #[must_use]
    pub fn is_purging(&self) -> bool {
        matches!(self.state, State::Finished(Finished { purging: Some(_), .. }))
    }

    /// The bits of a ready rank below its urgency, which hold its place.
    pub const URGENCY_SHIFT: u32 = Arrival::BITS;

    /// The rank of its ready entry: higher priority first, then who arrived first.
    #[must_use]
    pub fn ready_rank(&self) -> u64 {
        let urgency = u64::from(crate::limits::PRIORITY_MAX.saturating_sub(self.priority));
        let place = self.place.unwrap_or_else(|| Arrival::at(self.created_at, self.sequence));
        (urgency << Self::URGENCY_SHIFT) | place.bits()
    }

    /// How urgent an execution is that is ready at this rank; less is more urgent.
    #[must_use]
    pub fn ready_urgency(rank: u64) -> u64 {
        rank >> Self::URGENCY_SHIFT
    }

    /// Since when an execution is ready that stands at this rank.
    #[must_use]
    pub fn ready_since(rank: u64) -> Millis {
        Arrival::of_bits(rank).time()
    }
}
