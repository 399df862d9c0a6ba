//! Submits: what is accepted becomes an execution within every limit, and payloads keep their bytes.

use crate::{judge, read};
use onward::call::Ask;
use onward::wire::SubmitBatch;
use onward::{Client, Policy, Result, Submitted, limits};
use onward_core::NewExecution;
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

/// An engine in memory, which judges what is submitted to it.
struct Judge {
    runtime: tokio::runtime::Runtime,
    client: Client,
}

impl Judge {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let client = runtime.block_on(Client::open("memory:")).unwrap();
        Self { runtime, client }
    }

    fn submit(&self, new: NewExecution) -> Result<Submitted> {
        self.runtime.block_on(self.client.ask(Ask::Submit(Box::new(new))))
    }
}

#[test]
fn fuzz_new_work() {
    let judge = Judge::new();
    fuzz(near_any(&SAMPLES), |text| {
        let Some(new) = read::<NewExecution>(&text)? else { return Ok(false) };
        let json = new.input.as_ref().map(|input| input.as_str().to_owned());
        let (policy, chosen) = (new.policy.clone(), new.uuid);
        let Ok(submitted) = judge.submit(new) else { return Ok(false) };
        if !submitted.created {
            // A key stands for an execution of an earlier input.
            return Ok(true);
        }
        let found = judge.runtime.block_on(judge.client.get(submitted.id)).unwrap().unwrap();
        let input = judge.runtime.block_on(judge.client.input(submitted.id)).unwrap().unwrap();
        prop_assert!(found.tags.len() <= limits::TAGS_MAX);
        prop_assert!(found.priority <= limits::PRIORITY_MAX);
        prop_assert_eq!(found.policy, policy);
        prop_assert!(input.as_bytes().len() <= limits::PAYLOAD_BYTES_MAX);
        prop_assert!(chosen.is_none_or(|uuid| uuid.get_version_num() == 7 && submitted.id.uuid() == uuid));
        if let Some(json) = json {
            prop_assert_eq!(input.as_bytes(), json.as_bytes(), "JSON stays as it was written");
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
        let Some(policy) = read::<Policy>(&text)? else { return Ok(false) };
        let stored = serde_json::to_string(&policy).unwrap();
        prop_assert_eq!(&serde_json::from_str::<Policy>(&stored).unwrap(), &policy);
        let retry = policy.retry();
        let longest = retry.longest_pause.max(retry.first_pause);
        prop_assert!((0..70).all(|n| retry.pause(n, 7) <= longest), "{retry:?}");
        Ok(true)
    });
}

/// Bytes in base64 come out as they went in, and a text that is not base64 is refused.
#[test]
fn fuzz_payloads_in_base64() {
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
        let Ok(new) = serde_json::from_value::<NewExecution>(body) else { return Ok(false) };
        let input = new.payload().unwrap();
        prop_assert_eq!(input.as_bytes().len(), base64.trim_end_matches('=').len() * 3 / 4);
        let written = serde_json::to_value(&new).unwrap();
        prop_assert_eq!(&written["input_bytes"]["base64"], &base64);
        Ok(true)
    });
}
