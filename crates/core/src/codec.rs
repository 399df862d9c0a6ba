//! How records become bytes and come back: readable JSON with a format number, raw bytes for payloads.
//!
//! Old formats decode for ever. Bytes of a newer format, or bytes that make no sense, decode to
//! [`Record::Unreadable`], which no rule rewrites.

use crate::record::{Formatted, Record, is_newer, keeps_all};
use crate::{Event, Key};
use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Most events fit this, so that they are written without growing.
const USUAL_EVENT_BYTES: usize = 224;

/// A record's body.
#[must_use]
pub fn encode(record: &Record) -> Bytes {
    record.encode()
}

/// The body of what one commit tells: a single event as it is, several as a list. They are read together and share their
/// cost; nothing when there is nothing to tell.
#[must_use]
pub fn encode_events(events: &[Event]) -> Option<Bytes> {
    match events {
        [] => None,
        [event] => Some(json(event, USUAL_EVENT_BYTES)),
        events => Some(json(&events, USUAL_EVENT_BYTES * events.len())),
    }
}

/// The events of such a body, in order; `None` for each that a newer version wrote.
#[must_use]
pub fn decode_events(body: &[u8]) -> Vec<Option<Event>> {
    if body.first() != Some(&b'[') {
        return vec![serde_json::from_slice(body).ok()];
    }
    match serde_json::from_slice::<Vec<Event>>(body) {
        Ok(events) => events.into_iter().map(Some).collect(),
        Err(_) => {
            let values: Vec<serde_json::Value> = serde_json::from_slice(body).unwrap_or_default();
            values.into_iter().map(|value| serde_json::from_value(value).ok()).collect()
        }
    }
}

/// Our records are trees of strings, numbers and checked JSON, for which serialisation has no failing case. One that
/// failed all the same must not be committed as something else.
#[expect(clippy::expect_used, reason = "an empty body would be a lost record")]
pub(crate) fn json<T: Serialize>(value: &T, usual: usize) -> Bytes {
    let mut body = Vec::with_capacity(usual);
    serde_json::to_writer(&mut body, value).expect("a record can be encoded");
    body.into()
}

/// The same with a format number in front. The comma behind it takes the place of the record's own brace: flattening the
/// record into another struct instead would write each of its fields by way of a map, for every record of every commit.
#[expect(clippy::expect_used, reason = "as above")]
fn stamped<T: Serialize>(format: u32, record: &T, usual: usize) -> Bytes {
    let mut body = Vec::with_capacity(usual);
    body.extend_from_slice(b"{\"v\":");
    body.extend_from_slice(itoa::Buffer::new().format(format).as_bytes());
    let brace = body.len();
    serde_json::to_writer(&mut body, record).expect("a record can be encoded");
    assert_eq!(body[brace], b'{', "a record is an object");
    if body.ends_with(b"{}") {
        body.remove(brace);
    } else {
        body[brace] = b',';
    }
    body.into()
}

/// A record from its key and body.
#[must_use]
pub fn decode(key: &Key, body: &Bytes) -> Record {
    Record::decode(key, body)
}

/// Whether a body has a newer format than `known`, so that a newer build may be able to read it.
#[must_use]
pub fn needs_newer(body: &Bytes, known: u32) -> bool {
    is_newer(body, known)
}

/// How the body of one kind of record becomes bytes and comes back.
pub(crate) trait Body: Sized {
    /// Its bytes; `usual` is how many there are in most cases.
    fn encode(&self, usual: usize) -> Bytes;

    /// The body of these bytes; `None` when this version cannot read them.
    fn decode(body: &Bytes) -> Option<Self>;
}

impl<T: Serialize + DeserializeOwned + Formatted> Body for T {
    fn encode(&self, usual: usize) -> Bytes {
        stamped(self.format(), self, usual)
    }

    fn decode(body: &Bytes) -> Option<Self> {
        let read: Self = serde_json::from_slice(body).ok()?;
        (!Self::STRICT || keeps_all(body, &read)).then_some(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PartitionId;

    #[test]
    #[should_panic(expected = "a record can be encoded")]
    fn what_cannot_be_encoded_is_not_committed_empty() {
        json(&std::collections::BTreeMap::from([((1, 2), "a key that JSON cannot have")]), 0);
    }

    #[test]
    fn a_newer_format_is_unreadable_and_its_bytes_are_kept() {
        let key = Key::Outbox(PartitionId(1), PartitionId(2));
        let old = Bytes::from_static(br#"{"v":1,"first":3,"next":4}"#);
        assert!(matches!(decode(&key, &old), Record::Outbox(_)));
        let newer = Bytes::from_static(br#"{"v":99,"first":3,"next":4}"#);
        assert_eq!(decode(&key, &newer), Record::Unreadable(newer.clone()));
        assert_eq!(encode(&decode(&key, &newer)), newer);
        assert!(matches!(decode(&key, &Bytes::from_static(b"{")), Record::Unreadable(_)));
    }
}
