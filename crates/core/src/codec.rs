//! How records become bytes and come back: readable JSON with a format number, raw bytes for payloads.
//!
//! Old formats decode for ever. Bytes of a newer format, or bytes that make no sense, decode to
//! [`Record::Unreadable`], which no rule rewrites.

use crate::record::Record;
use crate::{Event, Key};
use bytes::Bytes;
use serde::Serialize;
use std::sync::Arc;

/// Most executions fit this, so that they are written without growing.
const USUAL_EXECUTION_BYTES: usize = 1_280;
/// The same for other records.
const USUAL_SMALL_BYTES: usize = 256;
/// The same for one event.
const USUAL_EVENT_BYTES: usize = 224;

/// A record's body.
#[must_use]
pub fn encode(record: &Record) -> Bytes {
    match record {
        Record::Execution(record) => json(&**record, USUAL_EXECUTION_BYTES),
        Record::Attempt(record) => json(record, USUAL_SMALL_BYTES),
        Record::Idempotency(record) => json(record, USUAL_SMALL_BYTES),
        Record::Unique(record) => json(record, USUAL_SMALL_BYTES),
        Record::History(record) => json(record, USUAL_SMALL_BYTES),
        Record::LaneMaster(record) => json(record, USUAL_SMALL_BYTES),
        Record::LaneCopy(record) => json(record, USUAL_SMALL_BYTES),
        Record::Class(record) => json(record, USUAL_SMALL_BYTES),
        Record::Outbox(record) => json(record, USUAL_SMALL_BYTES),
        Record::Message(record) => json(record, USUAL_SMALL_BYTES),
        Record::Inbox(record) => json(record, USUAL_SMALL_BYTES),
        Record::Member(record) => json(record, USUAL_SMALL_BYTES),
        Record::ApiKey(record) => json(record, USUAL_SMALL_BYTES),
        Record::Payload(bytes) | Record::Dead(bytes) | Record::Unreadable(bytes) => bytes.clone(),
    }
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

/// Our records are trees of strings, numbers and checked JSON, for which serialisation has no failing case.
fn json<T: Serialize>(value: &T, usual: usize) -> Bytes {
    let mut body = Vec::with_capacity(usual);
    serde_json::to_writer(&mut body, value).map(|()| body.into()).unwrap_or_default()
}

/// A record from its key and body.
#[must_use]
pub fn decode(key: &Key, body: &Bytes) -> Record {
    let read = match key {
        Key::Execution(_) => serde_json::from_slice(body).map(|execution| Record::Execution(Arc::new(execution))),
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
