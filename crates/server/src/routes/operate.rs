//! What operators do with one execution.

use crate::access::Caller;
use crate::answer::{Said, ok};
use crate::app::App;
use crate::body::{InPath, One};
use crate::problem::Refusal;
use axum::extract::State;
use axum::http::HeaderMap;
use onward::wire::{Acted, CancelRequest, PriorityRequest, ReasonRequest, RescheduleRequest, TagsRequest};
use onward_core::{Act, ExecutionId, Operate};
use std::sync::Arc;

type Answer = Result<Said<Acted>, Refusal>;

/// Does one thing with an execution, under the caller's name. A repeat with the same key gets the first answer.
async fn act(app: &App, caller: &Caller, id: ExecutionId, headers: &HeaderMap, act: Act) -> Answer {
    let namespace = caller.client.namespace().clone();
    let command = caller.command(headers, act.name()).unwrap_or_else(|| app.engine().command_id());
    let operate = Operate { command, namespace, execution: id, by: caller.actor.clone(), act };
    Ok(ok(Acted { did: app.engine().operate_with(operate).await? }))
}

/// Cancel an execution, at once or after its worker had time to stop.
#[utoipa::path(post, path = "/v1/executions/{id}/cancel", tag = "operate",
    params(("id" = ExecutionId, Path, description = "Which")), request_body = CancelRequest, responses(
    (status = 200, description = "What came of it", body = Acted),
))]
pub(super) async fn cancel(
    State(app): State<Arc<App>>,
    caller: Caller,
    InPath(id): InPath<ExecutionId>,
    headers: HeaderMap,
    One(request, _room): One<CancelRequest>,
) -> Answer {
    act(&app, &caller, id, &headers, request.into()).await
}

/// Choose when a waiting execution runs.
#[utoipa::path(post, path = "/v1/executions/{id}/reschedule", tag = "operate",
    params(("id" = ExecutionId, Path, description = "Which")), request_body = RescheduleRequest, responses(
    (status = 200, description = "What came of it", body = Acted),
))]
pub(super) async fn reschedule(
    State(app): State<Arc<App>>,
    caller: Caller,
    InPath(id): InPath<ExecutionId>,
    headers: HeaderMap,
    One(request, _room): One<RescheduleRequest>,
) -> Answer {
    act(&app, &caller, id, &headers, request.into_act()?).await
}

/// Choose the place of an execution in its queue.
#[utoipa::path(post, path = "/v1/executions/{id}/priority", tag = "operate",
    params(("id" = ExecutionId, Path, description = "Which")), request_body = PriorityRequest, responses(
    (status = 200, description = "What came of it", body = Acted),
))]
pub(super) async fn priority(
    State(app): State<Arc<App>>,
    caller: Caller,
    InPath(id): InPath<ExecutionId>,
    headers: HeaderMap,
    One(request, _room): One<PriorityRequest>,
) -> Answer {
    act(&app, &caller, id, &headers, request.into()).await
}

/// Add and remove labels of an execution.
#[utoipa::path(post, path = "/v1/executions/{id}/tags", tag = "operate",
    params(("id" = ExecutionId, Path, description = "Which")), request_body = TagsRequest, responses(
    (status = 200, description = "What came of it", body = Acted),
))]
pub(super) async fn tags(
    State(app): State<Arc<App>>,
    caller: Caller,
    InPath(id): InPath<ExecutionId>,
    headers: HeaderMap,
    One(request, _room): One<TagsRequest>,
) -> Answer {
    act(&app, &caller, id, &headers, request.into()).await
}

/// Take an execution away from its worker; it is ready again at once.
#[utoipa::path(post, path = "/v1/executions/{id}/revoke", tag = "operate",
    params(("id" = ExecutionId, Path, description = "Which")), request_body = ReasonRequest, responses(
    (status = 200, description = "What came of it", body = Acted),
))]
pub(super) async fn revoke(
    State(app): State<Arc<App>>,
    caller: Caller,
    InPath(id): InPath<ExecutionId>,
    headers: HeaderMap,
    One(request, _room): One<ReasonRequest>,
) -> Answer {
    act(&app, &caller, id, &headers, Act::Revoke { lease: None, reason: request.reason }).await
}

/// Run an execution again that has ended.
#[utoipa::path(post, path = "/v1/executions/{id}/replay", tag = "operate",
    params(("id" = ExecutionId, Path, description = "Which")), request_body = ReasonRequest, responses(
    (status = 200, description = "What came of it", body = Acted),
))]
pub(super) async fn replay(
    State(app): State<Arc<App>>,
    caller: Caller,
    InPath(id): InPath<ExecutionId>,
    headers: HeaderMap,
    One(request, _room): One<ReasonRequest>,
) -> Answer {
    act(&app, &caller, id, &headers, Act::Replay { reason: request.reason, deadline: None }).await
}

/// Remove an execution that has ended, with all that belongs to it.
#[utoipa::path(delete, path = "/v1/executions/{id}", tag = "operate",
    params(("id" = ExecutionId, Path, description = "Which")), responses(
    (status = 200, description = "What came of it", body = Acted),
))]
pub(super) async fn purge(
    State(app): State<Arc<App>>,
    caller: Caller,
    InPath(id): InPath<ExecutionId>,
    headers: HeaderMap,
) -> Answer {
    act(&app, &caller, id, &headers, Act::Purge).await
}
