//! Submits: what is accepted becomes an execution within every limit, and payloads keep their bytes.

use crate::{judge, read};
use onward::wire::{NewWork, SubmitBatch};
use onward::{Backoff, Client, Policy, limits};
use onward_fuzz::proptest::collection::vec;
use onward_fuzz::proptest::prelude::*;
use onward_fuzz::{fuzz, near_any};

const SAMPLES: [&str; 4] = [
    r#"{"kind":"email"}"#,
    r#"{"kind":"k","input":{"a" : [1.50]},"lane":"l","priority":9000,"delay":"5m","tags":{"a":"b"},"requires":["gpu"]}"#,
    r#"{"kind":"k","input_bytes":{"content_type":"image/png","base64":"AAH/"},"run_at":1893488400000,"expires_after":"2d",
        "idempotency_key":"order 17","unique_key":"customer/7","uuid":"0192f0c8-0000-7000-8000-000000000001"}"#,
    r#"{"kind":"k","expires_at":"2030-01-01T09:00:00Z","policy":{"attempt_timeout":"10m","max_reclaims":5,"max_replays":1,
        "retention":"7d","dedup_window":"1h","retry":{"max_retries":3,"first_pause":"1s","longest_pause":"1m","jitter":false,
        "categories":["timeout"]}}}"#,
];

/// A client, for the namespace that new work gets.
fn client() -> Client {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(Client::open("memory:")).unwrap()
}

#[test]
fn fuzz_new_work() {
    let client = client();
    fuzz(near_any(&SAMPLES), |text| {
        let Some(work) = read::<NewWork>(&text)? else { return Ok(false) };
        let input = work.input.as_ref().map(|input| input.as_str().to_owned());
        let Ok(new) = work.into_new(&client) else { return Ok(false) };
        prop_assert!(new.tags.len() <= limits::TAGS_MAX);
        prop_assert!(new.input.as_bytes().len() <= limits::PAYLOAD_BYTES_MAX);
        prop_assert!(new.chosen.is_none_or(|uuid| uuid.get_version_num() == 7));
        if let Some(input) = input {
            prop_assert_eq!(new.input.as_bytes(), input.as_bytes(), "JSON stays as it was written");
        }
        Ok(true)
    });
}

#[test]
fn fuzz_batches_of_new_work() {
    let batches = SAMPLES.map(|sample| format!("{{\"executions\":[{sample},{{\"kind\":\"k\"}}]}}"));
    fuzz(near_any(&batches), |text| judge::<SubmitBatch>(&text));
}

/// Whatever policy a caller writes, it is the same one after it was stored.
#[test]
fn fuzz_policies() {
    let policy = r#"{"attempt_timeout":"10m","retry":{"max_retries":3,"first_pause":"1s","longest_pause":1000}}"#;
    fuzz(near_any(&[policy, r#"{"retry":{}}"#, r#"{"retry":{"first_pause":"2m","jitter":true}}"#]), |text| {
        let Some(fields) = read::<onward::wire::PolicyFields>(&text)? else { return Ok(false) };
        let policy = Policy::from(fields);
        let stored = serde_json::to_string(&policy).unwrap();
        prop_assert_eq!(&serde_json::from_str::<Policy>(&stored).unwrap(), &policy);
        let backoff = policy.retry().backoff;
        let (Backoff::Fixed { delay: longest, .. } | Backoff::Exponential { max: longest, .. }) = backoff;
        prop_assert!((0..70).all(|retry| backoff.pause(retry, 7) <= longest), "{backoff:?}");
        Ok(true)
    });
}

/// Bytes in base64 come out as they went in, and a text that is not base64 is refused.
#[test]
fn fuzz_payloads_in_base64() {
    let client = client();
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let texts = prop_oneof![
        vec(any::<prop::sample::Index>(), 0..12).prop_map(move |signs| {
            let text: String = signs.iter().map(|sign| char::from(*sign.get(alphabet))).collect();
            let padding = "=".repeat((4 - text.len() % 4) % 4);
            text + &padding
        }),
        onward_fuzz::near("([A-Za-z0-9+/]{4}){0,4}"),
    ];
    fuzz(texts, |base64| {
        let body = serde_json::json!({"kind": "k", "input_bytes": {"content_type": "a/b", "base64": base64}});
        let work: NewWork = serde_json::from_value(body).unwrap();
        let Ok(new) = work.into_new(&client) else { return Ok(false) };
        prop_assert_eq!(new.input.as_bytes().len(), base64.trim_end_matches('=').len() * 3 / 4);
        Ok(true)
    });
}
