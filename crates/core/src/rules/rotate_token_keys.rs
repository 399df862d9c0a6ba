//! Making a new key that signs tokens, and an end to those before it; it is told to readers of events.

use crate::record::{Format, KeySecret, Record, TokenKey, TokenKeys};
use crate::rules::issue_key;
use crate::view::unreadable;
use crate::{
    Actor, Addressed, CommandId, Event, Fingerprint, Key, Millis, PartitionId, Rejection, Span, Stop, Subject,
    TokenKeyId, Urgency, Verb, View, What, limits,
};

/// Makes a new key. Tokens that the keys before it signed are good for a while longer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RotateTokenKeys {
    /// This call.
    pub command: CommandId,
    /// The public part of the new key.
    pub id: TokenKeyId,
    /// What it is made of.
    pub secret: KeySecret,
    /// The root secret that it is bound to.
    pub root: Option<Fingerprint>,
    /// How long the keys before it are good from now on, at the most; `None` when nothing is to be done if there is one.
    pub grace: Option<Span>,
    /// Who wants it, when the caller is known by name.
    pub by: Option<Actor>,
}

impl Addressed for RotateTokenKeys {
    fn home(&self, _: u16) -> PartitionId {
        issue_key::HOME
    }
}

impl Verb for RotateTokenKeys {
    const URGENCY: Urgency = Urgency::Sheddable;
    /// All keys as they are kept.
    type Reply = Box<TokenKeys>;

    fn keys(&self, _: PartitionId) -> Vec<Key> {
        vec![Key::TokenKeys(issue_key::HOME)]
    }

    fn actor(&self) -> Option<&Actor> {
        self.by.as_ref()
    }

    fn run(&self, view: &mut View, now: Millis) -> Result<Box<TokenKeys>, Stop> {
        let key = Key::TokenKeys(issue_key::HOME);
        let mut keys = match view.get(&key)?.as_deref() {
            None => TokenKeys { format: Format, keys: Vec::new() },
            Some(Record::TokenKeys(found)) => found.clone(),
            Some(_) => return Err(unreadable(&key)),
        };
        let is_repeat = keys.keys.iter().any(|key| key.created_by == self.command);
        let is_served = self.grace.is_none() && keys.signs(now).is_some();
        if is_repeat || is_served {
            return Ok(Box::new(keys));
        }
        if let Some(grace) = self.grace.filter(|grace| *grace > limits::FUTURE_MAX) {
            let why = format!("must be at most {}, is {grace}", limits::FUTURE_MAX);
            return Err(Rejection::invalid("grace", why).into());
        }
        // Whoever lacks the secret would make a key that anybody with a copy of the store could use.
        if self.root.is_none() && keys.keys.last().is_some_and(|newest| newest.root.is_some()) {
            return Err(Rejection::TokenSecretMissing.into());
        }
        let end = now + self.grace.unwrap_or_default();
        for key in &mut keys.keys {
            key.expires_at = Some(key.expires_at.map_or(end, |before| before.min(end)));
        }
        // What has just ended is kept for an answer that says so; what ended before is gone.
        keys.keys.retain(|key| key.expires_at.is_none_or(|end| now <= end));
        let good = keys.keys.iter().filter(|key| key.is_good(now)).count();
        if good >= limits::TOKEN_KEYS_MAX {
            return Err(Rejection::TokenKeysExhausted.into());
        }
        // Until every process has read the new key, the one before it signs, unless that ends sooner.
        let settled = now + limits::TOKEN_KEY_SETTLE;
        let signs_from = if keys.keys.iter().any(|key| key.is_good(settled)) { settled } else { now };
        view.not_after(now + Span(limits::TOKEN_KEY_SETTLE.0 - limits::TOKEN_KEYS_AGE.0));
        keys.keys.push(TokenKey {
            id: self.id,
            secret: self.secret,
            root: self.root,
            created_at: now,
            created_by: self.command,
            signs_from,
            expires_at: None,
        });
        view.event(Event::new(now, Subject::Everything, What::TokenKeysRotated { key: self.id }));
        view.put(key, Record::TokenKeys(keys.clone()))?;
        Ok(Box::new(keys))
    }
}

#[cfg(test)]
pub(crate) mod rows {
    use crate::rules::table::Row;
    use crate::rules::world::make;

    /// Rows of the (state × command) table.
    #[rustfmt::skip]
    pub(crate) const ROWS: &[Row] = &[
        Row::new("rotate_token_keys", |_, _| make::rotate_token_keys(6, 7), &[
            ("=", "*"),
        ]),
    ];
}
