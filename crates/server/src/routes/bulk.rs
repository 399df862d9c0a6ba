//! Doing the same with all executions that match a filter: an act, or a signal.

use crate::access::Caller;
use crate::answer::{Answer, ok};
use crate::body::One;
use axum::http::HeaderMap;
use onward::Error;
use onward::call::Ask;
use onward::wire::{BulkAnswer, BulkRefusal, BulkRequest, BulkSignalRequest, FilterFields, Problem};
use onward_core::{ActOutcome, ExecutionId, Signalled};

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
    let BulkRequest { filter, act, dry_run, cursor, limit } = request;
    bulk_of(&caller, Page { filter, dry_run, cursor, limit }, async |ids| {
        let ask = Ask::OperateMany { command: caller.command(&headers, "bulk"), ids, act };
        let done: Vec<Result<ActOutcome, Error>> = caller.client.ask(ask).await?;
        Ok(done.into_iter().map(|done| done.map(drop)).collect())
    })
    .await
}

/// Send the same signal to all executions that match a filter, one page at a time.
///
/// With `dry_run` the response lists the matching executions and no signal is sent. For the next page, call again with `cursor`
/// set to `next`; the last page has no `next`.
#[utoipa::path(post, path = "/v1/bulk/signals", tag = "operate",
    extensions(("x-roles" = json!(["operate"])), ("x-call" = json!("signal_many"))), request_body = BulkSignalRequest, responses(
    (status = 200, description = "Results of one page", body = BulkAnswer),
))]
pub(super) async fn signals(
    caller: Caller,
    headers: HeaderMap,
    One(request, _room): One<BulkSignalRequest>,
) -> Answer<BulkAnswer> {
    let BulkSignalRequest { filter, signal, dry_run, cursor, limit } = request;
    bulk_of(&caller, Page { filter, dry_run, cursor, limit }, async |ids| {
        let (command, signal) = (caller.command(&headers, "bulk_signals"), Box::new(signal));
        let sent: Vec<Result<Signalled, Error>> = caller.client.ask(Ask::SignalMany { command, ids, signal }).await?;
        Ok(sent.into_iter().map(|sent| sent.map(drop)).collect())
    })
    .await
}

/// Which executions one call is about.
struct Page {
    filter: FilterFields,
    dry_run: bool,
    cursor: Option<String>,
    limit: Option<usize>,
}

/// Finds a page of executions and does something with all of them, each on its own.
async fn bulk_of(
    caller: &Caller,
    Page { filter, dry_run, cursor, limit }: Page,
    carry_out: impl AsyncFnOnce(Vec<ExecutionId>) -> Result<Vec<Result<(), Error>>, Error>,
) -> Answer<BulkAnswer> {
    let filter = filter.into_filter()?;
    let found = caller.client.find(&filter, cursor.as_deref(), limit.unwrap_or(PAGE)).await?;
    let matched: Vec<ExecutionId> = found.executions.iter().map(|execution| execution.id).collect();
    let mut answer = BulkAnswer { dry_run, matched, done: 0, refused: Vec::new(), next: found.next };
    if !dry_run {
        let done = carry_out(answer.matched.clone()).await?;
        for (id, done) in answer.matched.iter().zip(done) {
            match done {
                Ok(()) => answer.done += 1,
                Err(error) => answer.refused.push(BulkRefusal { id: *id, problem: Problem::from(&error) }),
            }
        }
    }
    Ok(ok(answer))
}
