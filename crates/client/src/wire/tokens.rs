//! Tokens over HTTP: made, described and used.

use onward_core::record::{Readiness, SignalEffect, State, TokenKey, TokenKeys, WaitRef, Waiting};
use onward_core::{
    Actor, Blob, ExecutionId, Json, Kind, Millis, Reason, SignalName, Span, TokenBody, TokenKeyId, TokenText,
};
use onward_engine::{Minted, SignalContent, TokenSubject, VerifiedToken};
use serde::{Deserialize, Serialize};

/// A new token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MintedToken {
    /// The token itself. It is returned once and not stored.
    pub token: TokenText,
    /// The wait that it is good for.
    pub wait: WaitRef,
    /// Time at which it expires.
    pub expires_at: Millis,
}

impl MintedToken {
    /// A link to the page of a server at which its holder answers. The token stands behind the `#`, which browsers do not send.
    #[must_use]
    pub fn link(&self, server: &str) -> String {
        format!("{}/approve#{}", server.trim_end_matches('/'), self.token.reveal())
    }
}

/// A token to check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct DescribeTokenRequest {
    /// The token.
    pub token: TokenText,
}

/// The signal of a token's holder.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct TokenSignalRequest {
    /// The token, which says for which wait of which execution the signal is, and whose.
    pub token: TokenText,
    /// Name of the signal, such as `approved`; one of those that the token allows.
    pub name: Option<SignalName>,
    /// What it carries, any JSON; `null` when absent.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<serde_json::Value>))]
    pub payload: Option<Json>,
    /// What it carries as bytes that are not JSON; not together with `payload`.
    pub payload_bytes: Option<Blob>,
}

/// What a token is about.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = TokenDescription))]
pub struct TokenInfo {
    /// The execution.
    pub execution: ExecutionId,
    /// Kind of the execution.
    pub kind: Kind,
    /// The wait that it is good for.
    pub wait: WaitRef,
    /// Whose it is.
    pub actor: Actor,
    /// Who made it, if that caller was known by name.
    pub minted_by: Option<Actor>,
    /// What the execution waits for, as its worker put it.
    pub title: Option<Reason>,
    /// Names of signals that can be sent; any when empty.
    pub choices: Vec<SignalName>,
    /// Whether a signal would still do something.
    pub state: TokenState,
    /// The signal that its holder has sent already; another one changes nothing.
    pub sent: Option<SentInfo>,
    /// Time from which on it is good for nothing.
    pub expires_at: Millis,
}

/// Whether the wait of a token takes a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum TokenState {
    /// The execution waits for it.
    Open,
    /// The execution does not wait for it yet; a signal is kept.
    Early,
    /// The wait is over.
    Over,
}

/// A signal that was sent before.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = SentSignal))]
pub struct SentInfo {
    /// Its name, if it has one.
    pub name: Option<SignalName>,
    /// Time at which it was accepted.
    pub at: Millis,
    /// What it did then.
    pub effect: SignalEffect,
}

/// How to rotate the keys that sign tokens.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct RotateTokenKeysRequest {
    /// How long tokens of the keys before the new one are good; seven days when absent. With 0 all tokens end at once.
    pub grace: Option<Span>,
}

/// A key that signs tokens, without its secret.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = TokenKey))]
pub struct TokenKeyInfo {
    /// Its id, which tokens name.
    pub id: TokenKeyId,
    /// Time at which it was made.
    pub created_at: Millis,
    /// Whether new tokens are signed with it.
    pub signs: bool,
    /// Whether it is bound to a secret from outside the store.
    pub bound: bool,
    /// Time at which it expires; absent for the newest key.
    pub expires_at: Option<Millis>,
}

/// All keys that sign tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TokenKeyList {
    /// The keys, oldest first.
    pub keys: Vec<TokenKeyInfo>,
}

impl From<Minted> for MintedToken {
    fn from(Minted { token, body }: Minted) -> Self {
        Self { token, wait: body.wait.wait, expires_at: body.expires_at }
    }
}

impl TokenSignalRequest {
    /// A signal without a name that carries `null`.
    #[must_use]
    pub fn new(token: TokenText) -> Self {
        Self { token, name: None, payload: None, payload_bytes: None }
    }

    /// The token, and what its holder says.
    pub(crate) fn into_parts(self) -> (TokenText, SignalContent) {
        let Self { token, name, payload, payload_bytes } = self;
        (token, SignalContent { name, payload, payload_bytes })
    }
}

impl TokenInfo {
    pub(crate) fn of(token: VerifiedToken, subject: TokenSubject) -> Self {
        let VerifiedToken { body: TokenBody { wait, actor, names, execution: id, by, .. }, not_after } = token;
        let TokenSubject { execution, over, sent } = subject;
        let suspension = match &execution.state {
            // Another life waits for itself.
            State::Waiting(Waiting { readiness: Readiness::Suspended(suspension), .. })
                if execution.life == wait.life && suspension.condition.waits().contains(&wait.wait) =>
            {
                Some(suspension)
            }
            _ => None,
        };
        let state = match (over, suspension) {
            (true, _) => TokenState::Over,
            (false, Some(_)) => TokenState::Open,
            (false, None) => TokenState::Early,
        };
        let choices = match suspension {
            Some(suspension) if names.is_empty() => {
                suspension.condition.names(&wait.wait).into_iter().cloned().collect()
            }
            _ => names,
        };
        Self {
            execution: id,
            kind: execution.kind.clone(),
            wait: wait.wait,
            actor,
            minted_by: by,
            title: suspension.map(|suspension| suspension.reason.clone()).filter(|reason| !reason.is_empty()),
            choices,
            state,
            sent: sent.map(|sent| SentInfo { name: sent.name, at: sent.at, effect: sent.effect }),
            expires_at: not_after,
        }
    }
}

impl TokenKeyInfo {
    pub(crate) fn all(keys: &TokenKeys, now: Millis) -> Vec<Self> {
        let signs = keys.signs(now).map(|key| key.id);
        let info = |key: &TokenKey| Self {
            id: key.id,
            created_at: key.created_at,
            signs: signs == Some(key.id),
            bound: key.root.is_some(),
            expires_at: key.expires_at,
        };
        keys.keys.iter().map(info).collect()
    }
}
