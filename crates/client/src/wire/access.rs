//! Keys over HTTP.

use crate::keys::{Secret, hash};
use onward_core::record::{ApiKey, Role};
use onward_core::{Actor, ApiKeyId, CommandId, IssueKey, Millis, Namespace, Span, When};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A key to issue.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct NewKeyRequest {
    /// Who will hold it.
    pub name: Actor,
    /// What it allows.
    #[cfg_attr(feature = "openapi", schema(min_items = 1, value_type = Vec<Role>))]
    pub roles: BTreeSet<Role>,
    /// Where; everywhere when empty.
    #[serde(default, deserialize_with = "onward_core::or_default", skip_serializing_if = "BTreeSet::is_empty")]
    #[cfg_attr(feature = "openapi", schema(max_items = 64, value_type = Vec<Namespace>))]
    pub namespaces: BTreeSet<Namespace>,
    /// For how long it is good; without an end when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_after: Option<Span>,
}

/// What is kept of a key.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct KeyInfo {
    /// Its public part.
    pub id: ApiKeyId,
    /// Who holds it.
    pub name: Actor,
    /// What it allows.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Role>))]
    pub roles: BTreeSet<Role>,
    /// Where; everywhere when empty.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Namespace>))]
    pub namespaces: BTreeSet<Namespace>,
    /// When it was issued.
    pub created_at: Millis,
    /// Until when it is good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Millis>,
    /// Since when it is good no more, because somebody said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Millis>,
}

/// All keys.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct KeyList {
    /// Oldest first, revoked ones too.
    pub keys: Vec<KeyInfo>,
}

/// A new key.
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct IssuedKey {
    /// The key itself. It is told once and kept nowhere.
    pub key: String,
    /// What is kept of it.
    pub info: KeyInfo,
}

impl std::fmt::Debug for IssuedKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IssuedKey").field("info", &self.info).finish_non_exhaustive()
    }
}

impl NewKeyRequest {
    /// The command that issues the key, under a secret that only the key's holder shall know.
    #[must_use]
    pub fn issue(self, id: ApiKeyId, command: CommandId, secret: &Secret, by: Option<Actor>) -> IssueKey {
        let Self { name, roles, namespaces, expires_after } = self;
        let expires = expires_after.map(When::After);
        IssueKey { command, id, name, hash: hash(secret), roles, namespaces, expires, by }
    }
}

impl From<ApiKey> for KeyInfo {
    fn from(key: ApiKey) -> Self {
        Self {
            id: key.id,
            name: key.name,
            roles: key.roles,
            namespaces: key.namespaces,
            created_at: key.created_at,
            expires_at: key.expires_at,
            revoked_at: key.revoked_at,
        }
    }
}
