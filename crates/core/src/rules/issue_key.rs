//! Issuing an API key; it is told to readers of events.

use crate::record::{ApiKey, Format, KeyHash, Record, Role};
use crate::rules::times;
use crate::view::unreadable;
use crate::{
    Actor, Addressed, ApiKeyId, CommandId, Event, Key, Millis, Namespace, PartitionId, Rejection, Stop, Subject,
    Urgency, Verb, View, What, When, limits,
};
use std::collections::BTreeSet;

/// The partition of all API keys.
pub(crate) const HOME: PartitionId = PartitionId(0);

/// Issues an API key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssueKey {
    /// This call.
    pub command: CommandId,
    /// The key's public part.
    pub id: ApiKeyId,
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
    /// Who wants it, when the caller is known by name.
    pub by: Option<Actor>,
}

impl Addressed for IssueKey {
    fn home(&self, _: u16) -> PartitionId {
        HOME
    }
}

impl Verb for IssueKey {
    const URGENCY: Urgency = Urgency::Sheddable;
    /// The key as it is kept.
    type Reply = Box<ApiKey>;

    fn keys(&self, _: PartitionId) -> Vec<Key> {
        vec![Key::ApiKey(self.id)]
    }

    fn actor(&self) -> Option<&Actor> {
        self.by.as_ref()
    }

    fn run(&self, view: &mut View, now: Millis) -> Result<Box<ApiKey>, Stop> {
        if let Some(known) = find(view, self.id)? {
            return if known.created_by == self.command {
                // As it was then, whatever has become of it.
                Ok(Box::new(ApiKey { revoked_at: None, ..known }))
            } else {
                Err(Rejection::invalid("id", "another key has this id already").into())
            };
        }
        if self.roles.is_empty() {
            return Err(Rejection::invalid("roles", "a key needs at least one role").into());
        }
        if self.namespaces.len() > limits::KEY_NAMESPACES_MAX {
            let why = format!("must be at most {}, are {}", limits::KEY_NAMESPACES_MAX, self.namespaces.len());
            return Err(Rejection::invalid("namespaces", why).into());
        }
        // A key that can issue keys can reach every namespace, so it must not pretend to be limited to some.
        if self.roles.contains(&Role::Admin) && !self.namespaces.is_empty() {
            return Err(Rejection::invalid("namespaces", "an admin key is good everywhere; leave them out").into());
        }
        let expires_at = self.expires.map(|when| times::time(view, "expires_at", when, now)).transpose()?;
        let key = ApiKey {
            format: Format,
            id: self.id,
            name: self.name.clone(),
            hash: self.hash,
            roles: self.roles.clone(),
            namespaces: self.namespaces.clone(),
            created_at: now,
            created_by: self.command,
            expires_at,
            revoked_at: None,
        };
        view.event(Event::new(now, Subject::Everything, What::KeyIssued { key: key.id, name: key.name.clone() }));
        view.put(Key::ApiKey(key.id), Record::ApiKey(key.clone()))?;
        Ok(Box::new(key))
    }
}

/// A key that was issued.
pub(crate) fn find(view: &mut View, id: ApiKeyId) -> Result<Option<ApiKey>, Stop> {
    let key = Key::ApiKey(id);
    match view.get(&key)?.as_deref() {
        None => Ok(None),
        Some(Record::ApiKey(found)) => Ok(Some(found.clone())),
        Some(_) => Err(unreadable(&key)),
    }
}

#[cfg(test)]
pub(crate) mod rows {
    use crate::rules::table::Row;
    use crate::rules::world::make;

    /// Rows of the (state × command) table.
    #[rustfmt::skip]
    pub(crate) const ROWS: &[Row] = &[
        Row::new("issue_key", |_, _| make::issue_key(6, 7), &[
            ("=", "*"),
        ]),
    ];
}
