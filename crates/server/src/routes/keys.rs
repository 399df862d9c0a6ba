//! API keys.

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

/// List API keys, including revoked ones. The secret of a key is never returned.
#[utoipa::path(get, path = "/v1/keys", tag = "keys",
    extensions(("x-roles" = json!([])), ("x-call" = json!("keys"))), responses(
    (status = 200, description = "API keys, oldest first", body = KeyList),
))]
pub(super) async fn list(caller: Caller) -> Answer<KeyList> {
    Ok(ok(KeyList { keys: caller.client.ask(Ask::Keys).await? }))
}

/// Issue an API key. Only this response contains the key.
#[utoipa::path(post, path = "/v1/keys", tag = "keys",
    extensions(("x-roles" = json!([])), ("x-call" = json!("issue_key"))), request_body = NewKeyRequest, responses(
    (status = 201, description = "The API key", body = IssuedKey),
))]
pub(super) async fn issue(caller: Caller, One(request, _room): One<NewKeyRequest>) -> Answer<IssuedKey> {
    Ok(Said(StatusCode::CREATED, caller.client.ask(Ask::IssueKey(request)).await?))
}

/// Revoke an API key. Every server that shares the store refuses it within two seconds.
#[utoipa::path(delete, path = "/v1/keys/{id}", tag = "keys",
    extensions(("x-roles" = json!([])), ("x-call" = json!("revoke_key"))),
    params(("id" = ApiKeyId, Path, description = "API key id")), responses(
    (status = 200, description = "The revoked API key", body = KeyInfo),
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
