//! Keys that let their holders call: issued, listed, looked up and revoked.

use crate::engine::unexpected;
use crate::{Engine, Error, query};
use onward_core::record::{ApiKey, KeyHash, Record, Role};
use onward_core::{
    Actor, ApiKeyId, Command, IssueKey, Key, Namespace, PartitionId, Rejection, Reply, RevokeKey, When, index, limits,
};
use onward_store::IndexName;
use std::collections::BTreeSet;

/// Where all keys live.
const HOME: PartitionId = PartitionId(0);

/// A key to issue.
#[derive(Debug, Clone)]
pub struct NewKey {
    /// Who will hold it.
    pub name: Actor,
    /// What its secret part hashes to.
    pub hash: KeyHash,
    /// What it allows.
    pub roles: BTreeSet<Role>,
    /// Where; everywhere when empty.
    pub namespaces: BTreeSet<Namespace>,
    /// Until when it is good; without an end when absent.
    pub expires: Option<When>,
}

impl Engine {
    /// Issues a key; the answer is what is kept of it.
    ///
    /// # Errors
    /// A refusal, or a failure of the store.
    pub async fn issue_key(&self, new: NewKey, by: Option<Actor>) -> Result<ApiKey, Error> {
        let NewKey { name, hash, roles, namespaces, expires } = new;
        let (command, id) = (self.command_id(), ApiKeyId(self.shared.chance.id()));
        let issue = IssueKey { command, id, name, hash, roles, namespaces, expires, by };
        match self.call(HOME, Command::IssueKey(Box::new(issue))).await? {
            Reply::KeyIssued(key) => Ok(*key),
            other => Err(unexpected(&other)),
        }
    }

    /// Makes a key good for nothing; one that is so already stays so.
    ///
    /// # Errors
    /// A refusal when there is no such key, or a failure of the store.
    pub async fn revoke_key(&self, id: ApiKeyId, by: Option<Actor>) -> Result<ApiKey, Error> {
        match self.call(HOME, Command::RevokeKey(RevokeKey { id, by })).await? {
            Reply::KeyRevoked(key) => Ok(*key),
            other => Err(unexpected(&other)),
        }
    }

    /// A key; nothing when there is none of this id.
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

    /// All keys, oldest first, revoked ones too.
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
