//! What operators do with one execution.

use crate::access::Caller;
use crate::answer::{Answer, ok};
use crate::body::{InPath, One};
use axum::http::HeaderMap;
use onward::call::Ask;
use onward::wire::Acted;
use onward_core::{Act, ExecutionId, act};

/// Does one thing with an execution, under the caller's name. A repeat with the same key gets the first answer.
async fn operate(caller: &Caller, id: ExecutionId, headers: &HeaderMap, act: Act) -> Answer<Acted> {
    let command = caller.command(headers, act.name());
    Ok(ok(Acted { outcome: caller.client.ask(Ask::Operate { command, id, act }).await? }))
}

/// Handlers of the acts whose bodies are the acts themselves. A row holds the description of an act, its name and its path.
macro_rules! acts {
    ($($(#[$about:meta])* $name:ident $path:tt $act:ident;)+) => {$(
        $(#[$about])*
        #[utoipa::path(post, path = $path, tag = "operate",
            extensions(("x-roles" = json!(["operate"])), ("x-call" = json!("operate"))),
            params(("id" = ExecutionId, Path, description = "Which")), request_body = act::$act, responses(
            (status = 200, description = "What came of it", body = Acted),
        ))]
        pub(super) async fn $name(
            caller: Caller,
            InPath(id): InPath<ExecutionId>,
            headers: HeaderMap,
            One(act, _room): One<act::$act>,
        ) -> Answer<Acted> {
            operate(&caller, id, &headers, act.into()).await
        }
    )+};
}

acts! {
    /// Cancel an execution, at once or after its worker had time to stop.
    cancel "/v1/executions/{id}/cancel" Cancel;

    /// Choose when a waiting execution runs.
    reschedule "/v1/executions/{id}/reschedule" Reschedule;

    /// Choose the place of an execution in its queue.
    prioritise "/v1/executions/{id}/prioritise" Prioritise;

    /// Add and remove labels of an execution.
    tag "/v1/executions/{id}/tag" Tag;

    /// Take an execution away from its worker; it is ready again at once.
    revoke "/v1/executions/{id}/revoke" Revoke;

    /// Run an execution again that has ended.
    replay "/v1/executions/{id}/replay" Replay;
}

/// Remove an execution that has ended, with all that belongs to it.
#[utoipa::path(delete, path = "/v1/executions/{id}", tag = "operate",
    extensions(("x-roles" = json!(["operate"])), ("x-call" = json!("operate"))),
    params(("id" = ExecutionId, Path, description = "Which")), responses(
    (status = 200, description = "What came of it", body = Acted),
))]
pub(super) async fn purge(caller: Caller, InPath(id): InPath<ExecutionId>, headers: HeaderMap) -> Answer<Acted> {
    operate(&caller, id, &headers, act::Purge {}.into()).await
}
