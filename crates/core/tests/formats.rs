//! Stored bodies of format 1, kept as text: each must decode for ever, to a record that encodes to the same text.
#![allow(clippy::unwrap_used, reason = "a failing test may panic")]

use bytes::Bytes;
use onward_core::record::Record;
use onward_core::{Event, Key, What, codec};

const ID: &str = "x-0192f0c8-0000-7000-8000-000000000001-17";

/// A stored body: its key and its text.
fn records() -> Vec<(String, &'static str)> {
    let of_execution = |part: &str| format!("{ID}{part}");
    vec![
        (ID.to_owned(), include_str!("golden/execution_ready.json")),
        (ID.to_owned(), include_str!("golden/execution_delayed.json")),
        (ID.to_owned(), include_str!("golden/execution_active.json")),
        (ID.to_owned(), include_str!("golden/execution_completed.json")),
        (ID.to_owned(), include_str!("golden/execution_failed.json")),
        (of_execution("/a/00000"), include_str!("golden/attempt_succeeded.json")),
        (of_execution("/a/00001"), include_str!("golden/attempt_failed.json")),
        (of_execution("/a/00002"), include_str!("golden/attempt_interrupted.json")),
        (of_execution("/a/00003"), include_str!("golden/attempt_returned.json")),
        ("key/default/order/17".to_owned(), include_str!("golden/idempotency.json")),
        ("lane/default/emails".to_owned(), include_str!("golden/lane_master.json")),
        ("lane/default/emails/17".to_owned(), include_str!("golden/lane_copy.json")),
        ("class/default/emails/gpu+linux/17".to_owned(), include_str!("golden/class.json")),
        ("out/17/3".to_owned(), include_str!("golden/outbox.json")),
        ("out/17/3/00000000000000000005".to_owned(), include_str!("golden/message_lane_changed.json")),
        ("out/3/17/00000000000000000006".to_owned(), include_str!("golden/message_lane_copied.json")),
        ("in/3/17".to_owned(), include_str!("golden/inbox.json")),
    ]
}

/// A word for every kind of record; a new kind must be added here and above.
fn kind(record: &Record) -> &'static str {
    match record {
        Record::Execution(_) => "execution",
        Record::Attempt(_) => "attempt",
        Record::Payload(_) => "payload",
        Record::Idempotency(_) => "idempotency",
        Record::LaneMaster(_) => "lane master",
        Record::LaneCopy(_) => "lane copy",
        Record::Class(_) => "class",
        Record::Outbox(_) => "outbox",
        Record::Message(_) => "message",
        Record::Inbox(_) => "inbox",
        Record::Dead(_) => "dead",
        Record::Unreadable(_) => "unreadable",
    }
}

#[test]
fn stored_records_decode_for_ever() {
    let mut kinds = std::collections::BTreeSet::new();
    for (key, text) in records() {
        let key: Key = key.parse().unwrap();
        let body = Bytes::from_static(text.trim_end().as_bytes());
        let record = codec::decode(&key, &body);
        assert_ne!(kind(&record), "unreadable", "{key}: {text}");
        let again = codec::encode(&record);
        assert_eq!(std::str::from_utf8(&again).unwrap(), text.trim_end(), "{key}");
        kinds.insert(kind(&record));
    }
    let raw = Bytes::from_static(b"\x00\xff any bytes");
    for key in [format!("{ID}/in"), format!("{ID}/out"), "dead/17/3/00000000000000000005".to_owned()] {
        let record = codec::decode(&key.parse().unwrap(), &raw);
        assert_eq!(codec::encode(&record), raw, "{key}");
        kinds.insert(kind(&record));
    }
    assert_eq!(kinds.len(), 11, "every kind that is ever written: {kinds:?}");
}

#[test]
fn a_newer_format_is_left_alone_whatever_the_record() {
    for (key, text) in records() {
        let newer = Bytes::from(text.trim_end().replacen("\"v\":1", "\"v\":2", 1));
        let record = codec::decode(&key.parse().unwrap(), &newer);
        assert_eq!(record, Record::Unreadable(newer.clone()), "{key}");
        assert_eq!(codec::encode(&record), newer);
    }
}

/// A word for every kind of event; a new kind must be added here and to the file of events.
fn what(event: &Event) -> &'static str {
    match event.what {
        What::Submitted { .. } => "submitted",
        What::Ready => "ready",
        What::Claimed { .. } => "claimed",
        What::Completed { .. } => "completed",
        What::AttemptFailed { .. } => "attempt failed",
        What::LeaseExpired { .. } => "lease expired",
        What::Returned { .. } => "returned",
        What::LaneChanged { .. } => "lane changed",
    }
}

#[test]
fn stored_events_decode_for_ever() {
    let mut kinds = std::collections::BTreeSet::new();
    for line in include_str!("golden/events.jsonl").lines() {
        let event = codec::decode_event(line.as_bytes()).unwrap_or_else(|| panic!("not an event: {line}"));
        let again = codec::encode_event(&event);
        assert_eq!(std::str::from_utf8(&again).unwrap(), line);
        kinds.insert(what(&event));
        let newer = line.replacen("\"v\":1", "\"v\":2", 1);
        assert_eq!(codec::decode_event(newer.as_bytes()), None, "{newer}");
    }
    assert_eq!(kinds.len(), 8, "{kinds:?}");
}
