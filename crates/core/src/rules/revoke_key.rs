//! Revoking an API key, for good; it is told to readers of events.

use crate::record::{ApiKey, Record};
use crate::rules::issue_key;
use crate::{Actor, Addressed, ApiKeyId, Event, Key, Millis, PartitionId, Rejection, Stop, Subject, Verb, View, What};

/// Revokes an API key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevokeKey {
    /// Which key.
    pub id: ApiKeyId,
    /// Who wants it, when the caller is known by name.
    pub by: Option<Actor>,
}

impl Addressed for RevokeKey {
    fn home(&self, _: u16) -> PartitionId {
        issue_key::HOME
    }
}

impl Verb for RevokeKey {
    /// The key as it is kept.
    type Reply = Box<ApiKey>;

    fn keys(&self, _: PartitionId) -> Vec<Key> {
        vec![Key::ApiKey(self.id)]
    }

    fn actor(&self) -> Option<&Actor> {
        self.by.as_ref()
    }

    fn run(&self, view: &mut View, now: Millis) -> Result<Box<ApiKey>, Stop> {
        let Some(mut key) = issue_key::find(view, self.id)? else {
            return Err(Rejection::KeyNotFound(self.id).into());
        };
        if key.revoked_at.is_none() {
            key.revoked_at = Some(now.max(key.created_at));
            view.event(Event::new(now, Subject::Everything, What::KeyRevoked { key: key.id, name: key.name.clone() }));
            view.put(Key::ApiKey(key.id), Record::ApiKey(key.clone()))?;
        }
        Ok(Box::new(key))
    }
}

#[cfg(test)]
pub(crate) mod rows {
    use crate::rules::table::Row;
    use crate::rules::world::make;

    /// Rows of the (state × command) table.
    #[rustfmt::skip]
    pub(crate) const ROWS: &[Row] = &[
        Row::new("revoke_key", |world, _| {
            world.accept(&make::issue_key(6, 7));
            make::revoke_key(7)
        }, &[
            ("=", "*"),
        ]),
    ];
}
