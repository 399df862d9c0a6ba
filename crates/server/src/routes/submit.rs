//! Submitting executions, one or many.

use crate::access::{Caller, idempotency_key};
use crate::answer::{Answer, Said, ok};
use crate::app::App;
use crate::body::{Asked, Many, One};
use crate::problem::Refusal;
use crate::traces;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use onward::Error;
use onward::call::{Ask, Ending};
use onward::wire::{ItemAnswer, SubmitAnswer, SubmitBatch, SubmitBatchAnswer};
use onward_core::{CommandId, IdempotencyKey, Millis, NewExecution, Rejection, Span, Submitted, digest, limits};
use onward_engine::chosen_id;
use serde::Deserialize;
use std::sync::Arc;

/// Query parameters of a call that can wait until an execution ends.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct WaitQuery {
    /// Maximum wait until the execution ends, up to a minute; the response has the result if it completed by then.
    pub(super) wait: Option<Span>,
    /// Namespace, for clients that cannot set the header `Onward-Namespace`.
    #[param(value_type = Option<onward_core::Namespace>)]
    #[serde(rename = "namespace")]
    _namespace: Option<String>,
}

/// Submit an execution.
///
/// The response is sent after the execution is durable. With `wait`, it is sent when the execution has ended or the wait is
/// over.
#[utoipa::path(post, path = "/v1/executions", tag = "executions",
    extensions(("x-roles" = json!(["submit"])), ("x-call" = json!("submit"))), params(WaitQuery), request_body = NewExecution, responses(
    (status = 201, description = "The execution was created", body = SubmitAnswer),
    (status = 200, description = "An earlier execution has the same idempotency key or unique key, and is returned", body = SubmitAnswer),
))]
pub(super) async fn submit(
    State(app): State<Arc<App>>,
    caller: Caller,
    Asked(query): Asked<WaitQuery>,
    headers: HeaderMap,
    One(mut new, room): One<NewExecution>,
) -> Answer<SubmitAnswer> {
    new.namespace = caller.client.namespace().clone();
    keyed(&mut new, &headers)?;
    new.trace = new.trace.or_else(|| traces::of(&headers));
    let submitted: Submitted = caller.client.ask(Ask::Submit(Box::new(new))).await?;
    let status = if submitted.created { StatusCode::CREATED } else { StatusCode::OK };
    let mut answer = SubmitAnswer::from(submitted);
    if let Some(span) = query.wait {
        drop(room);
        // It is submitted, whatever comes of the waiting.
        answer = match wait(&app, &caller, answer.clone(), app.wait(span)).await {
            Ok(waited) => waited,
            Err(refusal) => {
                tracing::warn!(code = refusal.0.code, "the end of an execution could not be waited for");
                answer
            }
        };
    }
    Ok(Said(status, answer))
}

/// Names the call by the header. A unique key decides where the execution lives, so that the header cannot be a key
/// beside it; the key's record remembers the call instead.
fn keyed(new: &mut NewExecution, headers: &HeaderMap) -> Result<(), Refusal> {
    let Some(key) = idempotency_key(headers)? else { return Ok(()) };
    if new.unique_key.is_some() {
        new.call = Some(CommandId::of(&[new.namespace.as_str().as_bytes(), b"submit", key.as_str().as_bytes()]));
        return Ok(());
    }
    if new.idempotency_key.as_ref().is_some_and(|other| *other != key) {
        let why = "the header and the body have different idempotency keys".to_owned();
        return Err(Rejection::InvalidArgument { field: "idempotency_key", why }.into());
    }
    new.idempotency_key = Some(key);
    Ok(())
}

/// Names one item of a call that has a name, so that the item is found by a repeat of the call. An item with a key or an
/// id of its own keeps it.
fn name_item(new: &mut NewExecution, key: &IdempotencyKey, at: usize) {
    let (namespace, key) = (new.namespace.as_str().as_bytes(), key.as_str().as_bytes());
    let (call, item) = (digest([namespace, key]), digest([namespace, key, &at.to_le_bytes()]));
    if new.unique_key.is_some() {
        new.call = Some(CommandId(item));
    } else if new.idempotency_key.is_none() && new.uuid.is_none() {
        // Items that share a commit share the part of the id that decides where they go.
        let time = Millis((call >> 80) as u64);
        new.uuid = Some(chosen_id(time, item, at / limits::BATCH_COMMANDS_MAX));
    }
}

async fn wait(app: &App, caller: &Caller, answer: SubmitAnswer, span: Span) -> Result<SubmitAnswer, Refusal> {
    let ask = |wait| caller.client.ask::<Ending>(Ask::Ending { id: answer.id, wait });
    let mut ending = tokio::select! {
        biased;
        ending = ask(span) => ending?,
        () = app.drained() => ask(Span(0)).await?,
    };
    let execution = caller.client.get(answer.id).await?.map(Box::new);
    // It may have ended between the two looks.
    if matches!(ending, Ending::None(_)) && execution.as_ref().is_some_and(|seen| seen.state.outcome().is_some()) {
        ending = ask(Span(0)).await?;
    }
    let answer = SubmitAnswer { execution, ..answer };
    Ok(match ending {
        Ending::Success(result) => answer.with_result(result),
        _ => answer,
    })
}

/// Submit up to 1,000 executions in one call; each succeeds or fails on its own.
#[utoipa::path(post, path = "/v1/executions/batch", tag = "executions",
    extensions(("x-roles" = json!(["submit"])), ("x-call" = json!("submit_many"))), request_body = SubmitBatch, responses(
    (status = 200, description = "Results, in the order of the request", body = SubmitBatchAnswer),
))]
pub(super) async fn submit_batch(
    caller: Caller,
    headers: HeaderMap,
    Many(batch, _room): Many<SubmitBatch>,
) -> Answer<SubmitBatchAnswer> {
    let mut many = batch.executions;
    let key = idempotency_key(&headers)?;
    for (at, new) in many.iter_mut().enumerate() {
        new.namespace = caller.client.namespace().clone();
        if let Some(key) = &key {
            name_item(new, key, at);
        }
    }
    let answers: Vec<Result<Submitted, Error>> = caller.client.ask(Ask::SubmitMany(many)).await?;
    let results = answers.into_iter().map(|answer| ItemAnswer::of(answer, SubmitAnswer::from));
    Ok(ok(SubmitBatchAnswer { results: results.collect() }))
}
