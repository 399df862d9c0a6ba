//! Reads records straight from the store, never through a partition's loop.

use crate::api::waits;
use crate::shared::Shared;
use crate::{Error, binding};
use futures_util::future::join_all;
use onward_core::record::{Execution, Record, StoredPayload};
use onward_core::{ExecutionId, Key, PartitionId, Payload, PayloadSlot, Rejection, codec, limits};
use onward_store::{IndexName, Partitions, Range};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Reads one execution; `None` if it does not exist.
pub(crate) async fn get(shared: &Shared, id: ExecutionId) -> Result<Option<Execution>, Error> {
    execution(id, record(shared, id.partition(), &Key::Execution(id)).await?)
}

/// The execution in a record, as callers see it.
pub(crate) fn execution(id: ExecutionId, record: Option<Record>) -> Result<Option<Execution>, Error> {
    match record {
        None => Ok(None),
        // For callers, an execution that is being removed does not exist.
        Some(Record::Execution(execution)) => {
            Ok(Some(Arc::unwrap_or_clone(execution)).filter(|execution| !execution.is_purging()))
        }
        Some(_) => Err(Rejection::RecordUnreadable { key: id.to_string() }.into()),
    }
}

/// Reads a payload of an execution; `None` if it has none.
pub(crate) async fn payload(
    shared: &Shared,
    execution: &Execution,
    slot: PayloadSlot,
) -> Result<Option<Payload>, Error> {
    let of_signal = match slot {
        PayloadSlot::Signal(signal) => waits::signal(shared, execution, signal).await?.map(|signal| signal.payload),
        PayloadSlot::Input | PayloadSlot::Result => None,
    };
    let held = match slot {
        PayloadSlot::Input => Some(&execution.input),
        PayloadSlot::Result => execution.result.as_ref(),
        PayloadSlot::Signal(_) => of_signal.as_ref(),
    };
    let content_type = match held {
        None => return Ok(None),
        Some(StoredPayload::Json(json)) => return Ok(Some(Payload::Json(json.clone()))),
        Some(StoredPayload::Beside { content_type, .. }) => content_type,
    };
    let key = Key::Payload(execution.id, slot);
    let payload = match record(shared, execution.id.partition(), &key).await? {
        Some(Record::Payload(bytes)) => Payload::bytes(content_type, bytes.0).ok(),
        _ => None,
    };
    payload.map(Some).ok_or_else(|| Rejection::RecordUnreadable { key: key.to_string() }.into())
}

/// Reads one record of any kind; `None` if it does not exist, as is every record of an unknown partition.
pub(crate) async fn record(shared: &Shared, partition: PartitionId, key: &Key) -> Result<Option<Record>, Error> {
    Ok(records(shared, partition, std::slice::from_ref(key)).await?.remove(0))
}

/// Reads several records of one partition, in the order of `keys`.
pub(crate) async fn records(
    shared: &Shared,
    partition: PartitionId,
    keys: &[Key],
) -> Result<Vec<Option<Record>>, Error> {
    if partition.0 >= shared.partitions {
        return Ok(vec![None; keys.len()]);
    }
    let names: Vec<_> = keys.iter().map(binding::store_key).collect();
    let rows = shared.store.load(binding::partition(partition), &names).await?;
    Ok(keys.iter().zip(rows).map(|(key, row)| row.map(|row| codec::decode(key, &row.body))).collect())
}

/// Reads every key of an index that is small enough to be read whole, such as a registry.
pub(crate) async fn keys(shared: &Shared, index: &IndexName) -> Result<Vec<Key>, Error> {
    let (mut keys, mut range) = (Vec::new(), Range::default());
    loop {
        let page = shared.store.scan(index, &Partitions::All, range.clone(), limits::PAGE_MAX).await?;
        keys.extend(page.items.iter().filter_map(|found| found.key.as_str().parse::<Key>().ok()));
        match page.items.last() {
            Some(last) if page.more => range.after = Some((last.rank, last.key.clone())),
            _ => return Ok(keys),
        }
    }
}

/// Loads the executions of these ids in the same order, with one load for each partition, all at once; those that are
/// gone or being removed are left out.
pub(crate) async fn load_all(shared: &Shared, ids: &[ExecutionId]) -> Result<Vec<Execution>, Error> {
    let mut wanted: BTreeMap<PartitionId, Vec<Key>> = BTreeMap::new();
    for id in ids {
        wanted.entry(id.partition()).or_default().push(Key::Execution(*id));
    }
    let mut found: BTreeMap<ExecutionId, Execution> = BTreeMap::new();
    let loads = wanted.iter().map(|(partition, keys)| records(shared, *partition, keys));
    for loaded in join_all(loads).await {
        for record in loaded?.into_iter().flatten() {
            if let Record::Execution(execution) = record
                && !execution.is_purging()
            {
                found.insert(execution.id, Arc::unwrap_or_clone(execution));
            }
        }
    }
    Ok(ids.iter().filter_map(|id| found.remove(id)).collect())
}
