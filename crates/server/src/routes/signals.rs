//! Signals to executions, and what executions wait for.

use crate::access::Caller;
use crate::answer::{Answer, ok};
use crate::body::{BothInPath, InPath, One};
use crate::problem::Refusal;
use crate::routes::executions::raw;
use axum::http::HeaderMap;
use axum::response::Response;
use onward::call::Ask;
use onward::wire::WaitsInfo;
use onward_core::{ExecutionId, NewSignal, Rejection, SignalId, Signalled};

/// Send a signal to an execution.
///
/// A signal that no wait takes yet is kept. A repeat with the same `Idempotency-Key`, or with the same `idempotency_key` for
/// the same wait, returns the first result, whatever followed.
#[utoipa::path(post, path = "/v1/executions/{id}/signals", tag = "signals",
    extensions(("x-roles" = json!(["submit", "operate"])), ("x-call" = json!("signal"))),
    params(("id" = ExecutionId, Path, description = "Execution id")), request_body = NewSignal, responses(
    (status = 200, description = "What the signal did", body = Signalled),
))]
pub(super) async fn send(
    caller: Caller,
    InPath(id): InPath<ExecutionId>,
    headers: HeaderMap,
    One(signal, _room): One<NewSignal>,
) -> Answer<Signalled> {
    let command = caller.command(&headers, "signal");
    Ok(ok(caller.client.ask(Ask::Signal { command, id, signal: Box::new(signal) }).await?))
}

/// List what an execution waits for, the waits that are over, and the signals that were sent to it.
#[utoipa::path(get, path = "/v1/executions/{id}/waits", tag = "signals",
    extensions(("x-roles" = json!(["submit", "work", "read", "operate"])), ("x-call" = json!("waits"))),
    params(("id" = ExecutionId, Path, description = "Execution id")), responses(
    (status = 200, description = "Waits and signals, newest first, up to 100 of each", body = WaitsInfo),
))]
pub(super) async fn waits(caller: Caller, InPath(id): InPath<ExecutionId>) -> Answer<WaitsInfo> {
    Ok(ok(caller.client.waits(id).await?))
}

/// Get what a signal carries, unchanged.
#[utoipa::path(get, path = "/v1/executions/{id}/signals/{signal}", tag = "signals",
    extensions(("x-roles" = json!(["submit", "work", "read", "operate"])), ("x-call" = json!("signal_payload"))),
    params(("id" = ExecutionId, Path, description = "Execution id"), ("signal" = SignalId, Path, description = "Signal id")),
    responses(
    (status = 200, description = "The payload, with its own content type", content((serde_json::Value = "application/json"), (Vec<u8> = "*/*"))),
))]
pub(super) async fn payload(
    caller: Caller,
    BothInPath(id, signal): BothInPath<ExecutionId, SignalId>,
) -> Result<Response, Refusal> {
    let found = caller.client.signal_payload(id, signal).await?;
    Ok(raw(found.ok_or(Rejection::SignalNotFound { execution: id, signal })?))
}
