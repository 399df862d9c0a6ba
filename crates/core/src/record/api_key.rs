//! Who may call: keys, what they allow, and in which namespaces.

use super::{Format, KeyHash, Stored, formats};
use crate::index::{self, Entry};
use crate::{Actor, ApiKeyId, CommandId, Millis, Namespace};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A key that lets its holder call. The key itself is known to its holder alone; this remembers its hash.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiKey {
    /// The format of this record.
    #[serde(rename = "v", skip_serializing)]
    pub format: Format,
    /// Its public part.
    pub id: ApiKeyId,
    /// Who holds it, for people and in the trail of what operators did.
    pub name: Actor,
    /// What its secret part must hash to.
    pub hash: KeyHash,
    /// What it allows.
    pub roles: BTreeSet<Role>,
    /// Where; everywhere when empty.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub namespaces: BTreeSet<Namespace>,
    /// When it was issued.
    pub created_at: Millis,
    /// The call that issued it.
    pub created_by: CommandId,
    /// Until when it is good.
    pub expires_at: Option<Millis>,
    /// Since when it is good no more, because somebody said so.
    pub revoked_at: Option<Millis>,
}

words! {
    /// What an API key allows.
    Role {
        /// Submit executions, and read single executions.
        Submit = "submit",
        /// Claim and report, and read single executions.
        Work = "work",
        /// Change executions and lanes, and read everything.
        Operate = "operate",
        /// Read everything.
        Read = "read",
        /// Everything, including issuing and revoking API keys.
        Admin = "admin",
    }
}

impl ApiKey {
    /// Whether it is good at a time.
    #[must_use]
    pub fn is_good(&self, now: Millis) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|end| now < end)
    }

    /// Whether it may be used in a namespace.
    #[must_use]
    pub fn reaches(&self, namespace: &Namespace) -> bool {
        self.namespaces.is_empty() || self.namespaces.contains(namespace)
    }
}

formats!(struct ApiKey { format, id, name, hash, roles, namespaces, created_at, created_by, expires_at, revoked_at });
formats!(
    enum Role {
        Submit,
        Work,
        Operate,
        Read,
        Admin,
    }
);

impl Stored for ApiKey {
    fn entries(&self) -> Vec<Entry> {
        Entry::single(index::API_KEYS, self.created_at.0)
    }
}
