//! Submitting work, one piece or many.

use crate::access::{Caller, IDEMPOTENCY_KEY};
use crate::answer::{Answer, Said, ok};
use crate::app::App;
use crate::body::{Asked, Many, One};
use crate::problem::Refusal;
use crate::traces;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use onward::wire::{ItemAnswer, Length, NewWork, SubmitAnswer, SubmitBatch, SubmitBatchAnswer};
use onward::{Description, Error};
use onward_core::record::State as Stage;
use onward_core::{PayloadSlot, Rejection};
use onward_engine::NewExecution;
use serde::Deserialize;
use std::sync::Arc;

/// Query parameters of a call that can wait for the end of an execution.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct WaitQuery {
    /// Waits this long for the end, at most a minute, and answers with the result if it is there in time.
    pub(super) wait: Option<Length>,
    /// Whose work; the header `Onward-Namespace` says the same.
    #[param(value_type = Option<onward_core::Namespace>)]
    #[serde(rename = "namespace")]
    _namespace: Option<String>,
}

/// Submit an execution.
///
/// Once this answers, the execution is durable. With `wait`, the answer comes when it has ended or the time is up.
#[utoipa::path(post, path = "/v1/executions", tag = "executions", params(WaitQuery), request_body = NewWork, responses(
    (status = 201, description = "Accepted", body = SubmitAnswer),
    (status = 200, description = "A key stands for an earlier execution, which is answered", body = SubmitAnswer),
))]
pub(super) async fn submit(
    State(app): State<Arc<App>>,
    caller: Caller,
    Asked(query): Asked<WaitQuery>,
    headers: HeaderMap,
    One(work, room): One<NewWork>,
) -> Answer<SubmitAnswer> {
    let mut new = work.into_new(&caller.client)?;
    keyed(&mut new, &headers)?;
    new.trace = new.trace.or_else(|| traces::of(&headers));
    let submitted = app.engine().submit(new).await?;
    let status = if submitted.created { StatusCode::CREATED } else { StatusCode::OK };
    let mut answer = SubmitAnswer::from(submitted);
    if let Some(Length(span)) = query.wait {
        drop(room);
        // It is submitted, whatever comes of the waiting.
        answer = match wait(&app, answer.clone(), app.wait(span)).await {
            Ok(waited) => waited,
            Err(refusal) => {
                tracing::warn!(code = refusal.0.code, "the end of an execution could not be waited for");
                answer
            }
        };
    }
    Ok(Said(status, answer))
}

/// Takes over the key in the header.
fn keyed(new: &mut NewExecution, headers: &HeaderMap) -> Result<(), Refusal> {
    let Some(value) = headers.get(IDEMPOTENCY_KEY) else { return Ok(()) };
    let key = value.to_str().unwrap_or("\u{0}").parse().map_err(|error| Refusal::from(Error::Name(error)));
    let key = key.map_err(|refusal| refusal.about("Idempotency-Key"))?;
    if new.idempotency_key.as_ref().is_some_and(|other| *other != key) {
        let why = "the header and the body name different keys".to_owned();
        return Err(Rejection::InvalidArgument { field: "idempotency_key", why }.into());
    }
    new.idempotency_key = Some(key);
    Ok(())
}

async fn wait(app: &App, answer: SubmitAnswer, span: onward_core::Span) -> Result<SubmitAnswer, Refusal> {
    let waited = tokio::select! {
        biased;
        found = app.engine().wait(answer.id, span) => found?,
        () = app.drained() => app.engine().get(answer.id).await?,
    };
    let Some(execution) = waited else { return Ok(answer) };
    let execution_description = Some(Box::new(Description::of(&execution)));
    let answer = SubmitAnswer { execution: execution_description, ..answer };
    if !matches!(execution.state, Stage::Finished(_)) {
        return Ok(answer);
    }
    Ok(match app.engine().payload(&execution, PayloadSlot::Result).await? {
        Some(result) => answer.with_result(result),
        None => answer,
    })
}

/// Submit up to 1,000 executions together, each on its own.
#[utoipa::path(post, path = "/v1/executions/batch", tag = "executions", request_body = SubmitBatch, responses(
    (status = 200, description = "The answers, in the same order", body = SubmitBatchAnswer),
))]
pub(super) async fn submit_batch(
    State(app): State<Arc<App>>,
    caller: Caller,
    Many(batch, _room): Many<SubmitBatch>,
) -> Answer<SubmitBatchAnswer> {
    let count = batch.executions.len();
    let (mut good, mut places) = (Vec::with_capacity(count), Vec::with_capacity(count));
    for work in batch.executions {
        places.push(work.into_new(&caller.client).map(|new| good.push(new)));
    }
    let mut answers = app.engine().submit_many(good).await?.into_iter();
    let results = places.into_iter().map(|place| {
        let missing = || Err(onward_engine::Error::Internal("a submit was not answered".into()));
        let submitted = place.and_then(|()| answers.next().unwrap_or_else(missing).map_err(Error::from));
        ItemAnswer::of(submitted, SubmitAnswer::from)
    });
    Ok(ok(SubmitBatchAnswer { results: results.collect() }))
}
