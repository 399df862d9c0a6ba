//! Stored bodies of every kind: what is read is written so that it is read as the same, and what is not is left alone.

use bytes::Bytes;
use onward_core::record::{LaneSettings, Record};
use onward_core::{Key, Millis, Served, codec, index, why};
use onward_fuzz::proptest::prelude::*;
use onward_fuzz::{Judged, fuzz, fuzz_all, near_any, near_bytes};

const ID: &str = "x-0192f0c8-0000-7000-8000-000000000001-17";

const EXECUTIONS: [&str; 13] = [
    include_str!("../golden/execution_ready.json"),
    include_str!("../golden/execution_delayed.json"),
    include_str!("../golden/execution_active.json"),
    include_str!("../golden/execution_completed.json"),
    include_str!("../golden/execution_failed.json"),
    include_str!("../golden/execution_submitted.json"),
    include_str!("../golden/execution_resumed.json"),
    include_str!("../golden/execution_paused.json"),
    include_str!("../golden/execution_replay.json"),
    include_str!("../golden/execution_reclaim.json"),
    include_str!("../golden/execution_cancelled.json"),
    include_str!("../golden/execution_expired.json"),
    include_str!("../golden/execution_purging.json"),
];

const ATTEMPTS: [&str; 7] = [
    include_str!("../golden/attempt_succeeded.json"),
    include_str!("../golden/attempt_failed.json"),
    include_str!("../golden/attempt_interrupted.json"),
    include_str!("../golden/attempt_returned.json"),
    include_str!("../golden/attempt_revoked.json"),
    include_str!("../golden/attempt_cancelled.json"),
    include_str!("../golden/attempt_expired.json"),
];

/// Keys with samples of their records' bodies, but for executions and attempts.
const OTHERS: [(&str, &[&str]); 13] = [
    ("key/default/order/17", &[include_str!("../golden/idempotency.json")]),
    ("unique/default/customer/7", &[include_str!("../golden/unique.json")]),
    (
        "lane/default/emails",
        &[include_str!("../golden/lane_master.json"), include_str!("../golden/lane_master_defaults.json")],
    ),
    (
        "lane/default/emails/17",
        &[include_str!("../golden/lane_copy.json"), include_str!("../golden/lane_copy_defaults.json")],
    ),
    ("queues/default/emails/17", &[include_str!("../golden/queues.json")]),
    ("out/17/3", &[include_str!("../golden/outbox.json")]),
    (
        "out/17/3/00000000000000000005",
        &[
            include_str!("../golden/message_lane_changed.json"),
            include_str!("../golden/message_lane_changed_defaults.json"),
            include_str!("../golden/message_lane_copied.json"),
        ],
    ),
    ("in/3/17", &[include_str!("../golden/inbox.json")]),
    ("member/0000000000000000000000000000002a", &[include_str!("../golden/member.json")]),
    ("apikey/0000000000000000000000000000002b", &[include_str!("../golden/api_key.json")]),
    ("tokenkeys/0", &[include_str!("../golden/token_keys.json")]),
    ("x-0192f0c8-0000-7000-8000-000000000001-17/h/00000", &[include_str!("../golden/history.json")]),
    ("x-0192f0c8-0000-7000-8000-000000000001-17/e/purge", &[include_str!("../golden/errand.json")]),
];

/// Reads, writes and reads again; everything that is derived from a record can be derived from a hostile one too.
fn check(key: &Key, body: Vec<u8>) -> Judged {
    let body = Bytes::from(body);
    let record = codec::decode(key, &body);
    let written = codec::encode(&record);
    if let Record::Unreadable(kept) = &record {
        prop_assert_eq!(kept, &body);
        prop_assert_eq!(&written, &body, "what is not understood is never rewritten");
        return Ok(false);
    }
    let again = codec::decode(key, &written);
    prop_assert_eq!(&again, &record);
    prop_assert_eq!(codec::encode(&again), written);
    prop_assert_eq!(index::entries(key, &again), index::entries(key, &record));
    prop_assert_eq!(index::due_rank(&again), index::due_rank(&record));
    if let Record::Execution(execution) = &record {
        let _explained = why(execution, &LaneSettings::default(), Served::No, Millis(u64::MAX));
        prop_assert_eq!(index::due(&record), execution.due());
    }
    Ok(true)
}

fn bodies(samples: &[&str]) -> impl Strategy<Value = Vec<u8>> + Clone {
    let json = near_any(samples).prop_map(String::into_bytes);
    prop_oneof![6 => json.clone(), 1 => near_bytes(json)]
}

#[test]
fn fuzz_bodies_of_executions() {
    let key: Key = ID.parse().unwrap();
    fuzz(bodies(&EXECUTIONS), |body| check(&key, body));
}

#[test]
fn fuzz_bodies_of_attempts() {
    let key: Key = format!("{ID}/a/00003").parse().unwrap();
    fuzz(bodies(&ATTEMPTS), |body| check(&key, body));
}

#[test]
fn fuzz_bodies_of_other_records() {
    for (key, samples) in OTHERS {
        let key: Key = key.parse().unwrap();
        fuzz(bodies(samples), |body| check(&key, body));
    }
}

#[test]
fn fuzz_bodies_that_are_kept_as_they_are() {
    let keys = [format!("{ID}/in"), format!("{ID}/out"), "dead/17/3/00000000000000000005".to_owned()];
    let keys = keys.map(|key| key.parse::<Key>().unwrap());
    fuzz_all(bodies(&EXECUTIONS), |body| {
        for key in &keys {
            prop_assert_eq!(codec::encode(&codec::decode(key, &body.clone().into())), &body);
        }
        Ok(())
    });
}
