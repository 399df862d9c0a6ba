//! Keys.

use crate::access::Caller;
use crate::answer::{Answer, Said, ok};
use crate::app::App;
use crate::body::{InPath, One};
use axum::extract::State;
use axum::http::StatusCode;
use onward::call::Ask;
use onward::wire::{IssuedKey, KeyInfo, KeyList, NewKeyRequest};
use onward_core::ApiKeyId;
use std::sync::Arc;

/// List keys, revoked ones too. Their secret parts are known to nobody here.
#[utoipa::path(get, path = "/v1/keys", tag = "keys",
    extensions(("x-roles" = json!([])), ("x-call" = json!("keys"))), responses(
    (status = 200, description = "Oldest first", body = KeyList),
))]
pub(super) async fn list(caller: Caller) -> Answer<KeyList> {
    Ok(ok(KeyList { keys: caller.client.ask(Ask::Keys).await? }))
}

/// Issue a key. The answer is the only time that it is shown.
#[utoipa::path(post, path = "/v1/keys", tag = "keys",
    extensions(("x-roles" = json!([])), ("x-call" = json!("issue_key"))), request_body = NewKeyRequest, responses(
    (status = 201, description = "The key", body = IssuedKey),
))]
pub(super) async fn issue(caller: Caller, One(request, _room): One<NewKeyRequest>) -> Answer<IssuedKey> {
    Ok(Said(StatusCode::CREATED, caller.client.ask(Ask::IssueKey(request)).await?))
}

/// Revoke a key. It is good for nothing within two seconds, on other servers of the store too.
#[utoipa::path(delete, path = "/v1/keys/{id}", tag = "keys",
    extensions(("x-roles" = json!([])), ("x-call" = json!("revoke_key"))),
    params(("id" = ApiKeyId, Path, description = "Which")), responses(
    (status = 200, description = "The key as it is now", body = KeyInfo),
))]
pub(super) async fn revoke(
    State(app): State<Arc<App>>,
    caller: Caller,
    InPath(id): InPath<ApiKeyId>,
) -> Answer<KeyInfo> {
    let kept = caller.client.ask(Ask::RevokeKey(id)).await?;
    app.keyring.forget(id);
    Ok(ok(kept))
}
