//! Applying one act to all executions that match a filter.

use crate::access::Caller;
use crate::answer::{Answer, ok};
use crate::body::One;
use axum::http::HeaderMap;
use onward::Error;
use onward::call::Ask;
use onward::wire::{BulkAnswer, BulkRefusal, BulkRequest, Problem};
use onward_core::{ActOutcome, ExecutionId};

/// Default number of executions per call.
const PAGE: usize = 100;

/// Apply one act to all executions that match a filter, one page at a time.
///
/// With `dry_run` the response lists the matching executions and nothing is changed. For the next page, call again with
/// `cursor` set to `next`; the last page has no `next`.
#[utoipa::path(post, path = "/v1/bulk", tag = "operate",
    extensions(("x-roles" = json!(["operate"])), ("x-call" = json!("operate_many"))), request_body = BulkRequest, responses(
    (status = 200, description = "Results of one page", body = BulkAnswer),
))]
pub(super) async fn bulk(
    caller: Caller,
    headers: HeaderMap,
    One(request, _room): One<BulkRequest>,
) -> Answer<BulkAnswer> {
    let filter = request.filter.clone().into_filter()?;
    let found = caller.client.find(&filter, request.cursor.as_deref(), request.limit.unwrap_or(PAGE)).await?;
    let matched: Vec<ExecutionId> = found.executions.iter().map(|execution| execution.id).collect();
    let mut answer = BulkAnswer { dry_run: request.dry_run, matched, done: 0, refused: Vec::new(), next: found.next };
    if !request.dry_run {
        let (command, ids) = (caller.command(&headers, "bulk"), answer.matched.clone());
        let done: Vec<Result<ActOutcome, Error>> =
            caller.client.ask(Ask::OperateMany { command, ids, act: request.act }).await?;
        for (id, done) in answer.matched.iter().zip(done) {
            match done {
                Ok(_) => answer.done += 1,
                Err(error) => answer.refused.push(BulkRefusal { id: *id, problem: Problem::from(&error) }),
            }
        }
    }
    Ok(ok(answer))
}
