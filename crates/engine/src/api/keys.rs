//! API keys: list and look up.

use crate::api::query;
use crate::{Engine, Error};
use onward_core::record::{ApiKey, Record};
use onward_core::{ApiKeyId, Key, PartitionId, Rejection, index, limits};
use onward_store::IndexName;

/// Partition of all API keys.
pub(crate) const HOME: PartitionId = PartitionId(0);

impl Engine {
    /// Draws the id of an API key to issue.
    #[must_use]
    pub fn key_id(&self) -> ApiKeyId {
        ApiKeyId(self.shared.chance.id())
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
