//! Reading executions.

use crate::access::Caller;
use crate::answer::{Answer, Said, ok};
use crate::app::App;
use crate::body::{Asked, InPath};
use crate::problem::Refusal;
use crate::routes::submit::WaitQuery;
use axum::extract::State;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use onward::Description;
use onward::call::{Ask, Ending};
use onward::wire::{AttemptList, CountsAnswer, FoundPage, HistoryPage, SearchQuery};
use onward_core::{ExecutionId, Explanation, Payload, Rejection, Span};
use std::sync::Arc;

/// Default number of executions per page.
const PAGE: usize = 100;

/// Search executions.
#[utoipa::path(get, path = "/v1/executions", tag = "executions",
    extensions(("x-roles" = json!(["read", "operate"])), ("x-call" = json!("find"))), params(SearchQuery), responses(
    (status = 200, description = "One page of executions", body = FoundPage),
))]
pub(super) async fn search(caller: Caller, Asked(query): Asked<SearchQuery>) -> Answer<FoundPage> {
    let filter = query.filter().into_filter()?;
    let found = caller.client.find(&filter, query.cursor.as_deref(), query.limit.unwrap_or(PAGE)).await?;
    Ok(ok(found.into()))
}

/// Count executions by state.
#[utoipa::path(get, path = "/v1/counts", tag = "executions",
    extensions(("x-roles" = json!(["read", "operate"])), ("x-call" = json!("counts"))), responses(
    (status = 200, description = "Counts by state, each counted up to 100,000", body = CountsAnswer),
))]
pub(super) async fn counts(caller: Caller) -> Answer<CountsAnswer> {
    Ok(ok(caller.client.counts().await?.into()))
}

/// Get an execution.
#[utoipa::path(get, path = "/v1/executions/{id}", tag = "executions",
    extensions(("x-roles" = json!(["submit", "work", "read", "operate"])), ("x-call" = json!("get"))),
    params(("id" = ExecutionId, Path, description = "Execution id")), responses(
    (status = 200, description = "The execution", body = Description),
))]
pub(super) async fn get(caller: Caller, InPath(id): InPath<ExecutionId>) -> Answer<Description> {
    Ok(ok(caller.client.get(id).await?.ok_or(Rejection::ExecutionNotFound(id))?))
}

/// Get the input of an execution, unchanged.
#[utoipa::path(get, path = "/v1/executions/{id}/input", tag = "executions",
    extensions(("x-roles" = json!(["submit", "work", "read", "operate"])), ("x-call" = json!("input"))),
    params(("id" = ExecutionId, Path, description = "Execution id")), responses(
    (status = 200, description = "The input, with its own content type", content((serde_json::Value = "application/json"), (Vec<u8> = "*/*"))),
))]
pub(super) async fn input(caller: Caller, InPath(id): InPath<ExecutionId>) -> Result<Response, Refusal> {
    Ok(raw(caller.client.input(id).await?.ok_or(Rejection::ExecutionNotFound(id))?))
}

/// Get the result of an execution, unchanged.
///
/// Returns 202 until the execution has ended, and 409 if it ended without a result; the code of the error names how it
/// ended.
#[utoipa::path(get, path = "/v1/executions/{id}/result", tag = "executions",
    extensions(("x-roles" = json!(["submit", "work", "read", "operate"])), ("x-call" = json!("ending"))),
    params(("id" = ExecutionId, Path, description = "Execution id"), WaitQuery), responses(
    (status = 200, description = "The result, with its own content type", content((serde_json::Value = "application/json"), (Vec<u8> = "*/*"))),
    (status = 202, description = "The execution has not ended", body = Description),
))]
pub(super) async fn result(
    State(app): State<Arc<App>>,
    caller: Caller,
    InPath(id): InPath<ExecutionId>,
    Asked(query): Asked<WaitQuery>,
) -> Result<Response, Refusal> {
    let wait = query.wait.map_or(Span(0), |span| app.wait(span));
    let ask = |wait| caller.client.ask::<Ending>(Ask::Ending { id, wait });
    let ending = tokio::select! {
        biased;
        ending = ask(wait) => ending?,
        () = app.drained() => ask(Span(0)).await?,
    };
    match ending {
        Ending::None(_) => {
            let seen = caller.client.get(id).await?.ok_or(Rejection::ExecutionNotFound(id))?;
            Ok(Said(StatusCode::ACCEPTED, seen).into_response())
        }
        ending => Ok(raw(ending.into_result(id)?)),
    }
}

/// Returns a payload unchanged. The headers keep a browser from running untrusted content.
pub(super) fn raw(payload: Payload) -> Response {
    let kind = HeaderValue::from_str(payload.content_type());
    let kind = kind.unwrap_or_else(|_| HeaderValue::from_static("application/octet-stream"));
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (HeaderName::from_static("content-security-policy"), HeaderValue::from_static("sandbox; default-src 'none'")),
    ];
    let bytes = match payload {
        Payload::Json(json) => json.as_str().to_owned().into(),
        Payload::Bytes(blob) => blob.bytes,
    };
    (headers, bytes).into_response()
}

/// List the attempts of an execution.
#[utoipa::path(get, path = "/v1/executions/{id}/attempts", tag = "executions",
    extensions(("x-roles" = json!(["submit", "work", "read", "operate"])), ("x-call" = json!("attempts"))),
    params(("id" = ExecutionId, Path, description = "Execution id")), responses(
    (status = 200, description = "Attempts, oldest first", body = AttemptList),
))]
pub(super) async fn attempts(caller: Caller, InPath(id): InPath<ExecutionId>) -> Answer<AttemptList> {
    Ok(ok(AttemptList { attempts: caller.client.attempts(id).await? }))
}

/// Get the history of an execution.
#[utoipa::path(get, path = "/v1/executions/{id}/history", tag = "executions",
    extensions(("x-roles" = json!(["submit", "work", "read", "operate"])), ("x-call" = json!("history"))),
    params(("id" = ExecutionId, Path, description = "Execution id")), responses(
    (status = 200, description = "Transitions, oldest first", body = HistoryPage),
))]
pub(super) async fn history(caller: Caller, InPath(id): InPath<ExecutionId>) -> Answer<HistoryPage> {
    Ok(ok(HistoryPage { transitions: caller.client.history(id).await? }))
}

/// Explain the state of an execution: the reason for it, and what would change it.
#[utoipa::path(get, path = "/v1/executions/{id}/why", tag = "executions",
    extensions(("x-roles" = json!(["submit", "work", "read", "operate"])), ("x-call" = json!("why"))),
    params(("id" = ExecutionId, Path, description = "Execution id")), responses(
    (status = 200, description = "The explanation", body = Explanation),
))]
pub(super) async fn why(caller: Caller, InPath(id): InPath<ExecutionId>) -> Answer<Explanation> {
    Ok(ok(caller.client.why(id).await?))
}
