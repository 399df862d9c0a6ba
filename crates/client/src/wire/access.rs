//! API keys over HTTP.

use crate::keys::{Secret, hash};
use onward_core::record::{ApiKey, Role};
use onward_core::{Actor, ApiKeyId, CommandId, IssueKey, Millis, Namespace, Span, When};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// An API key to issue.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct NewKeyRequest {
    /// Name of the holder, recorded in events and histories.
    pub name: Actor,
    /// Roles, at least one.
    #[cfg_attr(feature = "openapi", schema(min_items = 1, value_type = Vec<Role>))]
    pub roles: BTreeSet<Role>,
    /// Namespaces that it has access to, at most 64; all when empty.
    #[serde(default, deserialize_with = "onward_core::or_default", skip_serializing_if = "BTreeSet::is_empty")]
    #[cfg_attr(feature = "openapi", schema(max_items = 64, value_type = Vec<Namespace>))]
    pub namespaces: BTreeSet<Namespace>,
    /// Time after which it expires; never when absent.
    pub expires_after: Option<Span>,
}

/// An API key as it is stored, without its secret.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct KeyInfo {
    /// Id, the public part of the key.
    pub id: ApiKeyId,
    /// Name of the holder.
    pub name: Actor,
    /// Roles.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Role>))]
    pub roles: BTreeSet<Role>,
    /// Namespaces that it has access to; all when empty.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Namespace>))]
    pub namespaces: BTreeSet<Namespace>,
    /// Time at which it was issued.
    pub created_at: Millis,
    /// Time at which it expires; absent when it never does.
    pub expires_at: Option<Millis>,
    /// Time at which it was revoked; absent when it was not.
    pub revoked_at: Option<Millis>,
}

/// All API keys.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct KeyList {
    /// API keys, oldest first, including revoked ones.
    pub keys: Vec<KeyInfo>,
}

/// A new API key.
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct IssuedKey {
    /// The key itself. It is returned once and not stored.
    pub key: String,
    /// The key as it is stored.
    pub info: KeyInfo,
}

impl std::fmt::Debug for IssuedKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IssuedKey").field("info", &self.info).finish_non_exhaustive()
    }
}

impl NewKeyRequest {
    /// Creates the command that issues the key; the command has only the hash of the secret.
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
