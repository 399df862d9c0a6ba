//! Keys.

use crate::access::Caller;
use crate::answer::{Answer, Said, ok};
use crate::app::App;
use crate::body::{InPath, One};
use axum::extract::State;
use axum::http::StatusCode;
use onward::wire::{IssuedKey, KeyInfo, KeyList, NewKeyRequest};
use onward_core::ApiKeyId;
use std::sync::Arc;

/// List keys, revoked ones too. Their secret parts are known to nobody here.
#[utoipa::path(get, path = "/v1/keys", tag = "keys", responses(
    (status = 200, description = "Oldest first", body = KeyList),
))]
pub(super) async fn list(State(app): State<Arc<App>>) -> Answer<KeyList> {
    Ok(ok(KeyList { keys: app.engine().keys().await?.into_iter().map(KeyInfo::from).collect() }))
}

/// Issue a key. The answer is the only time that it is shown.
#[utoipa::path(post, path = "/v1/keys", tag = "keys", request_body = NewKeyRequest, responses(
    (status = 201, description = "The key", body = IssuedKey),
))]
pub(super) async fn issue(
    State(app): State<Arc<App>>,
    caller: Caller,
    One(request, _room): One<NewKeyRequest>,
) -> Answer<IssuedKey> {
    let (secret, new) = request.draw(app.chance());
    let kept = app.engine().issue_key(new, caller.actor).await?;
    Ok(Said(StatusCode::CREATED, IssuedKey { key: secret.reveal(kept.id), info: kept.into() }))
}

/// Revoke a key. It is good for nothing within two seconds, on other servers of the store too.
#[utoipa::path(delete, path = "/v1/keys/{id}", tag = "keys",
    params(("id" = ApiKeyId, Path, description = "Which")), responses(
    (status = 200, description = "The key as it is now", body = KeyInfo),
))]
pub(super) async fn revoke(
    State(app): State<Arc<App>>,
    caller: Caller,
    InPath(id): InPath<ApiKeyId>,
) -> Answer<KeyInfo> {
    let kept = app.engine().revoke_key(id, caller.actor).await?;
    app.keyring.forget(id);
    Ok(ok(kept.into()))
}
