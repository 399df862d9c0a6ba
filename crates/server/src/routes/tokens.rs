//! Tokens: text that lets a person answer one wait of an execution, without an API key.

use crate::access::Caller;
use crate::answer::{Answer, Said, ok};
use crate::app::App;
use crate::body::{InPath, One, Small};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use onward::call::Ask;
use onward::wire::{
    DescribeTokenRequest, MintedToken, RotateTokenKeysRequest, TokenInfo, TokenKeyList, TokenSignalRequest,
};
use onward_core::{ExecutionId, Namespace, NewToken, Signalled};
use std::sync::Arc;

/// Make a token for a wait of an execution. Only this response contains the token.
///
/// Its holder sends a signal with `POST /v1/signals` and nothing but the token, or on the page `/approve#TOKEN`.
#[utoipa::path(post, path = "/v1/executions/{id}/tokens", tag = "tokens",
    extensions(("x-roles" = json!(["work", "operate"])), ("x-call" = json!("mint_token"))),
    params(("id" = ExecutionId, Path, description = "Execution id")), request_body = NewToken, responses(
    (status = 201, description = "The token", body = MintedToken),
))]
pub(super) async fn mint(
    caller: Caller,
    InPath(id): InPath<ExecutionId>,
    One(new, _room): One<NewToken>,
) -> Answer<MintedToken> {
    let minted: Box<MintedToken> = caller.client.ask(Ask::MintToken { id, new: Box::new(new) }).await?;
    Ok(Said(StatusCode::CREATED, *minted))
}

/// Send the signal of a token's holder.
///
/// The token says for which wait of which execution it is, and who sends it. The first signal of a person stands: a second one
/// returns the first result. The body has at most 16 KiB.
#[utoipa::path(post, path = "/v1/signals", tag = "tokens",
    extensions(("x-roles" = json!("token")), ("x-call" = json!("signal_by_token"))),
    request_body = TokenSignalRequest, responses(
    (status = 200, description = "What the signal did", body = Signalled),
))]
pub(super) async fn signal(
    State(app): State<Arc<App>>,
    Small(request): Small<TokenSignalRequest>,
) -> Answer<Signalled> {
    let client = app.client(&Namespace::default());
    Ok(ok(client.ask(Ask::SignalByToken(Box::new(request))).await?))
}

/// Check a token and describe what it is about; nothing is changed.
#[utoipa::path(post, path = "/v1/signals/describe", tag = "tokens",
    extensions(("x-roles" = json!("token")), ("x-call" = json!("describe_token"))),
    request_body = DescribeTokenRequest, responses(
    (status = 200, description = "What the token is about", body = TokenInfo),
))]
pub(super) async fn describe(
    State(app): State<Arc<App>>,
    Small(DescribeTokenRequest { token }): Small<DescribeTokenRequest>,
) -> Answer<TokenInfo> {
    Ok(ok(app.client(&Namespace::default()).describe_token(token).await?))
}

/// List the keys that sign tokens. Their secrets are never returned.
#[utoipa::path(get, path = "/v1/token-keys", tag = "tokens",
    extensions(("x-roles" = json!([])), ("x-call" = json!("token_keys"))), responses(
    (status = 200, description = "The keys, oldest first", body = TokenKeyList),
))]
pub(super) async fn keys(caller: Caller) -> Answer<TokenKeyList> {
    Ok(ok(TokenKeyList { keys: caller.client.token_keys().await? }))
}

/// Make a new key that signs tokens. Tokens of the keys before it are good for `grace` longer at the most.
#[utoipa::path(post, path = "/v1/token-keys", tag = "tokens",
    extensions(("x-roles" = json!([])), ("x-call" = json!("rotate_token_keys"))),
    request_body = RotateTokenKeysRequest, responses(
    (status = 200, description = "All keys, oldest first", body = TokenKeyList),
))]
pub(super) async fn rotate(
    caller: Caller,
    headers: HeaderMap,
    One(RotateTokenKeysRequest { grace }, _room): One<RotateTokenKeysRequest>,
) -> Answer<TokenKeyList> {
    let command = caller.command(&headers, "rotate_token_keys");
    Ok(ok(TokenKeyList { keys: caller.client.ask(Ask::RotateTokenKeys { command, grace }).await? }))
}
