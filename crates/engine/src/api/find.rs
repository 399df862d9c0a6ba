//! Search: picks the index for a filter, applies the rest while scanning, and bounds the entries scanned per page.

use crate::api::query;
use crate::shared::Shared;
use crate::work::board::QueueKey;
use crate::work::ready::Position;
use crate::work::registry;
use crate::{Engine, Error, binding};
use futures_util::future::join_all;
use onward_core::index::DueKind;
use onward_core::record::{Execution, Outcome, PublicState};
use onward_core::{ExecutionId, Key, Kind, Lane, Millis, Namespace, Rejection, TagKey, TagValue, index, limits};
use onward_store::{Count, Direction, IndexName, Partitions, Range};
use std::collections::BTreeSet;

/// Maximum entries read in one step; the first steps are smaller, since most pages are found among the first entries.
const STEP: usize = 500;
/// Entries scanned for one page before it returns with what it has.
const SCAN_MAX: usize = 20_000;
/// Indexes that are read at once.
const AT_ONCE: usize = 64;
/// Limit up to which the entries of one index are counted.
const COUNT_MAX: u64 = 100_000;

/// Which executions to find; an unset field matches everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FindFilter {
    /// Only executions in one of these states; in any when empty.
    pub states: BTreeSet<PublicState>,
    /// Only executions of this lane.
    pub lane: Option<Lane>,
    /// Only executions of this kind.
    pub kind: Option<Kind>,
    /// Only executions with this tag.
    pub tag: Option<(TagKey, TagValue)>,
    /// Only executions submitted at this time or later.
    pub created_from: Option<Millis>,
    /// Only executions submitted before this time.
    pub created_until: Option<Millis>,
}

/// One page of search results.
#[derive(Debug, Clone)]
pub struct FindPage {
    /// Executions found. Waiting work comes in claim order, running work by its next due time, delayed work by the time it waits for,
    /// suspended work by the time since which it waits, ended work
    /// by its end, newest first. Everything else comes by its submission, newest first, also several states of
    /// which not all are ends.
    pub executions: Vec<Execution>,
    /// Index entries scanned, those of other namespaces left out.
    pub scanned: usize,
    /// Cursor of the next page; absent at the end. A page may be short or empty and still have a next one.
    pub next: Option<String>,
}

/// Number of executions in a namespace. Counting stops at 100,000 per index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// All executions.
    pub total: Count,
    /// Executions that are ready and wait for a worker.
    pub waiting: Count,
    /// Executions that wait for a time.
    pub delayed: Count,
    /// Executions that wait for signals or an operator.
    pub suspended: Count,
    /// Executions that a worker runs: all that are in no other state.
    pub active: Count,
    /// Executions that ended with a result.
    pub completed: Count,
    /// Executions that ended by failing.
    pub failed: Count,
    /// Executions that ended by cancellation.
    pub cancelled: Count,
    /// Executions whose deadline passed, or whose last attempt timed out.
    pub expired: Count,
}

impl FindFilter {
    fn lets_through(&self, execution: &Execution) -> bool {
        let created = execution.created_at;
        (self.states.is_empty() || self.states.contains(&execution.public_state()))
            && self.lane.as_ref().is_none_or(|lane| *lane == execution.lane)
            && self.kind.as_ref().is_none_or(|kind| *kind == execution.kind)
            && self.tag.as_ref().is_none_or(|(key, value)| execution.tags.get(key) == Some(value))
            && self.created_from.is_none_or(|from| from <= created)
            && self.created_until.is_none_or(|until| created < until)
    }
}

/// The entries to read for a filter.
enum AccessPath {
    /// Indexes read together, in the direction and rank bounds of the range.
    Indexes(Vec<IndexName>, Range),
    /// The due times of running work, which are those of all namespaces.
    Leases,
}

impl Engine {
    /// Finds executions of a namespace that pass a filter, from a cursor on.
    ///
    /// # Errors
    /// A failure of the store, or an invalid cursor.
    pub async fn find(
        &self,
        namespace: &Namespace,
        filter: &FindFilter,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<FindPage, Error> {
        let started = cursor.map(place_of).transpose()?;
        let path = path(&self.shared, namespace, filter).await?;
        let limit = limit.clamp(1, limits::PAGE_MAX);
        let mut page = FindPage { executions: Vec::new(), scanned: 0, next: None };
        let (mut size, mut passed) = (limit.min(STEP), 0);
        let (mut from, mut resume) = (started, started);
        loop {
            let positions = step(&self.shared, &path, from, size).await?;
            let ids: Vec<ExecutionId> = positions.iter().map(|(_, id)| *id).collect();
            let mut found = query::load_all(&self.shared, &ids).await?.into_iter().peekable();
            for place in &positions {
                passed += 1;
                from = Some(Resume::Behind(*place));
                let execution = found.next_if(|execution| execution.id == place.1);
                // Due times are those of all namespaces; a caller must not learn how many others have.
                let own = execution.filter(|execution| execution.namespace == *namespace);
                let named = own.is_some() || !matches!(path, AccessPath::Leases);
                resume = Resume::past(resume, *place, named);
                page.scanned += usize::from(own.is_some());
                page.executions.extend(own.filter(|execution| filter.lets_through(execution)));
                if page.executions.len() == limit || (passed >= SCAN_MAX && resume != started) {
                    page.next = resume.as_ref().map(cursor_of);
                    return Ok(page);
                }
            }
            if positions.len() < size {
                return Ok(page);
            }
            size = (2 * size).min(STEP);
        }
    }

    /// Counts the executions of a namespace.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn counts(&self, namespace: &Namespace) -> Result<Counts, Error> {
        let ended = |state: PublicState| {
            let outcome = state.outcome().map(|outcome| index::ended(namespace, outcome.as_str()));
            IndexName::new(outcome.unwrap_or_default())
        };
        let mut waiting = Count { n: 0, capped: false };
        let queues = ready_indexes(&self.shared, namespace, None).await?;
        for some in queues.chunks(AT_ONCE) {
            for count in join_all(some.iter().map(|queue| count(&self.shared, queue))).await {
                let count = count?;
                waiting = Count { n: waiting.n + count.n, capped: waiting.capped || count.capped };
            }
        }
        // At the same time, since each count scans an index of its own.
        let (all, delayed, suspended, completed, failed, cancelled, expired) = (
            IndexName::new(index::list(namespace)),
            IndexName::new(index::state(namespace, PublicState::Delayed)),
            IndexName::new(index::state(namespace, PublicState::Suspended)),
            ended(PublicState::Completed),
            ended(PublicState::Failed),
            ended(PublicState::Cancelled),
            ended(PublicState::Expired),
        );
        let indexes = [&all, &delayed, &suspended, &completed, &failed, &cancelled, &expired];
        let counts = join_all(indexes.map(|index| count(&self.shared, index))).await;
        let counts = counts.into_iter().collect::<Result<Vec<Count>, Error>>()?;
        let [total, delayed, suspended, completed, failed, cancelled, expired] = counts[..] else {
            return Err(Error::Internal("not every index was counted".into()));
        };
        // Running work has no index of its own: a claim would have to write to it.
        let others = [waiting, delayed, suspended, completed, failed, cancelled, expired];
        let active = Count {
            n: total.n.saturating_sub(others.iter().map(|count| count.n).sum()),
            capped: total.capped || others.iter().any(|count| count.capped),
        };
        Ok(Counts { total, waiting, delayed, suspended, active, completed, failed, cancelled, expired })
    }
}

async fn count(shared: &Shared, index: &IndexName) -> Result<Count, Error> {
    Ok(shared.store.count(index, &Partitions::All, COUNT_MAX).await?)
}

/// Picks the index with the fewest entries to scan.
async fn path(shared: &Shared, namespace: &Namespace, filter: &FindFilter) -> Result<AccessPath, Error> {
    let by_creation = Range {
        from: filter.created_from.map(|time| time.0),
        until: filter.created_until.map(|time| time.0),
        direction: Direction::Descending,
        ..Range::default()
    };
    if let Some((key, value)) = &filter.tag {
        let index = index::tag(namespace, key.as_str(), value.as_str());
        return Ok(AccessPath::Indexes(vec![IndexName::new(index)], by_creation));
    }
    let states: Vec<PublicState> = filter.states.iter().copied().collect();
    let outcomes: Option<Vec<Outcome>> = states.iter().map(|state| state.outcome()).collect();
    match (&states[..], outcomes) {
        ([PublicState::Waiting], _) => {
            let queues = ready_indexes(shared, namespace, filter.lane.as_ref()).await?;
            Ok(AccessPath::Indexes(queues, Range::default()))
        }
        ([state @ (PublicState::Delayed | PublicState::Suspended)], _) => {
            let index = IndexName::new(index::state(namespace, *state));
            Ok(AccessPath::Indexes(vec![index], Range::default()))
        }
        ([PublicState::Active], _) => Ok(AccessPath::Leases),
        ([_, ..], Some(ends)) => {
            let indexes = ends.into_iter().map(|outcome| IndexName::new(index::ended(namespace, outcome.as_str())));
            let range = Range { direction: Direction::Descending, ..Range::default() };
            Ok(AccessPath::Indexes(indexes.collect(), range))
        }
        _ => Ok(AccessPath::Indexes(vec![IndexName::new(index::list(namespace))], by_creation)),
    }
}

/// The indexes of the ready queues of a namespace, or of one of its lanes.
async fn ready_indexes(shared: &Shared, namespace: &Namespace, lane: Option<&Lane>) -> Result<Vec<IndexName>, Error> {
    registry::read(shared).await?;
    Ok(shared.board.queues_of(namespace, lane).iter().map(QueueKey::index).collect())
}

/// Reads up to `size` entries after a position.
async fn step(shared: &Shared, path: &AccessPath, from: Option<Resume>, size: usize) -> Result<Vec<Position>, Error> {
    let (mut positions, descending) = match path {
        AccessPath::Leases => (lease_step(shared, from, size).await?, false),
        AccessPath::Indexes(indexes, range) => {
            let range = Resume::limit(from, range.clone());
            let descending = range.direction == Direction::Descending;
            let mut positions = Vec::new();
            for some in indexes.chunks(AT_ONCE) {
                let wanted: Vec<_> = some.iter().map(|index| (index.clone(), range.clone())).collect();
                let pages = shared.store.scan_many(&wanted, &Partitions::All, size).await?;
                let found = pages.iter().flat_map(|page| &page.items);
                positions.extend(found.filter_map(|found| Some((found.rank, found.key.as_str().parse().ok()?))));
                first(&mut positions, descending, size);
            }
            (positions, descending)
        }
    };
    first(&mut positions, descending, size);
    Ok(positions)
}

/// Keeps the first of several queues that were read from the same position on; together they are one queue.
fn first(positions: &mut Vec<Position>, descending: bool, size: usize) {
    positions.sort_by_cached_key(|(rank, id)| (*rank, id.name()));
    if descending {
        positions.reverse();
    }
    positions.truncate(size);
}

/// Reads up to `size` due times of running work.
async fn lease_step(shared: &Shared, from: Option<Resume>, size: usize) -> Result<Vec<Position>, Error> {
    let leases = Range::between(DueKind::Lease.first(), DueKind::Housekeeping.first());
    let page = shared.store.due(&Partitions::All, Resume::limit(from, leases), size).await?;
    Ok(page.items.iter().filter_map(|found| Some((found.rank, found.key.as_str().parse().ok()?))).collect())
}

/// Where a page goes on. It names only what is the caller's: between entries of other namespaces it is a bare rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Resume {
    /// Behind an execution.
    Behind(Position),
    /// At this rank, before everything that has it.
    At(u64),
}

impl Resume {
    /// Where to go on after an entry, which may be named or not.
    fn past(before: Option<Self>, place: Position, named: bool) -> Option<Self> {
        let known = match before {
            Some(Self::Behind((rank, _)) | Self::At(rank)) => Some(rank),
            None => None,
        };
        match named {
            true => Some(Self::Behind(place)),
            false if known == Some(place.0) => before,
            false => Some(Self::At(place.0)),
        }
    }

    /// The part of a range that begins here.
    fn limit(from: Option<Self>, range: Range) -> Range {
        match from {
            None => range,
            Some(Self::Behind((rank, id))) => {
                Range { after: Some((rank, binding::store_key(&Key::Execution(id)))), ..range }
            }
            Some(Self::At(rank)) => Range { from: Some(range.from.map_or(rank, |from| from.max(rank))), ..range },
        }
    }
}

fn cursor_of(resume: &Resume) -> String {
    match resume {
        Resume::Behind((rank, id)) => format!("{rank}.{id}"),
        Resume::At(rank) => format!("{rank}."),
    }
}

fn place_of(cursor: &str) -> Result<Resume, Error> {
    let parsed = cursor.split_once('.').and_then(|(rank, id)| {
        let rank = rank.parse().ok()?;
        if id.is_empty() { Some(Resume::At(rank)) } else { Some(Resume::Behind((rank, id.parse().ok()?))) }
    });
    // One spelling only: `+7` is not 7.
    parsed.filter(|place| cursor_of(place) == cursor).ok_or_else(|| {
        let why = format!("{:?} is not where a page ended", cursor.chars().take(80).collect::<String>());
        Rejection::InvalidArgument { field: "cursor", why }.into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use onward_fuzz::proptest::prelude::*;
    use onward_fuzz::{fuzz, near};

    #[test]
    fn a_cursor_is_what_a_page_gave() {
        let id = "x-0192f0c8-0000-7000-8000-000000000001-17";
        let place = Resume::Behind((7, id.parse().unwrap()));
        assert_eq!(place_of(&format!("7.{id}")).unwrap(), place);
        assert_eq!(place_of("7.").unwrap(), Resume::At(7));
        for wrong in ["", ".", "7", &format!("+7.{id}"), &format!("07.{id}"), &format!("7.{id} "), id] {
            assert_eq!(place_of(wrong).unwrap_err().code(), "invalid_argument", "{wrong}");
        }
    }

    #[test]
    fn a_page_goes_on_without_naming_what_is_anothers() {
        let id = |n: u64| format!("x-0192f0c8-0000-7000-8000-{n:012}-17").parse().unwrap();
        let after = |entries: &[(u64, u64, bool)]| {
            entries.iter().fold(None, |before, (rank, n, named)| Resume::past(before, (*rank, id(*n)), *named))
        };
        assert_eq!(after(&[(5, 1, true), (6, 2, false), (7, 3, false)]), Some(Resume::At(7)));
        assert_eq!(after(&[(5, 1, true), (5, 2, false)]), Some(Resume::Behind((5, id(1)))), "nothing is found twice");
        assert_eq!(after(&[(5, 1, false), (5, 2, false)]), Some(Resume::At(5)), "one that went nowhere is not a page");
    }

    #[test]
    fn fuzz_cursors_of_pages_have_one_spelling() {
        let id = "x-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}-[1-9][0-9]{0,3}";
        let valid = (any::<u64>(), onward_fuzz::proptest::option::of(id))
            .prop_map(|(rank, id)| format!("{rank}.{}", id.unwrap_or_default()));
        fuzz(near(valid), |text| match place_of(&text) {
            Ok(place) => {
                prop_assert_eq!(cursor_of(&place), text);
                Ok(true)
            }
            Err(error) => {
                prop_assert!(error.to_string().len() < 1_000, "{error}");
                Ok(false)
            }
        });
    }
}
