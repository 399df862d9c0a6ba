//! The keys that sign tokens, as this process knows them: read at most once a second, whatever callers send.

use crate::Error;
use crate::api::{keys, query};
use crate::shared::Shared;
use onward_core::record::{Format, Record, TokenKey, TokenKeys};
use onward_core::{Key, Millis, Rejection, RootSecret, SigningKey, TokenKeyId, limits};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::Mutex;

/// What was read last; a failure is kept as long as an answer, so that it is not asked for again and again.
#[derive(Debug, Default)]
pub(crate) struct TokenRing(Mutex<Option<LastRead>>);

/// When the keys were read, and what came of it.
type LastRead = (Millis, Result<Arc<Ring>, Error>);

/// The keys, and what stands behind those that this process can use.
#[derive(Debug)]
pub(crate) struct Ring {
    pub(crate) keys: TokenKeys,
    signing: BTreeMap<TokenKeyId, SigningKey>,
}

impl Ring {
    fn new(keys: TokenKeys, root: Option<&RootSecret>) -> Self {
        let mut signing = BTreeMap::new();
        for TokenKey { id, secret, root: bound, .. } in &keys.keys {
            let behind = match (bound, root) {
                (None, _) => SigningKey::of(secret, None),
                (Some(bound), Some(root)) if *bound == root.fingerprint() => SigningKey::of(secret, Some(root)),
                (Some(_), _) => {
                    tracing::error!(key = %id, "a token key is bound to a secret that this process does not have");
                    continue;
                }
            };
            signing.insert(*id, behind);
        }
        Self { keys, signing }
    }

    /// What stands behind a key, if this process can use it.
    pub(crate) fn signing(&self, id: TokenKeyId) -> Option<&SigningKey> {
        self.signing.get(&id)
    }

    /// A key that is kept.
    pub(crate) fn key(&self, id: TokenKeyId) -> Option<&TokenKey> {
        self.keys.keys.iter().find(|key| key.id == id)
    }
}

impl Shared {
    /// The keys that sign tokens, at most a second old.
    pub(crate) async fn tokens(&self) -> Result<Arc<Ring>, Error> {
        let mut known = self.token_ring.0.lock().await;
        let now = self.clock.now();
        if let Some((read, ring)) = &*known
            && now - *read < limits::TOKEN_KEYS_AGE
        {
            return ring.clone();
        }
        let read = self.read_tokens().await;
        *known = Some((now, read.clone()));
        read
    }

    /// Reads the keys now.
    pub(crate) async fn read_tokens(&self) -> Result<Arc<Ring>, Error> {
        let key = Key::TokenKeys(keys::HOME);
        let found = match query::record(self, keys::HOME, &key).await? {
            None => TokenKeys { format: Format, keys: Vec::new() },
            Some(Record::TokenKeys(found)) => found,
            Some(_) => return Err(Rejection::RecordUnreadable { key: key.to_string() }.into()),
        };
        Ok(Arc::new(Ring::new(found, self.options.token_secret.as_ref())))
    }

    /// Takes note of keys that this process has just written.
    pub(crate) async fn learn_tokens(&self, keys: TokenKeys) -> Arc<Ring> {
        let ring = Arc::new(Ring::new(keys, self.options.token_secret.as_ref()));
        *self.token_ring.0.lock().await = Some((self.clock.now(), Ok(ring.clone())));
        ring
    }
}
