//! The keys that sign tokens, as this process knows them: read at most once a second, whatever callers send.

use crate::Error;
use crate::api::{keys, query};
use crate::shared::Shared;
use onward_core::record::{Format, Record, TokenKey, TokenKeys};
use onward_core::{Key, Millis, Rejection, RootSecret, SigningKey, TokenKeyId, limits};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::oneshot;

/// What was read last.
#[derive(Debug, Default)]
pub(crate) struct TokenRing {
    last: Mutex<Option<LastRead>>,
    /// Held while the keys are read, by one task for all callers.
    reading: tokio::sync::Mutex<()>,
}

/// When the keys were read, and what came of it. A failure is kept as long as an answer, so that it is not asked for again and
/// again.
type LastRead = (Millis, Result<Arc<Ring>, Error>);

/// The keys, and what stands behind those that this process can use.
#[derive(Debug)]
pub(crate) struct Ring {
    pub(crate) keys: TokenKeys,
    signing: BTreeMap<TokenKeyId, SigningKey>,
    /// The store's time before they were read: what they say was true then.
    pub(crate) read_at: Millis,
}

impl TokenRing {
    /// Has the keys read again for the next token.
    pub(crate) fn forget(&self) {
        *self.last.lock() = None;
    }
}

impl Ring {
    fn new(keys: TokenKeys, read_at: Millis, root: Option<&RootSecret>) -> Self {
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
        Self { keys, signing, read_at }
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
    /// The keys that sign tokens, at most a second old. They are read by a task of their own: a caller that leaves must not
    /// make the next one begin again.
    pub(crate) async fn tokens(self: &Arc<Self>) -> Result<Arc<Ring>, Error> {
        if let Some(known) = self.known_tokens() {
            return known;
        }
        let (tell, told) = oneshot::channel();
        let shared = self.clone();
        self.jobs.spawn(async move {
            let _reading = shared.token_ring.reading.lock().await;
            let ring = match shared.known_tokens() {
                Some(known) => known,
                None => {
                    let began = shared.clock.now();
                    let read = shared.read_tokens().await;
                    // A failure that took long is as fresh as its end.
                    let since = if read.is_ok() { began } else { shared.clock.now() };
                    *shared.token_ring.last.lock() = Some((since, read.clone()));
                    read
                }
            };
            // The caller may have left.
            let _heard = tell.send(ring).is_ok();
        });
        told.await.unwrap_or(Err(Error::ShuttingDown))
    }

    /// What was read within the last second; a clock that was set back knows nothing of that.
    fn known_tokens(&self) -> Option<Result<Arc<Ring>, Error>> {
        let now = self.clock.now();
        let last = self.token_ring.last.lock();
        let is_fresh = |read: Millis| read <= now && now - read < limits::TOKEN_KEYS_AGE;
        last.as_ref().filter(|(read, _)| is_fresh(*read)).map(|(_, ring)| ring.clone())
    }

    /// Reads the keys now.
    pub(crate) async fn read_tokens(&self) -> Result<Arc<Ring>, Error> {
        let (key, read_at) = (Key::TokenKeys(keys::HOME), self.time.now());
        let found = match query::record(self, keys::HOME, &key).await? {
            None => TokenKeys { format: Format, keys: Vec::new() },
            Some(Record::TokenKeys(found)) => found,
            Some(_) => return Err(Rejection::RecordUnreadable { key: key.to_string() }.into()),
        };
        Ok(Arc::new(Ring::new(found, read_at, self.options.token_secret.as_ref())))
    }

    /// Takes note of keys that this process has just read or written; `since` is from before.
    pub(crate) fn learn_tokens(&self, keys: TokenKeys, since: (Millis, Millis)) -> Arc<Ring> {
        let (began, read_at) = since;
        let ring = Arc::new(Ring::new(keys, read_at, self.options.token_secret.as_ref()));
        *self.token_ring.last.lock() = Some((began, Ok(ring.clone())));
        ring
    }

    /// The time here and the store's, for what is read or written from now on.
    pub(crate) fn before_tokens(&self) -> (Millis, Millis) {
        (self.clock.now(), self.time.now())
    }
}
