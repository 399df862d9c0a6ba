//! How one batch is checked and written inside the writer's transaction.

use super::query;
use super::value::{Body, entries_to_text, entry_lines, version, version_to_sql};
use crate::check::{self, Plan};
use crate::cost::Cost;
use crate::sql::{DUE, named, rank_to_sql};
use crate::{Error, Key, Mend, Millis, Outcome, Partition, Record, Trim, Version};
use rusqlite::{Connection, Statement};

/// Why a batch could not be applied.
pub(super) enum Stop {
    /// The caller broke the contract; nothing of this batch was written and the others can go on.
    Caller(Error),
    /// SQLite failed; the whole transaction must be rolled back.
    Sqlite(rusqlite::Error),
    /// The transaction cannot go on for another reason and must be rolled back.
    Failed(Error),
}

impl From<rusqlite::Error> for Stop {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

/// The statements a batch needs, prepared once.
pub(super) struct Tables<'c> {
    conn: &'c Connection,
    find: Statement<'c>,
    put: Statement<'c>,
    delete: Statement<'c>,
    list: Statement<'c>,
    unlist: Statement<'c>,
    log: Statement<'c>,
    trim_log: Statement<'c>,
    event: Statement<'c>,
    trim_feed: Statement<'c>,
    newest: Statement<'c>,
    /// The newest feed position, once this transaction knows it.
    position: Option<i64>,
    /// Up to where each partition's events are known to be trimmed, so that a trim does not walk over all others again.
    trimmed: Vec<i64>,
    entries: String,
}

/// What a batch has to know of the record that it replaces or deletes.
struct CurrentRow {
    version: Version,
    due: Option<Millis>,
    entries: String,
}

impl<'c> Tables<'c> {
    pub(super) fn new(conn: &'c Connection, partitions: u16) -> rusqlite::Result<Self> {
        Ok(Self {
            conn,
            find: conn.prepare("SELECT partition, version, due, entries FROM records WHERE key = ?1")?,
            put: conn.prepare(
                "REPLACE INTO records(key, partition, version, due, entries, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?,
            delete: conn.prepare("DELETE FROM records WHERE key = ?1")?,
            list: conn.prepare("REPLACE INTO entries(name, rank, key, partition) VALUES (?1, ?2, ?3, ?4)")?,
            unlist: conn.prepare("DELETE FROM entries WHERE name = ?1 AND rank = ?2 AND key = ?3")?,
            log: conn.prepare("REPLACE INTO logs(key, seq, body) VALUES (?1, ?2, ?3)")?,
            trim_log: conn.prepare("DELETE FROM logs WHERE key = ?1 AND seq <= ?2")?,
            event: conn.prepare("INSERT INTO feed(position, partition, body) VALUES (?1, ?2, ?3)")?,
            trim_feed: conn.prepare("DELETE FROM feed WHERE position > ?1 AND position <= ?2 AND partition = ?3")?,
            newest: conn.prepare("SELECT coalesce(max(position), 0) FROM feed")?,
            position: None,
            trimmed: vec![0; usize::from(partitions)],
            entries: String::new(),
        })
    }

    /// Forgets what only held for the last transaction.
    pub(super) fn begin(&mut self) {
        self.position = None;
    }

    /// Forgets what a transaction that was rolled back had taught.
    pub(super) fn rolled_back(&mut self) {
        self.trimmed.fill(0);
    }

    /// Checks everything the batch expects, then writes all of it.
    pub(super) fn apply(&mut self, plan: &Plan, now: Millis, cost: &mut Cost) -> Result<Outcome, Stop> {
        let batch = &plan.batch;
        if !batch.window.contains(now) {
            return Ok(Outcome::Outside { now });
        }
        let mut current = Vec::with_capacity(batch.expect.len());
        let mut failed = Vec::new();
        for (at, (key, expected)) in batch.expect.iter().enumerate() {
            let found = self.find(batch.partition, key)?;
            if found.as_ref().map(|found| found.version) != *expected {
                failed.push(at);
            }
            current.push(found);
        }
        if !failed.is_empty() {
            return self.conflict(plan, &failed, now);
        }
        for (key, at) in batch.delete.iter().zip(&plan.delete_at) {
            if let Some(old) = &current[*at] {
                self.delete(key, old, cost)?;
            }
        }
        for (record, at) in batch.put.iter().zip(&plan.put_at) {
            self.put(batch.partition, record, current[*at].as_ref(), cost)?;
        }
        for append in &batch.append {
            self.log.execute((append.log.as_str(), append.seq.cast_signed(), Body(&append.body)))?;
            cost.logged(&append.log, &append.body);
        }
        for event in &batch.events {
            let position = self.position()?.max(i64::try_from(batch.feed_above).unwrap_or(i64::MAX - 1)) + 1;
            self.event.execute((position, batch.partition.0, Body(event)))?;
            self.position = Some(position);
            cost.event(event);
        }
        for trim in &batch.trim {
            self.trim(batch.partition, trim, cost)?;
        }
        for mend in &batch.mend {
            self.mend(batch.partition, mend, cost)?;
        }
        Ok(Outcome::Committed { now })
    }

    fn find(&mut self, partition: Partition, key: &Key) -> Result<Option<CurrentRow>, Stop> {
        let mut rows = self.find.query([key.as_str()])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        let found = Partition(row.get(0)?);
        if found != partition {
            return Err(Stop::Caller(check::elsewhere(key, partition, found)));
        }
        let version = version(row.get_ref(1)?).map_err(Stop::Failed)?;
        let due = query::due_of(row, 2).map_err(Stop::Failed)?;
        Ok(Some(CurrentRow { version, due, entries: row.get(3)? }))
    }

    fn conflict(&self, plan: &Plan, failed: &[usize], now: Millis) -> Result<Outcome, Stop> {
        let read = |at: &usize| {
            let key = &plan.batch.expect[*at].0;
            let record = query::record(self.conn, plan.batch.partition, key).map_err(Stop::Failed)?;
            Ok((key.clone(), record))
        };
        let current = failed.iter().map(read).collect::<Result<Vec<_>, Stop>>()?;
        Ok(Outcome::Conflict { current, now })
    }

    fn put(
        &mut self,
        partition: Partition,
        record: &Record,
        old: Option<&CurrentRow>,
        cost: &mut Cost,
    ) -> Result<(), Stop> {
        let key = record.key.as_str();
        entries_to_text(&record.entries, &mut self.entries);
        let row = (
            key,
            partition.0,
            version_to_sql(record.version),
            record.due.map(u64::cast_signed),
            self.entries.as_str(),
            Body(&record.body),
        );
        self.put.execute(row)?;
        cost.record(&record.key, &record.body);
        let (lines, due) = old.map_or(("", None), |old| (old.entries.as_str(), old.due));
        if lines != self.entries {
            self.relist(partition, record, lines, cost)?;
        }
        if due != record.due {
            if let Some(due) = due {
                self.unlist(DUE, due, key)?;
                cost.due(&record.key);
            }
            if let Some(due) = record.due {
                self.list.execute((DUE, rank_to_sql(due), key, partition.0))?;
                cost.due(&record.key);
            }
        }
        Ok(())
    }

    /// Writes only the entries that changed.
    fn relist(&mut self, partition: Partition, record: &Record, lines: &str, cost: &mut Cost) -> Result<(), Stop> {
        let key = record.key.as_str();
        let mut old = Vec::with_capacity(record.entries.len());
        for line in entry_lines(lines) {
            let (rank, name) = line.map_err(Stop::Failed)?;
            if !record.entries.iter().any(|entry| entry.rank == rank && entry.name.as_str() == name) {
                self.unlist(name, rank, key)?;
                cost.entry(name, &record.key);
            }
            old.push((rank, name));
        }
        for entry in &record.entries {
            if !old.contains(&(entry.rank, entry.name.as_str())) {
                self.list.execute((entry.name.as_str(), rank_to_sql(entry.rank), key, partition.0))?;
                cost.entry(entry.name.as_str(), &record.key);
            }
        }
        Ok(())
    }

    fn delete(&mut self, key: &Key, old: &CurrentRow, cost: &mut Cost) -> Result<(), Stop> {
        self.delete.execute([key.as_str()])?;
        cost.removed(key);
        for line in entry_lines(&old.entries) {
            let (rank, name) = line.map_err(Stop::Failed)?;
            self.unlist(name, rank, key.as_str())?;
            cost.entry(name, key);
        }
        if let Some(due) = old.due {
            self.unlist(DUE, due, key.as_str())?;
            cost.due(key);
        }
        let rows = self.trim_log.execute((key.as_str(), i64::MAX))?;
        cost.trimmed(rows as u64);
        Ok(())
    }

    fn unlist(&mut self, name: &str, rank: u64, key: &str) -> Result<(), Stop> {
        // A row that is missing already was taken out by hand; writing the record must still be able to mend it.
        self.unlist.execute((name, rank_to_sql(rank), key))?;
        Ok(())
    }

    fn mend(&mut self, partition: Partition, mend: &Mend, cost: &mut Cost) -> Result<(), Stop> {
        let (name, rank) = named(&mend.place);
        let key = mend.key.as_str();
        if mend.listed {
            self.list.execute((name, rank, key, partition.0))?;
        } else {
            self.unlist.execute((name, rank, key))?;
        }
        cost.mended(mend);
        Ok(())
    }

    fn trim(&mut self, partition: Partition, trim: &Trim, cost: &mut Cost) -> Result<(), Stop> {
        let rows = match trim {
            Trim::Log { log, through } => {
                let through = i64::try_from(*through).unwrap_or(i64::MAX);
                self.trim_log.execute((log.as_str(), through))?
            }
            Trim::Feed { through } => {
                // The newest event of the store stays, so that positions never start again.
                let last = i64::try_from(*through).unwrap_or(i64::MAX).min(self.position()? - 1);
                let known = &mut self.trimmed[usize::from(partition.0)];
                let first = std::mem::replace(known, last.max(*known));
                self.trim_feed.execute((first, last, partition.0))?
            }
        };
        cost.trimmed(rows as u64);
        Ok(())
    }

    fn position(&mut self) -> rusqlite::Result<i64> {
        match self.position {
            Some(position) => Ok(position),
            None => {
                let newest = self.newest.query_row([], |row| row.get(0))?;
                self.position = Some(newest);
                Ok(newest)
            }
        }
    }
}
