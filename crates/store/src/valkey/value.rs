//! How records, places in indexes and positions are packed into bytes, and read back exactly.
//!
//! The client packs; the scripts compare the version at the front and cut places out, as `places.lua` says.

use super::fault;
use crate::{Entry, IndexName, IndexPlace, Key, Partition, Record, Result, Version};
use bytes::Bytes;

/// Version, partition and the length of the places.
const HEAD: usize = 20;
/// How many bits of a position are the second part of an event's id: more events than a partition ever has, and few
/// enough for the numbers of Lua.
const LOW_BITS: u32 = 48;

/// The name under which due times are listed, since no index can have an empty one.
pub(super) const DUE: &str = "";

/// A record as its field's value.
pub(super) fn pack(record: &Record, partition: Partition) -> Vec<u8> {
    let mut places = Vec::new();
    let named = record.entries.iter().map(|entry| (entry.name.as_str(), entry.rank));
    for (name, rank) in named.chain(record.due.map(|due| (DUE, due))) {
        // Names have at most 200 bytes and records at most 64 entries, as was checked before.
        places.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
        places.extend_from_slice(name.as_bytes());
        places.extend_from_slice(&rank.to_be_bytes());
    }
    let mut value = Vec::with_capacity(HEAD + places.len() + record.body.len());
    value.extend_from_slice(&record.version.0.to_be_bytes());
    value.extend_from_slice(&partition.0.to_be_bytes());
    value.extend_from_slice(&u16::try_from(places.len()).unwrap_or(u16::MAX).to_be_bytes());
    value.extend_from_slice(&places);
    value.extend_from_slice(&record.body);
    value
}

/// The record of a value, and where it lives.
pub(super) fn unpack(key: &Key, value: Vec<u8>) -> Result<(Partition, Record)> {
    let damaged = || fault::corrupt(&format!("record {key} is not what was written"));
    let value = Bytes::from(value);
    let (version, partition) = head(&value).ok_or_else(damaged)?;
    let length = value.get(HEAD - 2..HEAD).and_then(|part| part.try_into().ok()).map(u16::from_be_bytes);
    let end = HEAD + usize::from(length.ok_or_else(damaged)?);
    let mut rest = value.get(HEAD..end).ok_or_else(damaged)?;
    let mut record = Record { key: key.clone(), version, body: value.slice(end..), entries: Vec::new(), due: None };
    while let Some((&length, behind)) = rest.split_first() {
        let (name, behind) = behind.split_at_checked(usize::from(length)).ok_or_else(damaged)?;
        let (rank, behind) = behind.split_first_chunk().ok_or_else(damaged)?;
        let rank = u64::from_be_bytes(*rank);
        match std::str::from_utf8(name).map_err(|_| damaged())? {
            DUE => record.due = Some(rank),
            name => record.entries.push(Entry { name: IndexName::new(name), rank }),
        }
        rest = behind;
    }
    Ok((partition, record))
}

/// The version and the partition at the front of a value.
pub(super) fn head(value: &[u8]) -> Option<(Version, Partition)> {
    let (version, rest) = value.split_first_chunk()?;
    let (partition, _) = rest.split_first_chunk()?;
    Some((Version(u128::from_be_bytes(*version)), Partition(u16::from_be_bytes(*partition))))
}

/// Where the places of an index with this rank begin.
pub(super) fn rank_start(name: &str, rank: u64) -> Vec<u8> {
    let mut start = Vec::with_capacity(name.len() + 9 + 64);
    start.extend_from_slice(name.as_bytes());
    start.push(0);
    start.extend_from_slice(&rank.to_be_bytes());
    start
}

/// A place without its partition.
pub(super) fn place_start(place: &IndexPlace, key: &Key) -> Vec<u8> {
    let mut start = match place {
        IndexPlace::Entry(entry) => rank_start(entry.name.as_str(), entry.rank),
        IndexPlace::Due(due) => rank_start(DUE, *due),
    };
    start.extend_from_slice(key.as_str().as_bytes());
    start
}

/// The parts of a place.
pub(super) fn parse_place(place: &[u8]) -> Result<(IndexPlace, Key, Partition)> {
    let parse = || {
        let end = place.iter().position(|&byte| byte == 0)?;
        let name = std::str::from_utf8(&place[..end]).ok()?;
        let (rank, rest) = place[end + 1..].split_first_chunk()?;
        let (key, partition) = rest.split_last_chunk()?;
        let rank = u64::from_be_bytes(*rank);
        let place = match name {
            DUE => IndexPlace::Due(rank),
            name => IndexPlace::Entry(Entry { name: IndexName::new(name), rank }),
        };
        Some((place, Key::new(std::str::from_utf8(key).ok()?), Partition(u16::from_be_bytes(*partition))))
    };
    parse().ok_or_else(|| fault::corrupt("a place in an index does not parse"))
}

/// A position as the two parts of an event's id.
pub(super) fn halves(position: u64) -> (u64, u64) {
    (position >> LOW_BITS, position & ((1 << LOW_BITS) - 1))
}

/// A position as an event's id.
pub(super) fn event_id(position: u64) -> String {
    let (high, low) = halves(position);
    format!("{high}-{low}")
}

/// The position of an event's id.
pub(super) fn position(id: &[u8]) -> Result<u64> {
    let parts = std::str::from_utf8(id).ok().and_then(|id| id.split_once('-'));
    let parts = parts.and_then(|(high, low)| Some((high.parse::<u64>().ok()?, low.parse::<u64>().ok()?)));
    // Numbers that are too large would stand for another position.
    let parts = parts.filter(|(high, low)| high >> (u64::BITS - LOW_BITS) == 0 && low >> LOW_BITS == 0);
    let (high, low) = parts.ok_or_else(|| fault::corrupt("an event's id is not two numbers"))?;
    Ok((high << LOW_BITS) | low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_survive_packing() {
        let entries = vec![
            Entry { name: IndexName::new("list/ä"), rank: u64::MAX },
            Entry { name: IndexName::new("x".repeat(200)), rank: 0 },
        ];
        for due in [None, Some(0), Some(u64::MAX)] {
            let body = Bytes::from_static(b"\0\xff{}");
            let record = Record { key: Key::new("k"), version: Version(7), body, entries: entries.clone(), due };
            let packed = pack(&record, Partition(4095));
            assert_eq!(unpack(&record.key, packed.clone()).unwrap(), (Partition(4095), record));
            for end in 0..HEAD + 20 {
                assert!(unpack(&Key::new("k"), packed[..end].to_vec()).is_err(), "{end}");
            }
        }
    }

    #[test]
    fn places_survive_packing_and_sort_by_rank_and_key() {
        let place = |rank, key: &str| {
            let mut bytes = place_start(&IndexPlace::Due(rank), &Key::new(key));
            bytes.extend_from_slice(&4095_u16.to_be_bytes());
            bytes
        };
        let sorted = [place(1, "a"), place(1, "a "), place(1, "ab"), place(256, "a"), place(u64::MAX, "a")];
        assert!(sorted.is_sorted());
        assert_eq!(parse_place(&sorted[1]).unwrap(), (IndexPlace::Due(1), Key::new("a "), Partition(4095)));
    }

    #[test]
    fn positions_survive_their_ids() {
        for at in [0, 1, (1 << LOW_BITS) - 1, 1 << LOW_BITS, (1 << 61) + 5, u64::MAX] {
            assert_eq!(position(event_id(at).as_bytes()).unwrap(), at);
        }
        for wrong in ["", "1", "1-", "65536-0", "0-281474976710656", "a-1"] {
            assert!(position(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }
}
