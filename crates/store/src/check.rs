//! Which batches break the contract: every store refuses the same ones, before it looks at what it holds.

use crate::limits::{BATCH_BYTES_MAX, BATCH_ROWS_MAX, ENTRIES_MAX, KEYS_MAX, SEQ_MAX};
use crate::{Batch, Error, ErrorKind, IndexPlace, Key, Partition, Record, Result, Trim};

/// A batch that keeps the contract, with the place of each written key among its expectations.
#[derive(Debug)]
#[cfg_attr(not(any(feature = "sqlite", feature = "postgres")), allow(dead_code))] // The reference store looks its records up by key.
pub(crate) struct Plan {
    pub(crate) batch: Batch,
    /// For each record to put, the index of its key in `expect`.
    pub(crate) put_at: Vec<usize>,
    /// For each key to delete, the index of it in `expect`.
    pub(crate) delete_at: Vec<usize>,
    /// Payload bytes, to bound what a group writes at once.
    pub(crate) bytes: usize,
}

impl Plan {
    /// How much there is to write, in records.
    #[cfg(any(feature = "postgres", feature = "valkey"))]
    pub(crate) fn writes(&self) -> usize {
        (self.batch.put.len() + self.batch.delete.len()).max(1)
    }
}

/// Checks a whole group; one bad batch refuses the call, so that nothing of it is written.
pub(crate) fn plan_all(group: Vec<Batch>, partitions: u16) -> Result<Vec<Plan>> {
    group.into_iter().map(|batch| plan(batch, partitions)).collect()
}

/// Whether a partition exists.
pub(crate) fn partition_exists(partition: Partition, partitions: u16) -> Result<()> {
    if partition.0 < partitions {
        return Ok(());
    }
    Err(invalid(format!("partition {partition} does not exist: this store has partitions 0 to {}", partitions - 1)))
}

/// Whether a load asks for a bounded number of keys in a partition that exists.
pub(crate) fn load(partition: Partition, keys: &[Key], partitions: u16) -> Result<()> {
    partition_exists(partition, partitions)?;
    if keys.len() > KEYS_MAX {
        return Err(invalid(format!("a load of {} keys is over the limit of {KEYS_MAX}: ask in pages", keys.len())));
    }
    Ok(())
}

/// The refusal for a key that lives in another partition than the one asked.
pub(crate) fn elsewhere(key: &Key, asked: Partition, found: Partition) -> Error {
    invalid(format!("key {key} lives in partition {found}, not {asked}: a key belongs to one partition for ever"))
}

/// The answer of a store that was closed.
pub(crate) fn closed() -> Error {
    Error::new(ErrorKind::Closed, "the store is closed: open it again to go on").unwritten()
}

/// The refusal for a cursor that another store made.
pub(crate) fn foreign_cursor(text: &str) -> Error {
    invalid(format!("cursor {text:?} was not made by this store: start from the beginning or from a cursor it gave"))
}

/// The refusal for an audit cursor that another store made.
pub(crate) fn foreign_audit_cursor(text: &str) -> Error {
    invalid(format!("{text:?} is no cursor of an audit of this store: start from the beginning"))
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::Invalid, message).unwritten()
}

fn plan(batch: Batch, partitions: u16) -> Result<Plan> {
    partition_exists(batch.partition, partitions)?;
    let bytes = sizes(&batch)?;
    let expected = Expected::new(&batch.expect)?;
    let mut put_at = Vec::with_capacity(batch.put.len());
    for record in &batch.put {
        put_at.push(expected.place(&record.key, "puts")?);
        put(record, &batch)?;
    }
    let mut delete_at = Vec::with_capacity(batch.delete.len());
    for key in &batch.delete {
        delete_at.push(expected.place(key, "deletes")?);
    }
    once(&put_at, &delete_at, &batch)?;
    logs(&batch, &expected, &put_at, &delete_at)?;
    Ok(Plan { batch, put_at, delete_at, bytes })
}

/// The expectations in key order, for lookups.
struct Expected<'a> {
    expect: &'a [(Key, Option<crate::Version>)],
    order: Vec<usize>,
}

impl<'a> Expected<'a> {
    fn new(expect: &'a [(Key, Option<crate::Version>)]) -> Result<Self> {
        let mut order: Vec<usize> = (0..expect.len()).collect();
        order.sort_unstable_by(|&a, &b| expect[a].0.cmp(&expect[b].0));
        for pair in order.windows(2) {
            if expect[pair[0]].0 == expect[pair[1]].0 {
                return Err(invalid(format!("key {} is expected twice in one batch", expect[pair[0]].0)));
            }
        }
        if let Some((key, _)) = expect.iter().find(|(key, _)| !key.is_valid()) {
            return Err(invalid(format!("key {key:?} is not 1 to 200 bytes without control characters")));
        }
        Ok(Self { expect, order })
    }

    fn find(&self, key: &Key) -> Option<usize> {
        let place = self.order.binary_search_by(|&at| self.expect[at].0.cmp(key)).ok()?;
        Some(self.order[place])
    }

    fn place(&self, key: &Key, verb: &str) -> Result<usize> {
        let missing = || invalid(format!("the batch {verb} key {key} without expecting a version of it"));
        self.find(key).ok_or_else(missing)
    }
}

fn put(record: &Record, batch: &Batch) -> Result<()> {
    let key = &record.key;
    if record.version != batch.id {
        return Err(invalid(format!("record {key} carries a version that is not the id of its batch")));
    }
    if record.entries.len() > ENTRIES_MAX {
        let count = record.entries.len();
        return Err(invalid(format!("record {key} has {count} index entries, the limit is {ENTRIES_MAX}")));
    }
    for (at, entry) in record.entries.iter().enumerate() {
        if !entry.name.is_valid() {
            return Err(invalid(format!("index name {:?} of record {key} is not 1 to 200 plain bytes", entry.name)));
        }
        if record.entries[..at].iter().any(|earlier| earlier.name == entry.name) {
            return Err(invalid(format!("record {key} is listed twice in index {}", entry.name)));
        }
    }
    Ok(())
}

/// Each key is put or deleted at most once.
fn once(put_at: &[usize], delete_at: &[usize], batch: &Batch) -> Result<()> {
    let mut written: Vec<usize> = put_at.iter().chain(delete_at).copied().collect();
    written.sort_unstable();
    match written.windows(2).find(|pair| pair[0] == pair[1]) {
        None => Ok(()),
        Some(pair) => Err(invalid(format!("key {} is written twice in one batch", batch.expect[pair[0]].0))),
    }
}

/// A log entry needs an owner that exists after the batch, so that no log outlives its record.
fn logs(batch: &Batch, expected: &Expected<'_>, put_at: &[usize], delete_at: &[usize]) -> Result<()> {
    for append in &batch.append {
        let at = expected.place(&append.log, "appends to the log of")?;
        let owned = put_at.contains(&at) || (batch.expect[at].1.is_some() && !delete_at.contains(&at));
        if !owned {
            return Err(invalid(format!("the log of {} would have no record to own it", append.log)));
        }
        // A read asks for what is above a sequence, so that nobody could ever read entry zero.
        if append.seq == 0 || append.seq > SEQ_MAX {
            let (seq, log) = (append.seq, &append.log);
            return Err(invalid(format!("sequence {seq} of the log of {log} is not between 1 and {SEQ_MAX}")));
        }
    }
    for mend in &batch.mend {
        expected.place(&mend.key, "mends a place of")?;
        if let IndexPlace::Entry(entry) = &mend.place
            && !entry.name.is_valid()
        {
            return Err(invalid(format!("index name {:?} to mend is not 1 to 200 plain bytes", entry.name)));
        }
    }
    for trim in &batch.trim {
        if let Trim::Log { log, .. } = trim {
            expected.place(log, "trims the log of")?;
        }
    }
    Ok(())
}

fn sizes(batch: &Batch) -> Result<usize> {
    let entries: usize = batch.put.iter().map(|record| record.entries.len() + 1).sum();
    let beside = batch.append.len() + batch.events.len() + batch.mend.len();
    let rows = batch.put.len() + batch.delete.len() + entries + beside;
    if rows > BATCH_ROWS_MAX || batch.expect.len() > KEYS_MAX || batch.trim.len() > KEYS_MAX {
        let expected = batch.expect.len();
        return Err(invalid(format!(
            "a batch of {rows} rows and {expected} expectations is over the limits of {BATCH_ROWS_MAX} and {KEYS_MAX}"
        )));
    }
    let bodies: usize = batch.put.iter().map(|record| record.body.len()).sum();
    let logged: usize = batch.append.iter().map(|append| append.body.len()).sum();
    let events: usize = batch.events.iter().map(bytes::Bytes::len).sum();
    let topics: usize = batch.wake.iter().map(String::len).sum();
    let bytes = bodies + logged + events + topics;
    if bytes > BATCH_BYTES_MAX {
        return Err(invalid(format!("a batch of {bytes} bytes is over the limit of {BATCH_BYTES_MAX}: split it")));
    }
    Ok(bytes)
}
