//! API keys: issue, list, look up and revoke.

use crate::api::query;
use crate::{Engine, Error};
use onward_core::record::{ApiKey, KeyHash, Record, Role};
use onward_core::{Actor, ApiKeyId, IssueKey, Key, Namespace, PartitionId, Rejection, RevokeKey, When, index, limits};
use onward_store::IndexName;
use std::collections::BTreeSet;

/// Partition of all API keys.
const HOME: PartitionId = PartitionId(0);

/// An API key to issue.
#[derive(Debug, Clone)]
pub struct NewKey {
    /// Holder of the key.
    pub name: Actor,
    /// Hash of its secret part.
    pub hash: KeyHash,
    /// Roles that it grants.
    pub roles: BTreeSet<Role>,
    /// Namespaces in which it is valid; all when empty.
    pub namespaces: BTreeSet<Namespace>,
    /// When it expires; never if unset.
    pub expires: Option<When>,
}

impl Engine {
    /// Issues an API key; returns what is stored of it.
    ///
    /// # Errors
    /// A refusal, or a failure of the store.
    pub async fn issue_key(&self, new: NewKey, by: Option<Actor>) -> Result<ApiKey, Error> {
        let NewKey { name, hash, roles, namespaces, expires } = new;
        let (command, id) = (self.command_id(), ApiKeyId(self.shared.chance.id()));
        let issue = IssueKey { command, id, name, hash, roles, namespaces, expires, by };
        self.run(issue).await.map(|key| *key)
    }

    /// Revokes an API key; a revoked key stays revoked.
    ///
    /// # Errors
    /// A refusal when there is no such key, or a failure of the store.
    pub async fn revoke_key(&self, id: ApiKeyId, by: Option<Actor>) -> Result<ApiKey, Error> {
        self.run(RevokeKey { id, by }).await.map(|key| *key)
    }

    /// Reads an API key; `None` if there is none with this id.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn key(&self, id: ApiKeyId) -> Result<Option<ApiKey>, Error> {
        let key = Key::ApiKey(id);
        match query::record(&self.shared, HOME, &key).await? {
            None => Ok(None),
            Some(Record::ApiKey(found)) => Ok(Some(found)),
            Some(_) => Err(Rejection::RecordUnreadable { key: key.to_string() }.into()),
        }
    }

    /// All API keys, oldest first, including revoked ones.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn keys(&self) -> Result<Vec<ApiKey>, Error> {
        let names = query::keys(&self.shared, &IndexName::new(index::API_KEYS)).await?;
        let mut keys = Vec::with_capacity(names.len());
        for page in names.chunks(limits::PAGE_MAX) {
            let records = query::records(&self.shared, HOME, page).await?;
            keys.extend(records.into_iter().filter_map(|record| match record {
                Some(Record::ApiKey(key)) => Some(key),
                _ => None,
            }));
        }
        Ok(keys)
    }
}
