//! What operators do with one execution.

use crate::access::Caller;
use crate::answer::{Answer, ok};
use crate::app::App;
use crate::body::{InPath, One};
use axum::extract::State;
use axum::http::HeaderMap;
use onward::wire::{Acted, CancelRequest, PriorityRequest, ReasonRequest, RescheduleRequest, TagsRequest};
use onward_core::{Act, ExecutionId, Operate};
use std::sync::Arc;

/// Does one thing with an execution, under the caller's name. A repeat with the same key gets the first answer.
async fn act(app: &App, caller: &Caller, id: ExecutionId, headers: &HeaderMap, act: Act) -> Answer<Acted> {
    let namespace = caller.client.namespace().clone();
    let command = caller.command(headers, act.name()).unwrap_or_else(|| app.engine().command_id());
    let operate = Operate { command, namespace, execution: id, by: caller.actor.clone(), act };
    Ok(ok(Acted { did: app.engine().operate_with(operate).await? }))
}

/// Handlers that do one thing with the execution in their path. A row holds the description, the name and the path of a
/// handler, its body, and what it does.
macro_rules! handlers {
    ($($(#[$about:meta])* $name:ident $path:tt |$request:ident: $body:ident| $act:expr;)+) => {$(
        $(#[$about])*
        #[utoipa::path(post, path = $path, tag = "operate",
            params(("id" = ExecutionId, Path, description = "Which")), request_body = $body, responses(
            (status = 200, description = "What came of it", body = Acted),
        ))]
        pub(super) async fn $name(
            State(app): State<Arc<App>>,
            caller: Caller,
            InPath(id): InPath<ExecutionId>,
            headers: HeaderMap,
            One($request, _room): One<$body>,
        ) -> Answer<Acted> {
            act(&app, &caller, id, &headers, $act).await
        }
    )+};
}

handlers! {
    /// Cancel an execution, at once or after its worker had time to stop.
    cancel "/v1/executions/{id}/cancel" |request: CancelRequest| request.into();

    /// Choose when a waiting execution runs.
    reschedule "/v1/executions/{id}/reschedule" |request: RescheduleRequest| request.into_act()?;

    /// Choose the place of an execution in its queue.
    priority "/v1/executions/{id}/priority" |request: PriorityRequest| request.into();

    /// Add and remove labels of an execution.
    tags "/v1/executions/{id}/tags" |request: TagsRequest| request.into();

    /// Take an execution away from its worker; it is ready again at once.
    revoke "/v1/executions/{id}/revoke" |request: ReasonRequest| Act::Revoke { lease: None, reason: request.reason };

    /// Run an execution again that has ended.
    replay "/v1/executions/{id}/replay" |request: ReasonRequest| Act::Replay { reason: request.reason, deadline: None };
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
) -> Answer<Acted> {
    act(&app, &caller, id, &headers, Act::Purge).await
}
