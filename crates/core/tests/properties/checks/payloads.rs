//! The invariant of payloads: each comes back as it was given, from the record or from beside it, and none is left over.

use super::Change;
use onward_core::record::{PayloadBytes, Record, StoredPayload};
use onward_core::{Key, Payload, PayloadSlot};

pub(super) fn payloads(change: &Change<'_>) {
    for (_, execution) in change.whole() {
        let story = change.story(execution.id);
        let slots = [
            (PayloadSlot::Input, Some(&execution.input), &story.input),
            (PayloadSlot::Result, execution.result.as_ref(), &story.result),
        ];
        for (slot, payload, given) in slots {
            let stored = change.after.record(&Key::Payload(execution.id, slot));
            assert_eq!(payload.map(|payload| read(payload, stored)), *given, "{slot:?} of {}", execution.id);
            assert!(payload.is_some() || stored.is_none(), "{slot:?} of {} was left behind", execution.id);
        }
    }
}

fn read(payload: &StoredPayload, stored: Option<&Record>) -> Payload {
    match (payload, stored) {
        (StoredPayload::Json(json), None) => Payload::json(json.as_str()).unwrap(),
        (StoredPayload::Beside { content_type, bytes }, Some(Record::Payload(PayloadBytes(stored)))) => {
            assert_eq!(*bytes, stored.len() as u64);
            Payload::bytes(content_type, stored.clone()).unwrap()
        }
        other => panic!("{other:?}"),
    }
}
