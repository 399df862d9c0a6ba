//! Finding executions: which index serves a filter best, what is filtered while reading, and how far one page looks.

use crate::shared::Shared;
use crate::{Engine, Error, binding, query};
use futures_util::future::join_all;
use onward_core::record::{Execution, PublicState};
use onward_core::{ExecutionId, Key, Kind, Lane, Millis, Namespace, Rejection, Share, TagKey, TagValue, index, limits};
use onward_store::{Count, Direction, IndexName, Partitions, Range};
use std::sync::Arc;

/// The most entries read in one step; the first steps are smaller, since most pages are found among the first entries.
const STEP: usize = 500;
/// Entries that one page looks at before it answers with what it has.
const SCAN_MAX: usize = 20_000;
/// How far the entries of one index are counted.
const COUNT_MAX: u64 = 100_000;

/// Which executions are wanted; what is absent does not matter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FindFilter {
    /// Only in this state.
    pub state: Option<PublicState>,
    /// Only of this lane.
    pub lane: Option<Lane>,
    /// Only of this kind.
    pub kind: Option<Kind>,
    /// Only with this label.
    pub tag: Option<(TagKey, TagValue)>,
    /// Only submitted at this time or later.
    pub created_from: Option<Millis>,
    /// Only submitted before this time.
    pub created_until: Option<Millis>,
}

/// One page of what was found.
#[derive(Debug, Clone)]
pub struct FindPage {
    /// What was found. Waiting work comes in the order in which it is claimed, running and delayed work by what happens
    /// to it first, ended work by its end and everything else by its submission, newest first.
    pub executions: Vec<Execution>,
    /// How many index entries were looked at.
    pub scanned: usize,
    /// Where the next page starts; absent at the end. A page may be short or empty and still have a next one.
    pub next: Option<String>,
}

/// How many executions there are. Counting stops at 100,000 of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// All of them.
    pub total: Count,
    /// Those that wait for a worker.
    pub waiting: Count,
    /// Those that ended, by outcome.
    pub completed: Count,
    /// See above.
    pub failed: Count,
    /// See above.
    pub cancelled: Count,
    /// See above.
    pub expired: Count,
}

impl FindFilter {
    fn lets_through(&self, execution: &Execution) -> bool {
        let created = execution.created_at;
        self.state.is_none_or(|state| state == execution.public_state())
            && self.lane.as_ref().is_none_or(|lane| *lane == execution.lane)
            && self.kind.as_ref().is_none_or(|kind| *kind == execution.kind)
            && self.tag.as_ref().is_none_or(|(key, value)| execution.tags.get(key) == Some(value))
            && self.created_from.is_none_or(|from| from <= created)
            && self.created_until.is_none_or(|until| created < until)
    }
}

/// A place in an index.
type Place = (u64, ExecutionId);

/// The entries that are read for a filter.
enum Way {
    /// Indexes read together in this direction, with these bounds on their rank.
    Indexes(Vec<IndexName>, Range),
    /// The due times from this one on.
    Due(u64),
}

impl Engine {
    /// Executions of a namespace that pass a filter, from a cursor on.
    ///
    /// # Errors
    /// A failure of the store, or a cursor that is none.
    pub async fn find(
        &self,
        namespace: &Namespace,
        filter: &FindFilter,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<FindPage, Error> {
        let mut after = cursor.map(place_of).transpose()?;
        let way = way(&self.shared, namespace, filter).await?;
        let limit = limit.clamp(1, limits::PAGE_MAX);
        let mut page = FindPage { executions: Vec::new(), scanned: 0, next: None };
        let mut size = limit.min(STEP);
        loop {
            let places = step(&self.shared, &way, after, size).await?;
            let ids: Vec<ExecutionId> = places.iter().map(|(_, id)| *id).collect();
            let mut found = query::load_all(&self.shared, &ids).await?.into_iter().peekable();
            for place in &places {
                page.scanned += 1;
                after = Some(*place);
                let execution = found.next_if(|execution| execution.id == place.1);
                let wanted =
                    |execution: &Execution| execution.namespace == *namespace && filter.lets_through(execution);
                page.executions.extend(execution.filter(wanted));
                if page.executions.len() == limit || page.scanned >= SCAN_MAX {
                    page.next = after.as_ref().map(cursor_of);
                    return Ok(page);
                }
            }
            if places.len() < size {
                return Ok(page);
            }
            size = (2 * size).min(STEP);
        }
    }

    /// How many executions a namespace has.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn counts(&self, namespace: &Namespace) -> Result<Counts, Error> {
        let ended = |state: PublicState| {
            let outcome = state.outcome().map(|outcome| index::ended(namespace, outcome.as_str()));
            IndexName::new(outcome.unwrap_or_default())
        };
        let mut waiting = Count { n: 0, capped: false };
        for queue in ready_indexes(&self.shared, namespace, None).await? {
            let count = count(&self.shared, &queue).await?;
            waiting = Count { n: waiting.n + count.n, capped: waiting.capped || count.capped };
        }
        // Together, since each is a walk of its own through an index.
        let (all, completed, failed, cancelled, expired) = (
            IndexName::new(index::list(namespace)),
            ended(PublicState::Completed),
            ended(PublicState::Failed),
            ended(PublicState::Cancelled),
            ended(PublicState::Expired),
        );
        let indexes = [&all, &completed, &failed, &cancelled, &expired];
        let counts = join_all(indexes.map(|index| count(&self.shared, index))).await;
        let counts = counts.into_iter().collect::<Result<Vec<Count>, Error>>()?;
        let [total, completed, failed, cancelled, expired] = counts[..] else {
            return Err(Error::Internal("not every index was counted".into()));
        };
        Ok(Counts { total, waiting, completed, failed, cancelled, expired })
    }
}

async fn count(shared: &Shared, index: &IndexName) -> Result<Count, Error> {
    Ok(shared.store.count(index, &Partitions::All, COUNT_MAX).await?)
}

/// The index that has the fewest entries to look at.
async fn way(shared: &Shared, namespace: &Namespace, filter: &FindFilter) -> Result<Way, Error> {
    let by_creation = Range {
        from: filter.created_from.map(|time| time.0),
        until: filter.created_until.map(|time| time.0),
        direction: Direction::Descending,
        ..Range::default()
    };
    if let Some((key, value)) = &filter.tag {
        let index = index::tag(namespace, key.as_str(), value.as_str());
        return Ok(Way::Indexes(vec![IndexName::new(index)], by_creation));
    }
    match filter.state {
        Some(PublicState::Waiting) => {
            let queues = ready_indexes(shared, namespace, filter.lane.as_ref()).await?;
            Ok(Way::Indexes(queues, Range::default()))
        }
        Some(PublicState::Active | PublicState::Delayed) => Ok(Way::Due(0)),
        Some(ended) => {
            let outcome = ended.outcome().map(|outcome| index::ended(namespace, outcome.as_str()));
            let range = Range { direction: Direction::Descending, ..Range::default() };
            Ok(Way::Indexes(outcome.map(IndexName::new).into_iter().collect(), range))
        }
        None => Ok(Way::Indexes(vec![IndexName::new(index::list(namespace))], by_creation)),
    }
}

/// The ready queues of a namespace, or of one of its lanes.
async fn ready_indexes(shared: &Shared, namespace: &Namespace, lane: Option<&Lane>) -> Result<Vec<IndexName>, Error> {
    let classes = query::classes(shared, namespace).await?.into_iter();
    let wanted = classes.filter(|(found, _)| lane.is_none_or(|lane| lane == found));
    let index = |(lane, class): (Lane, Arc<str>)| index::ready(namespace, &lane, &class, &Share::default());
    Ok(wanted.map(index).map(IndexName::new).collect())
}

/// The next entries behind a place, at most so many.
async fn step(shared: &Shared, way: &Way, after: Option<Place>, size: usize) -> Result<Vec<Place>, Error> {
    let (mut places, descending) = match way {
        Way::Due(from) => (due_step(shared, *from, after, size).await?, false),
        Way::Indexes(indexes, range) => {
            let after = after.map(|(rank, id)| (rank, binding::store_key(&Key::Execution(id))));
            let range = Range { after, ..range.clone() };
            let mut places = Vec::new();
            for index in indexes {
                let page = shared.store.scan(index, &Partitions::All, range.clone(), size).await?;
                places
                    .extend(page.items.iter().filter_map(|found| Some((found.rank, found.key.as_str().parse().ok()?))));
            }
            (places, range.direction == Direction::Descending)
        }
    };
    // Several queues were read from the same place on; together they are one queue.
    places.sort_unstable_by_key(|(rank, id)| (*rank, id.to_string()));
    if descending {
        places.reverse();
    }
    places.truncate(size);
    Ok(places)
}

/// Due times are read from a time on, so those of that very time are read again and left out.
async fn due_step(shared: &Shared, from: u64, after: Option<Place>, size: usize) -> Result<Vec<Place>, Error> {
    let start = after.map_or(from, |(rank, _)| rank);
    let mut limit = 2 * size;
    loop {
        let found = shared.store.due(&Partitions::All, start, index::HOUSEKEEPING, limit).await?;
        let complete = found.len() < limit;
        let behind =
            |place: &Place| after.is_none_or(|(rank, id)| (place.0, place.1.to_string()) > (rank, id.to_string()));
        let places: Vec<Place> = found
            .iter()
            .filter_map(|found| Some((found.rank, found.key.as_str().parse().ok()?)))
            .filter(behind)
            .collect();
        if complete || places.len() >= size {
            return Ok(places);
        }
        limit *= 2;
    }
}

fn cursor_of((rank, id): &Place) -> String {
    format!("{rank}.{id}")
}

fn place_of(cursor: &str) -> Result<Place, Error> {
    let parsed = cursor.split_once('.').and_then(|(rank, id)| Some((rank.parse().ok()?, id.parse().ok()?)));
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
        assert_eq!(place_of(&format!("7.{id}")).unwrap(), (7, id.parse().unwrap()));
        for wrong in ["", ".", "7", &format!("+7.{id}"), &format!("07.{id}"), &format!("7.{id} "), id] {
            assert_eq!(place_of(wrong).unwrap_err().code(), "invalid_argument", "{wrong}");
        }
    }

    #[test]
    fn fuzz_cursors_of_pages_have_one_spelling() {
        let id = "x-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}-[1-9][0-9]{0,3}";
        let valid = (any::<u64>(), id).prop_map(|(rank, id)| format!("{rank}.{id}"));
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
