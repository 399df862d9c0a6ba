//! How records, indexes, due times and logs are read: a few calls side by side, joined in order.

use super::fault;
use super::keys::Keys;
use super::net::{Net, Repeat};
use super::script::{Call, alone};
use super::value::{DUE, parse_place, rank_start, unpack};
use crate::{
    Count, Direction, Found, IndexName, IndexPlace, Key, LogEntry, Page, Partition, Partitions, Range, Record, Result,
    check,
};
use bytes::Bytes;
use futures_util::future::try_join_all;
use redis::Value;

/// The fewest and the most places one call brings.
const CHUNK_MIN: usize = 16;
const CHUNK_MAX: usize = 1_000;
/// Sorts behind every partition and before everything that a longer key can go on with.
const BEHIND_PARTITIONS: u8 = 0x1f;

/// What reads need.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    pub(super) net: &'a Net,
    pub(super) keys: &'a Keys,
}

/// One tag's share of a scan.
struct Share {
    tag: usize,
    /// From where to where, as the server wants it.
    low: Vec<u8>,
    high: Vec<u8>,
    found: Vec<Vec<u8>>,
    /// The last place that was looked at, wanted or not.
    reached: Option<Vec<u8>>,
    done: bool,
}

impl Reader<'_> {
    pub(super) async fn load(&self, partition: Partition, keys: &[Key]) -> Result<Vec<Option<Record>>> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let tag = self.keys.tag(partition);
        let mut command = redis::cmd("HMGET");
        command.arg(&tag.records);
        for key in keys {
            command.arg(key.as_str());
        }
        let values = list(self.one(tag.slot, command).await?)?;
        let record = |(key, value): (&Key, Value)| match value {
            Value::BulkString(value) => match unpack(key, value)? {
                (found, _) if found != partition => Err(check::elsewhere(key, partition, found)),
                (_, record) => Ok(Some(record)),
            },
            _ => Ok(None),
        };
        keys.iter().zip(values).map(record).collect()
    }

    /// The page of each index; all are asked at the same time, so that they travel together.
    pub(super) async fn scan_many(
        &self,
        wanted: &[(IndexName, Range)],
        partitions: &Partitions,
        limit: usize,
    ) -> Result<Vec<Page>> {
        let tags = self.tags(partitions);
        let scans = wanted.iter().map(async |(index, range)| {
            if !index.is_valid() {
                return Ok(Page::default());
            }
            self.page(index.as_str(), &tags, partitions, range, limit).await
        });
        try_join_all(scans).await
    }

    pub(super) async fn due(&self, partitions: &Partitions, range: &Range, limit: usize) -> Result<Page> {
        self.page(DUE, &self.tags(partitions), partitions, range, limit).await
    }

    pub(super) async fn count(&self, index: &IndexName, partitions: &Partitions, cap: u64) -> Result<Count> {
        if !index.is_valid() {
            return Ok(Count { n: 0, capped: false });
        }
        let (whole, some): (Vec<_>, Vec<_>) = self.keys.asked(partitions).into_iter().partition(|(_, whole)| *whole);
        let (low, high) = bounds(index.as_str(), &Range::default());
        let counts = whole.iter().map(|(tag, _)| {
            let tag = &self.keys.tags()[*tag];
            let mut command = redis::cmd("ZLEXCOUNT");
            command.arg(&tag.index).arg(&low).arg(&high);
            self.one(tag.slot, command)
        });
        let mut total = 0;
        for count in try_join_all(counts).await? {
            let Value::Int(count) = count else { return Err(strange()) };
            total += u64::try_from(count).map_err(|_| strange())?;
        }
        if !some.is_empty() && total <= cap {
            // Places of other partitions lie between, so they have to be looked at one by one.
            let tags: Vec<usize> = some.into_iter().map(|(tag, _)| tag).collect();
            let limit = usize::try_from(cap - total).unwrap_or(usize::MAX);
            let page = self.page(index.as_str(), &tags, partitions, &Range::default(), limit).await?;
            total += page.items.len() as u64 + u64::from(page.more);
        }
        Ok(Count { n: total.min(cap), capped: total > cap })
    }

    pub(super) async fn log(&self, partition: Partition, log: &Key, after: u64, limit: usize) -> Result<Vec<LogEntry>> {
        let tag = self.keys.tag(partition);
        let name = self.keys.log(partition, log);
        let mut command = Call::Log.with([tag.records.as_str(), &name].into_iter());
        command
            .arg(log.as_str())
            .arg(&after.saturating_add(1).to_be_bytes())
            .arg(i64::try_from(limit).unwrap_or(i64::MAX));
        let mut parts = list(self.one(tag.slot, command).await?)?.into_iter();
        if let Some(Value::BulkString(found)) = parts.next() {
            let found = Partition(u16::from_be_bytes(found.try_into().map_err(|_| strange())?));
            if found != partition {
                return Err(check::elsewhere(log, partition, found));
            }
        }
        let entry = |value| {
            let entry = Bytes::from(bytes(value)?);
            let seq = entry.first_chunk().map(|seq| u64::from_be_bytes(*seq)).ok_or_else(strange)?;
            Ok(LogEntry { seq, body: entry.slice(8..) })
        };
        list(parts.next().unwrap_or_default())?.into_iter().map(entry).collect()
    }

    /// One command to the primary of a slot.
    pub(super) async fn one(&self, slot: u16, command: redis::Cmd) -> Result<Value> {
        let answers = self.net.call(slot, &alone(command), Repeat::Freely).await?;
        answers.into_iter().next().ok_or_else(strange)
    }

    fn tags(&self, partitions: &Partitions) -> Vec<usize> {
        self.keys.asked(partitions).into_iter().map(|(tag, _)| tag).collect()
    }

    /// The first places of a range over several tags.
    ///
    /// Each tag gives a little more than its fair share; those that turn out to hold more of the front are asked again.
    async fn page(
        &self,
        name: &str,
        tags: &[usize],
        partitions: &Partitions,
        range: &Range,
        limit: usize,
    ) -> Result<Page> {
        let (low, high) = bounds(name, range);
        let share =
            |&tag| Share { tag, low: low.clone(), high: high.clone(), found: Vec::new(), reached: None, done: false };
        let mut shares: Vec<Share> = tags.iter().map(share).collect();
        let wanted = limit.saturating_add(1);
        let mut chunk = (wanted / tags.len().max(1)).saturating_mul(2).clamp(CHUNK_MIN.min(wanted), CHUNK_MAX);
        let places = loop {
            let fetches = shares
                .iter_mut()
                .filter(|share| !share.done)
                .map(|share| self.fetch(share, chunk, partitions, range.direction));
            try_join_all(fetches).await?;
            if let Some(places) = joined(&mut shares, wanted, range.direction) {
                break places;
            }
            chunk = CHUNK_MAX;
        };
        let more = places.len() > limit;
        let items = places.iter().take(limit).map(|place| found(place)).collect::<Result<_>>()?;
        Ok(Page { items, more })
    }

    async fn fetch(
        &self,
        share: &mut Share,
        chunk: usize,
        partitions: &Partitions,
        direction: Direction,
    ) -> Result<()> {
        let tag = &self.keys.tags()[share.tag];
        let mut command = redis::cmd("ZRANGE");
        command.arg(&tag.index);
        match direction {
            Direction::Ascending => command.arg(&share.low).arg(&share.high).arg("BYLEX"),
            Direction::Descending => command.arg(&share.high).arg(&share.low).arg("BYLEX").arg("REV"),
        };
        command.arg("LIMIT").arg(0).arg(chunk);
        let places = list(self.one(tag.slot, command).await?)?;
        share.done = places.len() < chunk;
        for place in places {
            let place = bytes(place)?;
            share.reached = Some(place.clone());
            if partitions.contains(partition_of(&place)?) {
                share.found.push(place);
            }
        }
        if let Some(reached) = &share.reached {
            let behind = [b"(", reached.as_slice()].concat();
            match direction {
                Direction::Ascending => share.low = behind,
                Direction::Descending => share.high = behind,
            }
        }
        Ok(())
    }
}

/// The first `wanted` places in order, once no share can hold an earlier one that was not read yet.
fn joined(shares: &mut [Share], wanted: usize, direction: Direction) -> Option<Vec<Vec<u8>>> {
    let mut places: Vec<&Vec<u8>> = shares.iter().flat_map(|share| &share.found).collect();
    let before = |a: &Vec<u8>, b: &Vec<u8>| match direction {
        Direction::Ascending => a.cmp(b),
        Direction::Descending => b.cmp(a),
    };
    places.sort_unstable_by(|a, b| before(a, b));
    places.truncate(wanted);
    let last = places.get(wanted.wrapping_sub(1)).copied();
    let settled = |share: &Share| {
        share.done || matches!((last, &share.reached), (Some(last), Some(reached)) if before(reached, last).is_ge())
    };
    shares.iter().all(settled).then(|| places.into_iter().cloned().collect())
}

/// Where a range begins and ends in the sorted set, lowest first.
fn bounds(name: &str, range: &Range) -> (Vec<u8>, Vec<u8>) {
    let mut low = [b"[", rank_start(name, range.from.unwrap_or(0)).as_slice()].concat();
    let mut high = match range.until {
        Some(until) => [b"(", rank_start(name, until).as_slice()].concat(),
        // Names end with a zero byte, so this is behind all ranks of this one and before every other.
        None => [b"(", name.as_bytes(), &[1]].concat(),
    };
    if let Some((rank, key)) = &range.after {
        let place = [rank_start(name, *rank).as_slice(), key.as_str().as_bytes()].concat();
        match range.direction {
            Direction::Ascending if place[..] >= low[1..] => {
                low = [b"(", place.as_slice(), &[BEHIND_PARTITIONS]].concat();
            }
            Direction::Descending if place[..] < high[1..] => high = [b"(", place.as_slice()].concat(),
            _ => {}
        }
    }
    (low, high)
}

fn found(place: &[u8]) -> Result<Found> {
    let (place, key, partition) = parse_place(place)?;
    let rank = match place {
        IndexPlace::Entry(entry) => entry.rank,
        IndexPlace::Due(due) => due,
    };
    Ok(Found { rank, key, partition })
}

fn partition_of(place: &[u8]) -> Result<Partition> {
    let end = place.last_chunk().ok_or_else(|| fault::corrupt("a place in an index is too short"))?;
    Ok(Partition(u16::from_be_bytes(*end)))
}

pub(super) fn list(value: Value) -> Result<Vec<Value>> {
    match value {
        Value::Array(values) => Ok(values),
        Value::Nil => Ok(Vec::new()),
        _ => Err(strange()),
    }
}

pub(super) fn bytes(value: Value) -> Result<Vec<u8>> {
    match value {
        Value::BulkString(bytes) => Ok(bytes),
        _ => Err(strange()),
    }
}

pub(super) fn strange() -> crate::Error {
    fault::corrupt("the server answered something that no store holds")
}
