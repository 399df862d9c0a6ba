//! Answers as a client gets them from whoever listens at an address: read without harm, and with fields it does not know.

use crate::judge;
use onward::wire::{
    BulkAnswer, ClaimAnswer, CountsAnswer, EventPage, FoundPage, KeyList, LaneList, Problem, RenewAnswer,
    ReportBatchAnswer, SubmitAnswer, SubmitBatchAnswer,
};
use onward_fuzz::{fuzz, near_any};

const ID: &str = "x-0192f0c8-0000-7000-8000-000000000001-17";

/// A sample with an id in the place of `ID`.
fn with_id(sample: &str) -> String {
    sample.replace("ID", ID).replace("LEASE", &format!("{ID}.0000000000000000000000000000002a.3.1"))
}

#[test]
fn fuzz_answers_to_workers() {
    let samples = [
        r#"{"executions":[{"lease":"LEASE","lease_expires_at":5,"id":"ID","namespace":"n","lane":"l","kind":"k","input":[1],
            "tags":{"a":"b"},"attempt":1,"attempt_kind":"initial","resumed":false,"retries":0,"created_at":3}]}"#,
        r#"{"results":[{"ok":{"expires_at":5,"stop":{"until":7,"reason":"no"}}}]}"#,
        r#"{"results":[{"ok":{"again_at":9,"ended":false}},{"problem":{"type":"t","title":"T","status":409,"code":"c",
            "detail":"d","hint":"h","temporary":false}}],"executions":[]}"#,
    ]
    .map(with_id);
    fuzz(near_any(&samples), |text| {
        let accepted = [judge::<ClaimAnswer>(&text)?, judge::<RenewAnswer>(&text)?, judge::<ReportBatchAnswer>(&text)?];
        Ok(accepted.contains(&true))
    });
}

#[test]
fn fuzz_answers_to_submitters() {
    let samples = [
        r#"{"id":"ID","created":true}"#,
        r#"{"id":"ID","created":false,"result_bytes":{"content_type":"a/b","base64":"AAA="}}"#,
        r#"{"results":[{"ok":{"id":"ID","created":true}}]}"#,
        r#"{"type":"t","title":"T","status":429,"code":"c","detail":"d","hint":"h","field":"f","temporary":true,"retry_after":1000}"#,
    ]
    .map(with_id);
    fuzz(near_any(&samples), |text| {
        let accepted = [judge::<SubmitAnswer>(&text)?, judge::<SubmitBatchAnswer>(&text)?, judge::<Problem>(&text)?];
        Ok(accepted.contains(&true))
    });
}

#[test]
fn fuzz_answers_to_those_who_look() {
    let count = r#"{"n":1,"capped":false}"#;
    let counts = format!(
        r#"{{"total":{count},"waiting":{count},"completed":{count},"failed":{count},"cancelled":{count},"expired":{count}}}"#
    );
    let samples = [
        r#"{"events":[{"event":{"v":1,"at":5,"namespace":"n","lane":"l","execution":"ID","type":"ready"},"cursor":"7"},
            {"gap":true}],"cursor":"7"}"#,
        r#"{"executions":[],"scanned":0,"next":"7.ID"}"#,
        r#"{"lanes":[{"lane":"l","state":"open","ready":5,"ready_capped":false}]}"#,
        r#"{"dry_run":false,"matched":["ID"],"done":1,"refused":[]}"#,
        r#"{"keys":[{"id":"0000000000000000000000000000002a","name":"ada","roles":["read"],"created_at":5}]}"#,
        &counts,
    ]
    .map(with_id);
    fuzz(near_any(&samples), |text| {
        let accepted = [
            judge::<EventPage>(&text)?,
            judge::<FoundPage>(&text)?,
            judge::<LaneList>(&text)?,
            judge::<BulkAnswer>(&text)?,
            judge::<KeyList>(&text)?,
            judge::<CountsAnswer>(&text)?,
        ];
        Ok(accepted.contains(&true))
    });
}
