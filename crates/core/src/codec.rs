//! How records become bytes and come back: readable JSON with a format number, raw bytes for payloads.
//!
//! Old formats decode for ever. Bytes of a newer format, or bytes that make no sense, decode to
//! [`Record::Unreadable`], which no rule rewrites.

use crate::record::Record;
use crate::{Event, Key};
use bytes::Bytes;
use serde::Serialize;

/// Most bodies fit this, so that they are written without growing.
const USUAL_BYTES: usize = 768;

/// A record's body.
#[must_use]
pub fn encode(record: &Record) -> Bytes {
    match record {
        Record::Execution(record) => json(record),
        Record::Attempt(record) => json(record),
        Record::Idempotency(record) => json(record),
        Record::Unique(record) => json(record),
        Record::History(record) => json(record),
        Record::LaneMaster(record) => json(record),
        Record::LaneCopy(record) => json(record),
        Record::Class(record) => json(record),
        Record::Outbox(record) => json(record),
        Record::Message(record) => json(record),
        Record::Inbox(record) => json(record),
        Record::Member(record) => json(record),
        Record::ApiKey(record) => json(record),
        Record::Payload(bytes) | Record::Dead(bytes) | Record::Unreadable(bytes) => bytes.clone(),
    }
}

/// The body of what one commit tells: a single event as it is, several as a list. They are read together and share their
/// cost; nothing when there is nothing to tell.
#[must_use]
pub fn encode_events(events: &[Event]) -> Option<Bytes> {
    match events {
        [] => None,
        [event] => Some(json(event)),
        events => Some(json(&events)),
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

/// Our records are trees of strings, numbers and checked JSON, for which serialisation has no failing case.
fn json<T: Serialize>(value: &T) -> Bytes {
    let mut body = Vec::with_capacity(USUAL_BYTES);
    serde_json::to_writer(&mut body, value).map(|()| body.into()).unwrap_or_default()
}

/// A record from its key and body.
#[must_use]
pub fn decode(key: &Key, body: &Bytes) -> Record {
    let read = match key {
        Key::Execution(_) => serde_json::from_slice(body).map(Record::Execution),
        Key::Attempt(..) => serde_json::from_slice(body).map(Record::Attempt),
        Key::Idempotency(..) => serde_json::from_slice(body).map(Record::Idempotency),
        Key::Unique(..) => serde_json::from_slice(body).map(Record::Unique),
        Key::History(..) => serde_json::from_slice(body).map(Record::History),
        Key::LaneMaster(..) => serde_json::from_slice(body).map(Record::LaneMaster),
        Key::LaneCopy(..) => serde_json::from_slice(body).map(Record::LaneCopy),
        Key::Class(..) => serde_json::from_slice(body).map(Record::Class),
        Key::Outbox(..) => serde_json::from_slice(body).map(Record::Outbox),
        Key::Message(..) => serde_json::from_slice(body).map(Record::Message),
        Key::Inbox(..) => serde_json::from_slice(body).map(Record::Inbox),
        Key::Member(..) => serde_json::from_slice(body).map(Record::Member),
        Key::ApiKey(..) => serde_json::from_slice(body).map(Record::ApiKey),
        Key::Payload(..) => Ok(Record::Payload(body.clone())),
        Key::Dead(..) => Ok(Record::Dead(body.clone())),
    };
    read.unwrap_or_else(|_| Record::Unreadable(body.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PartitionId;

    #[test]
    fn a_newer_format_is_unreadable_and_its_bytes_are_kept() {
        let key = Key::Outbox(PartitionId(1), PartitionId(2));
        let old = Bytes::from_static(br#"{"v":1,"first":3,"next":4}"#);
        assert!(matches!(decode(&key, &old), Record::Outbox(_)));
        let newer = Bytes::from_static(br#"{"v":2,"first":3,"next":4}"#);
        assert_eq!(decode(&key, &newer), Record::Unreadable(newer.clone()));
        assert_eq!(encode(&decode(&key, &newer)), newer);
        assert!(matches!(decode(&key, &Bytes::from_static(b"{")), Record::Unreadable(_)));
    }
}
