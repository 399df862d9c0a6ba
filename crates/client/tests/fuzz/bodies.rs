//! Bodies of calls other than submits: lists keep their limit, and what is accepted means something to the engine.

use crate::{judge, read};
use onward::wire::{
    BulkRequest, CancelRequest, ClaimRequest, CompleteRequest, DelayRequest, FailRequest, LanePatch, NewKeyRequest,
    PriorityRequest, ProgressBatch, ProgressRequest, ReasonRequest, RenewRequest, ReportBatch, ReportItem,
    RescheduleRequest, ReturnRequest, TagsRequest, WorkerCancelRequest,
};
use onward::{Namespace, limits};
use onward_core::{CommandId, LaneChange};
use onward_engine::End;
use onward_engine::clock::Chance;
use onward_fuzz::proptest::prelude::*;
use onward_fuzz::{fuzz, near_any};

const LEASE: &str = "x-0192f0c8-0000-7000-8000-000000000001-17.0000000000000000000000000000002a.3.0";

/// A sample with a lease in the place of `LEASE`.
fn with_lease(sample: &str) -> String {
    sample.replace("LEASE", LEASE)
}

#[test]
fn fuzz_reports() {
    let samples = [
        r#"{"lease":"LEASE","end":"complete","result":{"a":[1]},"command":"0000000000000000000000000000002a"}"#,
        r#"{"lease":"LEASE","end":"complete","result_bytes":{"content_type":"image/png","base64":"AAH/"}}"#,
        r#"{"lease":"LEASE","end":"fail","category":"rate_limit","message":"no"}"#,
        r#"{"lease":"LEASE","end":"delay","delay":"30s"}"#,
        r#"{"lease":"LEASE","end":"delay","run_at":1893488400000}"#,
        r#"{"lease":"LEASE","end":"cancel","message":"no"}"#,
        r#"{"lease":"LEASE","end":"unclaim"}"#,
    ]
    .map(with_lease);
    fuzz(near_any(&samples), |text| {
        let Some(item) = read::<ReportItem>(&text)? else { return Ok(false) };
        let (lease, named) = (item.lease, item.command);
        let Ok(report) = item.into_report(CommandId(1)) else { return Ok(false) };
        prop_assert_eq!(report.fence, lease.0);
        prop_assert_eq!(report.command, named.unwrap_or(CommandId(1)));
        match report.end {
            End::Complete(payload) => prop_assert!(payload.as_bytes().len() <= limits::PAYLOAD_BYTES_MAX),
            End::Fail(failure) => prop_assert!(failure.message.len() <= limits::FAILURE_MESSAGE_BYTES_MAX),
            End::Cancel(reason) => prop_assert!(reason.as_str().len() <= limits::REASON_BYTES_MAX),
            End::Delay(_) | End::GiveBack => {}
        }
        Ok(true)
    });
}

#[test]
fn fuzz_reports_in_one_call_of_many() {
    let samples = [
        r#"{"reports":[{"lease":"LEASE","end":"unclaim"},{"lease":"LEASE","end":"fail"}]}"#,
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
        r#"{"state":"paused","defaults":{"retry":{"max_retries":3,"first_pause":"1s","categories":["timeout"]}}}"#,
        r#"{"filter":{"state":"failed","tag":"a=b","created_from":5},"action":"replay","dry_run":true,"limit":7}"#,
        r#"{"name":"ada","roles":["admin","read"],"namespaces":["a","b"],"expires_after":"30d"}"#,
    ];
    fuzz(near_any(&samples), |text| {
        let reschedule = read::<RescheduleRequest>(&text)?.is_some_and(|request| request.into_act().is_ok());
        let bulk = read::<BulkRequest>(&text)?;
        bulk.iter().for_each(|request| drop((request.act(), request.filter.clone().into_filter())));
        let patch = read::<LanePatch>(&text)?.map(LaneChange::from);
        let key = read::<NewKeyRequest>(&text)?;
        let issued = key.map(|request| request.draw(&Chance::seeded(1)).1.roles);
        let accepted = [
            judge::<CancelRequest>(&text)?,
            judge::<ReasonRequest>(&text)?,
            judge::<PriorityRequest>(&text)?,
            judge::<TagsRequest>(&text)?,
            reschedule,
            bulk.is_some(),
            patch.is_some(),
            issued.is_some(),
        ];
        Ok(accepted.contains(&true))
    });
}
