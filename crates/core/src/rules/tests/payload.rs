//! Inputs and results: small JSON in the record, everything else beside it, every byte as it was given.

use crate::record::{PayloadBytes, Record, StoredPayload};
use crate::rules::world::World;
use crate::rules::world::make::{self, HOME, claim, id, submit, with};
use crate::{Blob, Command, Fence, Key, LeaseId, Payload, PayloadSlot, Rejection, Reply, codec, end, limits};
use bytes::Bytes;

fn text(len: usize) -> Payload {
    Payload::json(format!("\"{}\"", "a".repeat(len - 2))).unwrap()
}

fn every_byte() -> Vec<u8> {
    (0..=255).cycle().take(1_000).collect()
}

#[test]
fn payloads_come_back_exactly_whether_in_place_or_beside() {
    let spaced = "{ \"a\" : 1.50,\n \"b\":\"\\u00e9\", \"c\": 12345678901234567890123 }";
    for (payload, beside) in [
        (Payload::null(), false),
        (Payload::json(spaced).unwrap(), false),
        (text(limits::PAYLOAD_INLINE_BYTES_MAX), false),
        (text(limits::PAYLOAD_INLINE_BYTES_MAX + 1), true),
        (text(limits::PAYLOAD_BYTES_MAX), true),
        (Payload::bytes("image/png", every_byte()).unwrap(), true),
        (Payload::bytes("text/plain", "").unwrap(), true),
        (Payload::bytes("application/octet-stream", vec![0; limits::PAYLOAD_BYTES_MAX]).unwrap(), true),
    ] {
        let mut world = World::new(1);
        world.submit(with!(submit(1), input: payload.clone()));
        let claimed = world.claim(id(1), 10);
        assert_eq!(claimed.input, payload);
        let repeat = world.accept(&Command::Claim(claim(id(1), 10)));
        assert_eq!(repeat, Reply::Claim(claimed.clone()), "a repeat brings the input too");
        world.accept(&make::report(50, claimed.fence, end::Complete { result: payload.clone() }));
        let execution = world.execution(id(1)).clone();
        for (slot, held) in [(PayloadSlot::Input, &execution.input), (PayloadSlot::Result, &execution.result.unwrap())]
        {
            let stored = world.record(&Key::Payload(id(1), slot));
            match held {
                StoredPayload::Json(json) => assert_eq!((json.as_str().as_bytes(), stored), (payload.as_bytes(), None)),
                StoredPayload::Beside { content_type, bytes } => {
                    assert_eq!((&**content_type, *bytes), (payload.content_type(), payload.as_bytes().len() as u64));
                    let Some(Record::Payload(PayloadBytes(stored))) = stored else { panic!("{stored:?}") };
                    assert_eq!(stored, payload.as_bytes());
                    assert_eq!(
                        codec::encode(&Record::Payload(PayloadBytes(stored.clone()))),
                        stored,
                        "raw, without base64"
                    );
                }
            }
            assert_eq!(matches!(held, StoredPayload::Beside { .. }), beside);
        }
    }
}

#[test]
fn a_payload_that_could_not_be_read_back_is_not_written() {
    let lying = Payload::Bytes(Blob { content_type: "application/json".into(), bytes: Bytes::from_static(b"\xff") });
    let unnamed = Payload::Bytes(Blob { content_type: "".into(), bytes: Bytes::from_static(b"x") });
    let large =
        Payload::Bytes(Blob { content_type: "image/png".into(), bytes: vec![0; limits::PAYLOAD_BYTES_MAX + 1].into() });
    let long = format!("\"{}\"", "a".repeat(limits::PAYLOAD_BYTES_MAX));
    let long = Payload::Json(serde_json::from_str(&long).unwrap());
    let deep = format!("{}{}", "[".repeat(65), "]".repeat(65));
    let deep = Payload::Json(serde_json::from_str(&deep).unwrap());
    for payload in [lying, unnamed, large, long, deep] {
        let mut world = World::new(1);
        let refused = world.refuse(&Command::Submit(with!(submit(1), input: payload.clone())));
        assert!(matches!(refused, Rejection::Payload { field: "input", .. }), "{refused}");
        let fence = world.running(submit(1), 10);
        let refused = world.refuse(&make::report(50, fence, end::Complete { result: payload }));
        assert!(matches!(refused, Rejection::Payload { field: "result", .. }), "{refused}");
    }
}

#[test]
fn a_lost_input_is_reported_not_replaced() {
    let mut world = World::new(1);
    world.submit(with!(submit(1), input: text(2_000)));
    let key = Key::Payload(id(1), PayloadSlot::Input);
    world.records.remove(&key);
    let refused = world.refuse(&Command::Claim(claim(id(1), 10)));
    assert_eq!(refused, Rejection::RecordUnreadable { key: key.to_string() });
}

#[test]
fn a_claim_of_a_large_input_asks_for_it() {
    let mut world = World::new(1);
    world.submit(with!(submit(1), input: text(2_000)));
    let done = world.run_from_nothing(HOME, &Command::Claim(claim(id(1), 10)));
    let fence = Fence { execution: id(1), lease: LeaseId(10), epoch: 1, attempt: 1 };
    assert!(matches!(&done.result, Ok(Reply::Claim(claimed)) if claimed.fence == fence));
    assert!(done.step.reads.contains(&Key::Payload(id(1), PayloadSlot::Input)));
    assert!(!done.step.writes.contains(&Key::Payload(id(1), PayloadSlot::Input)), "written once");
}
