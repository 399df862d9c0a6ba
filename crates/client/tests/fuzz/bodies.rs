//! Bodies of calls other than submits: lists keep their limit, and what is accepted means something to the engine.

use crate::{judge, read};
use onward::wire::{
    BulkRequest, ClaimRequest, CompleteRequest, DelayRequest, FailRequest, LanePatch, NewKeyRequest, ProgressBatch,
    ProgressRequest, RenewRequest, ReportBatch, ReportItem, ReturnRequest, WorkerCancelRequest,
};
use onward::{Namespace, limits};
use onward_core::{Act, CommandId, End, LaneChange, act, end};
use onward_fuzz::proptest::prelude::*;
use onward_fuzz::{fuzz, near_any};

const LEASE: &str = "x-0192f0c8-0000-7000-8000-000000000001-17.0000000000000000000000000000002a.3.1";

/// A sample with a lease in the place of `LEASE`.
fn with_lease(sample: &str) -> String {
    sample.replace("LEASE", LEASE)
}

#[test]
fn fuzz_reports() {
    let samples = [
        r#"{"lease":"LEASE","type":"complete","result":{"a":[1]},"command":"0000000000000000000000000000002a"}"#,
        r#"{"lease":"LEASE","type":"complete","result_bytes":{"content_type":"image/png","base64":"AAH/"}}"#,
        r#"{"lease":"LEASE","type":"fail","category":"rate_limit","message":"no"}"#,
        r#"{"lease":"LEASE","type":"delay","delay":"30s"}"#,
        r#"{"lease":"LEASE","type":"delay","run_at":1893488400000}"#,
        r#"{"lease":"LEASE","type":"cancel","message":"no"}"#,
        r#"{"lease":"LEASE","type":"unclaim"}"#,
    ]
    .map(with_lease);
    fuzz(near_any(&samples), |text| {
        let Some(item) = read::<ReportItem>(&text)? else { return Ok(false) };
        let (lease, named) = (item.lease, item.command);
        let Ok(report) = item.into_report(CommandId(1)) else { return Ok(false) };
        prop_assert_eq!(report.fence, lease.0);
        prop_assert_eq!(report.command, named.unwrap_or(CommandId(1)));
        match report.end {
            End::Complete(end::Complete { result }) => {
                prop_assert!(result.as_bytes().len() <= limits::PAYLOAD_BYTES_MAX);
            }
            End::Fail(end::Fail { failure }) => {
                prop_assert!(failure.message.len() <= limits::FAILURE_MESSAGE_BYTES_MAX);
            }
            End::Cancel(end::Cancel { reason }) => prop_assert!(reason.as_str().len() <= limits::REASON_BYTES_MAX),
            End::Delay(_) | End::Unclaim(_) => {}
        }
        Ok(true)
    });
}

#[test]
fn fuzz_reports_in_one_call_of_many() {
    let samples = [
        r#"{"reports":[{"lease":"LEASE","type":"unclaim"},{"lease":"LEASE","type":"fail"}]}"#,
        r#"{"reports":[],"claim":{"worker":"w","max":3}}"#,
    ]
    .map(with_lease);
    fuzz(near_any(&samples), |text| judge::<ReportBatch>(&text));
}

/// No list is longer than one call may hold, whatever stands behind it.
#[test]
fn fuzz_lists_end_at_their_limit() {
    let lists = (990_usize..1_010, prop::bool::ANY).prop_map(|(count, comma)| {
        let list = vec!["\"a\""; count].join(",");
        format!("{{\"worker\":\"w\",\"lanes\":[{list}{}]}}", if comma { "," } else { "" })
    });
    fuzz(lists, |text| {
        let Ok(request) = serde_json::from_str::<ClaimRequest>(&text) else { return Ok(false) };
        prop_assert!(request.lanes.len() <= limits::CALL_ITEMS_MAX);
        Ok(true)
    });
}

#[test]
fn fuzz_claims() {
    let samples = [
        r#"{"worker":"w"}"#,
        r#"{"worker":"w","lanes":["a","b"],"capabilities":["gpu","linux"],"max":10,"lease":"30s","wait":5000}"#,
    ];
    fuzz(near_any(&samples), |text| {
        let Some(request) = read::<ClaimRequest>(&text)? else { return Ok(false) };
        let (wants, _wait) = (request.wants(&Namespace::default()), request.wait());
        prop_assert!(!wants.lanes.is_empty() && wants.lanes.len() <= limits::CALL_ITEMS_MAX);
        prop_assert!(wants.capabilities.capabilities().count() <= limits::CAPABILITIES_MAX);
        Ok(true)
    });
}

#[test]
fn fuzz_what_else_workers_send() {
    let samples = [
        r#"{"leases":["LEASE","LEASE"],"lease":"1m"}"#,
        r#"{"items":[{"lease":"LEASE","percent":50,"message":"half"}]}"#,
        r#"{"lease":"LEASE"}"#,
        r#"{"lease":"LEASE","result":[1,2]}"#,
        r#"{"lease":"LEASE","category":"panic","message":"no"}"#,
        r#"{"lease":"LEASE","delay":"1h"}"#,
        r#"{"lease":"LEASE","reason":"no"}"#,
        r#"{"lease":"LEASE","percent":7}"#,
    ]
    .map(with_lease);
    fuzz(near_any(&samples), |text| {
        let accepted = [
            judge::<RenewRequest>(&text)?,
            judge::<ProgressBatch>(&text)?,
            judge::<ReturnRequest>(&text)?,
            judge::<CompleteRequest>(&text)?,
            judge::<FailRequest>(&text)?,
            judge::<DelayRequest>(&text)?,
            judge::<WorkerCancelRequest>(&text)?,
            judge::<ProgressRequest>(&text)?,
        ];
        Ok(accepted.contains(&true))
    });
}

#[test]
fn fuzz_what_operators_send() {
    let samples = [
        r#"{"reason":"no","grace":"10s"}"#,
        r#"{"delay":"1h"}"#,
        r#"{"run_at":"2030-01-01T09:00:00Z"}"#,
        r#"{"priority":9000}"#,
        r#"{"set":{"customer":"42"},"remove":["old"]}"#,
        r#"{"lease":"0000000000000000000000000000002a","reason":"no"}"#,
        r#"{"reason":"no","expires_after":"2d"}"#,
        r#"{"expires_at":"2030-01-01T09:00:00Z"}"#,
        r#"{"state":"paused","defaults":{"retry":{"max_retries":3,"first_pause":"1s","categories":["timeout"]}}}"#,
        r#"{"filter":{"state":"failed","tag":"a=b","created_from":5},"act":{"type":"replay","expires_at":7},"dry_run":true}"#,
        r#"{"filter":{},"act":{"type":"cancel","reason":"no","grace":"10s"},"limit":7}"#,
        r#"{"name":"ada","roles":["admin","read"],"namespaces":["a","b"],"expires_after":"30d"}"#,
    ];
    fuzz(near_any(&samples), |text| {
        let bulk = read::<BulkRequest>(&text)?;
        bulk.iter().for_each(|request| drop(request.filter.clone().into_filter()));
        let replay = read::<act::Replay>(&text)?.is_some_and(|replay| replay.deadline().is_ok());
        let patch = read::<LanePatch>(&text)?.map(LaneChange::from);
        let key = read::<NewKeyRequest>(&text)?;
        let issued = key.map(|request| request.roles);
        let accepted = [
            judge::<act::Cancel>(&text)?,
            judge::<act::Reschedule>(&text)?,
            judge::<act::Prioritise>(&text)?,
            judge::<act::Tag>(&text)?,
            judge::<act::Revoke>(&text)?,
            replay,
            bulk.is_some(),
            patch.is_some(),
            issued.is_some(),
        ];
        Ok(accepted.contains(&true))
    });
}

/// An act that says its name is the act of that name, and its body is the same without it.
#[test]
fn fuzz_acts_that_say_their_names() {
    let samples = [
        r#"{"type":"cancel","reason":"no","grace":"10s"}"#,
        r#"{"type":"reschedule","run_at":"2030-01-01T09:00:00Z"}"#,
        r#"{"type":"prioritise","priority":9000}"#,
        r#"{"type":"tag","set":{"customer":"42"},"remove":["old"]}"#,
        r#"{"type":"revoke","lease":"0000000000000000000000000000002a"}"#,
        r#"{"type":"replay","expires_after":"2d"}"#,
        r#"{"type":"purge"}"#,
    ];
    fuzz(near_any(&samples), |text| {
        let Some(act) = read::<Act>(&text)? else { return Ok(false) };
        prop_assert!(Act::NAMES.contains(&act.name()));
        let whole = serde_json::to_value(&act).unwrap();
        prop_assert_eq!(&whole["type"], act.name());
        let mut body = act.serialize_body(serde_json::value::Serializer).unwrap();
        body["type"] = act.name().into();
        prop_assert_eq!(body, whole);
        Ok(true)
    });
}
