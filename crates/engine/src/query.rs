//! Reads, straight from the store and never through a partition's loop.

use crate::shared::Shared;
use crate::{Error, binding};
use onward_core::record::{Execution, Held, Record};
use onward_core::{ExecutionId, Key, Namespace, Payload, PayloadSlot, Rejection, codec, index, limits};
use onward_store::{Direction, IndexName, Partitions, Range};

/// One page of executions, newest first.
#[derive(Debug, Clone)]
pub struct Listing {
    /// What was found.
    pub executions: Vec<Execution>,
    /// Where the next page starts; absent at the end.
    pub next: Option<ListCursor>,
}

/// A place in a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListCursor {
    /// The rank of the last item.
    pub rank: u64,
    /// The last item.
    pub id: ExecutionId,
}

/// One execution, or nothing when it does not exist.
pub(crate) async fn get(shared: &Shared, id: ExecutionId) -> Result<Option<Execution>, Error> {
    match record(shared, id, &Key::Execution(id)).await? {
        None => Ok(None),
        Some(Record::Execution(execution)) => Ok(Some(execution)),
        Some(_) => Err(Rejection::RecordUnreadable { key: id.to_string() }.into()),
    }
}

/// A payload of an execution; nothing when it has none.
pub(crate) async fn payload(
    shared: &Shared,
    execution: &Execution,
    slot: PayloadSlot,
) -> Result<Option<Payload>, Error> {
    let held = match slot {
        PayloadSlot::Input => Some(&execution.input),
        PayloadSlot::Result => execution.result.as_ref(),
    };
    let content_type = match held {
        None => return Ok(None),
        Some(Held::Json(json)) => return Ok(Some(Payload::Json(json.clone()))),
        Some(Held::Beside { content_type, .. }) => content_type,
    };
    let key = Key::Payload(execution.id, slot);
    let payload = match record(shared, execution.id, &key).await? {
        Some(Record::Payload(bytes)) => Payload::bytes(content_type, bytes).ok(),
        _ => None,
    };
    payload.map(Some).ok_or_else(|| Rejection::RecordUnreadable { key: key.to_string() }.into())
}

async fn record(shared: &Shared, id: ExecutionId, key: &Key) -> Result<Option<Record>, Error> {
    if id.partition().0 >= shared.partitions {
        return Ok(None);
    }
    let partition = binding::partition(id.partition());
    let rows = shared.store.load(partition, &[binding::store_key(key)]).await?;
    Ok(rows.into_iter().next().flatten().map(|row| codec::decode(key, &row.body)))
}

/// Executions of a namespace, newest first.
pub(crate) async fn list(
    shared: &Shared,
    namespace: &Namespace,
    after: Option<ListCursor>,
    limit: usize,
) -> Result<Listing, Error> {
    let range = Range {
        after: after.map(|cursor| (cursor.rank, binding::store_key(&Key::Execution(cursor.id)))),
        direction: Direction::Descending,
        ..Range::default()
    };
    let limit = limit.clamp(1, limits::PAGE_MAX);
    let index = IndexName::new(index::list(namespace));
    let page = shared.store.scan(&index, &Partitions::All, range, limit).await?;
    let mut executions = Vec::with_capacity(page.items.len());
    let mut next = None;
    for found in &page.items {
        let Ok(id) = found.key.as_str().parse::<ExecutionId>() else { continue };
        next = Some(ListCursor { rank: found.rank, id });
        executions.extend(get(shared, id).await?);
    }
    Ok(Listing { executions, next: next.filter(|_| page.more) })
}
