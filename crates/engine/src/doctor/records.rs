//! Finds and repairs records that are indexed wrongly, contradict related ones, or cannot be read.

use super::report::Notes;
use super::{TRIES, commit};
use crate::shared::Shared;
use crate::{Error, binding};
use onward_core::audit::{self, Fix, Verdict};
use onward_core::record::Record;
use onward_core::{Key, codec, limits};
use onward_store as store;
use onward_store::{Batch, Partition, Version};
use std::collections::{BTreeMap, BTreeSet};

type Loaded = BTreeMap<Key, Option<(Version, Record)>>;

/// Examines the records of one page. `registries` collects the registries of queues, which many executions share,
/// `masters` the lanes that were changed.
pub(super) async fn examine(
    shared: &Shared,
    notes: &mut Notes,
    rows: &[(Partition, store::Record)],
    registries: &mut Loaded,
    masters: &mut Vec<Key>,
) -> Result<(), Error> {
    let mut records = Vec::with_capacity(rows.len());
    for (partition, row) in rows {
        let Ok(key) = row.key.as_str().parse::<Key>() else {
            let detail = "no version of this program that this one knows has such a record";
            notes.note("key_unknown", row.key.to_string(), detail.to_owned(), false);
            continue;
        };
        let record = codec::decode(&key, &row.body);
        if listed_wrongly(&key, &record, row) {
            let repaired = notes.repair && list_again(shared, *partition, &key).await?;
            let detail = "it is not listed where its contents say".to_owned();
            notes.note("index_differs", key.to_string(), detail, repaired);
        }
        if matches!(key, Key::LaneMaster(..)) {
            masters.push(key.clone());
        }
        records.push((*partition, key, record));
    }
    for (partition, key) in suspects(shared, &records, registries).await? {
        settle(shared, notes, partition, &key).await?;
    }
    Ok(())
}

fn listed_wrongly(key: &Key, record: &Record, row: &store::Record) -> bool {
    if matches!(record, Record::Unreadable(_)) {
        return false;
    }
    let derived = binding::row(row.key.clone(), key, record, row.version);
    derived.entries != row.entries || derived.due != row.due
}

/// Rewrites a record unchanged, with the index entries that follow from its contents.
async fn list_again(shared: &Shared, partition: Partition, key: &Key) -> Result<bool, Error> {
    let name = binding::store_key(key);
    for _ in 0..TRIES {
        let Some(row) = shared.store.load(partition, std::slice::from_ref(&name)).await?.remove(0) else {
            return Ok(true);
        };
        let record = codec::decode(key, &row.body);
        if !listed_wrongly(key, &record, &row) {
            return Ok(true);
        }
        let mut batch = Batch::new(partition, Version(shared.chance.id()));
        batch.expect.push((name.clone(), Some(row.version)));
        // The bytes are kept as they are: they may hold more than this version knows.
        batch.put.push(store::Record { body: row.body, ..binding::row(name.clone(), key, &record, batch.id) });
        if commit(shared, batch).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The records of a page that seem to contradict others. They were read at different times, so it is only a suspicion.
async fn suspects(
    shared: &Shared,
    records: &[(Partition, Key, Record)],
    registries: &mut Loaded,
) -> Result<Vec<(Partition, Key)>, Error> {
    let mut wanted: BTreeMap<Partition, BTreeSet<Key>> = BTreeMap::new();
    for (partition, key, record) in records {
        let presumed = audit::presumes(key, record).into_iter().filter(|key| !registries.contains_key(key));
        wanted.entry(*partition).or_default().extend(presumed);
    }
    let mut found = Loaded::new();
    for (partition, keys) in wanted {
        let keys: Vec<Key> = keys.into_iter().collect();
        for page in keys.chunks(limits::PAGE_MAX) {
            found.append(&mut load(shared, partition, page).await?);
        }
    }
    let (shared_by_many, found): (Loaded, Loaded) =
        found.into_iter().partition(|(key, found)| matches!(key, Key::Queues(..)) && found.is_some());
    registries.extend(shared_by_many);
    let beside = |key: &Key| found.get(key).or_else(|| registries.get(key))?.as_ref().map(|(_, record)| record);
    let suspected =
        records.iter().filter(|(_, key, record)| !audit::judge(key, record, shared.time.now(), beside).is_empty());
    Ok(suspected.map(|(partition, key, _)| (*partition, key.clone())).collect())
}

/// Reads a record and all it must agree with at one moment, notes what is wrong, and repairs it if asked to.
async fn settle(shared: &Shared, notes: &mut Notes, partition: Partition, key: &Key) -> Result<(), Error> {
    let mut presumed = Vec::new();
    let mut repaired: Vec<Verdict> = Vec::new();
    let mut left = Vec::new();
    for _ in 0..TRIES {
        let keys: Vec<Key> = std::iter::once(key.clone()).chain(presumed.iter().cloned()).collect();
        let found = load(shared, partition, &keys).await?;
        let Some(Some((_, record))) = found.get(key) else { break };
        let needed = audit::presumes(key, record);
        if needed.iter().any(|key| !found.contains_key(key)) {
            presumed = needed;
            continue;
        }
        let beside = |key: &Key| found.get(key).and_then(|found| found.as_ref().map(|(_, record)| record));
        left = audit::judge(key, record, shared.time.now(), beside);
        let fixable = left.iter().position(|verdict| verdict.fix.is_some()).filter(|_| notes.repair);
        let Some(at) = fixable else { break };
        if carry_out(shared, partition, &found, &left[at]).await? {
            repaired.push(left.remove(at));
            left.clear();
        }
    }
    for (verdict, repaired) in
        repaired.iter().map(|verdict| (verdict, true)).chain(left.iter().map(|left| (left, false)))
    {
        notes.note(verdict.finding.name(), key.to_string(), verdict.finding.to_string(), repaired);
    }
    Ok(())
}

/// Commits one repair, if everything it was judged by is unchanged.
async fn carry_out(shared: &Shared, partition: Partition, found: &Loaded, verdict: &Verdict) -> Result<bool, Error> {
    let mut batch = Batch::new(partition, Version(shared.chance.id()));
    for (key, found) in found {
        batch.expect.push((binding::store_key(key), found.as_ref().map(|(version, _)| *version)));
    }
    match &verdict.fix {
        Some(Fix::Put(key, record)) => batch.put.push(binding::row(binding::store_key(key), key, record, batch.id)),
        Some(Fix::Delete(key)) => batch.delete.push(binding::store_key(key)),
        None => return Ok(false),
    }
    commit(shared, batch).await
}

/// Reads records of one partition with their versions, at one moment.
async fn load(shared: &Shared, partition: Partition, keys: &[Key]) -> Result<Loaded, Error> {
    let names: Vec<_> = keys.iter().map(binding::store_key).collect();
    let rows = shared.store.load(partition, &names).await?;
    let decoded = |key: &Key, row: store::Record| (row.version, codec::decode(key, &row.body));
    Ok(keys.iter().zip(rows).map(|(key, row)| (key.clone(), row.map(|row| decoded(key, row)))).collect())
}
