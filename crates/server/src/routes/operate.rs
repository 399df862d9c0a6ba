//! Operator acts on one execution.

use crate::access::Caller;
use crate::answer::{Answer, ok};
use crate::app::App;
use crate::body::{InPath, One};
use axum::http::HeaderMap;
use onward::call::Ask;
use onward::wire::Acted;
use onward_core::{Act, ExecutionId, act};
use std::sync::Arc;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Applies an act to an execution in the caller's name. A retry with the same idempotency key returns the first response.
async fn operate(caller: &Caller, id: ExecutionId, headers: &HeaderMap, act: Act) -> Answer<Acted> {
    let command = caller.command(headers, act.name());
    Ok(ok(Acted { outcome: caller.client.ask(Ask::Operate { command, id, act }).await? }))
}

/// Declares the handlers of acts whose request body is the act. A row has a description, a name and a path.
macro_rules! acts {
    ($($(#[$about:meta])* $name:ident $path:tt $act:ident;)+) => {$(
        $(#[$about])*
        #[utoipa::path(post, path = $path, tag = "operate",
            extensions(("x-roles" = json!(["operate"])), ("x-call" = json!("operate"))),
            params(("id" = ExecutionId, Path, description = "Execution id")), request_body = act::$act, responses(
            (status = 200, description = "Outcome of the act", body = Acted),
        ))]
        pub(super) async fn $name(
            caller: Caller,
            InPath(id): InPath<ExecutionId>,
            headers: HeaderMap,
            One(act, _room): One<act::$act>,
        ) -> Answer<Acted> {
            operate(&caller, id, &headers, act.into()).await
        }
    )+

        /// The routes of all of them.
        pub(super) fn acts() -> OpenApiRouter<Arc<App>> {
            OpenApiRouter::new()$(.routes(routes!($name)))+
        }
    };
}

acts! {
    /// Cancel an execution: at once, or after its worker had time to stop.
    cancel "/v1/executions/{id}/cancel" Cancel;

    /// Set the time at which a waiting or delayed execution runs.
    reschedule "/v1/executions/{id}/reschedule" Reschedule;

    /// Set the priority of an execution.
    prioritise "/v1/executions/{id}/prioritise" Prioritise;

    /// Add and remove tags of an execution.
    tag "/v1/executions/{id}/tag" Tag;

    /// Set the note of an execution; an empty note removes it.
    annotate "/v1/executions/{id}/annotate" Annotate;

    /// Revoke the lease of a running execution, so that another worker can claim it.
    revoke "/v1/executions/{id}/revoke" Revoke;

    /// Hold an execution: no worker gets it until it is resumed.
    pause "/v1/executions/{id}/pause" Pause;

    /// Resume an execution that is held, or one that is suspended without what it waits for.
    resume "/v1/executions/{id}/resume" Resume;

    /// End a wait of a suspended execution without a signal, as if it had come.
    close_wait "/v1/executions/{id}/close_wait" CloseWait;

    /// Run an execution again that has ended, or that is held because no retry was left.
    replay "/v1/executions/{id}/replay" Replay;
}

/// Remove an ended execution and all its data.
#[utoipa::path(delete, path = "/v1/executions/{id}", tag = "operate",
    extensions(("x-roles" = json!(["operate"])), ("x-call" = json!("operate"))),
    params(("id" = ExecutionId, Path, description = "Execution id")), responses(
    (status = 200, description = "Outcome of the act", body = Acted),
))]
pub(super) async fn purge(caller: Caller, InPath(id): InPath<ExecutionId>, headers: HeaderMap) -> Answer<Acted> {
    operate(&caller, id, &headers, act::Purge {}.into()).await
}
