//! Who a key belongs to: looked up in the store, and remembered for a moment.

use onward::keys::Secret;
use onward_core::record::ApiKey;
use onward_core::{ApiKeyId, Millis, Span};
use onward_engine::{Engine, Error};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// How long a key is remembered, and so the most that a revoked one outlives its end in another process.
const REMEMBERED: Span = Span::seconds(2);
/// Keys remembered at once; beyond, all are forgotten.
const KEYS_MAX: usize = 10_000;

/// Keys that were looked up lately, with the time; those that do not exist too, so that a wrong key that is
/// sent again and again is looked up once in a while.
#[derive(Debug, Default)]
pub(crate) struct Keyring(Mutex<HashMap<ApiKeyId, LookedUp>>);

/// When a key was looked up, and what was found.
type LookedUp = (Millis, Option<Arc<ApiKey>>);

impl Keyring {
    /// The key that a text is, if it is one that is good now.
    pub(crate) async fn find(&self, engine: &Engine, text: &str) -> Result<Option<Arc<ApiKey>>, Error> {
        let Some((id, secret)) = Secret::read(text) else { return Ok(None) };
        let now = engine.now();
        let known = self.known(id, now);
        let found = match known {
            Some(found) => found,
            None => {
                let found = engine.key(id).await?.map(Arc::new);
                self.remember(id, now, found.clone());
                found
            }
        };
        Ok(found.filter(|key| secret.is(&key.hash) && key.is_good(now)))
    }

    /// Forgets a key, so that its end is seen at once here.
    pub(crate) fn forget(&self, id: ApiKeyId) {
        self.0.lock().remove(&id);
    }

    #[expect(clippy::option_option, reason = "what is not remembered is not what does not exist")]
    fn known(&self, id: ApiKeyId, now: Millis) -> Option<Option<Arc<ApiKey>>> {
        let keys = self.0.lock();
        keys.get(&id).filter(|(since, _)| now - *since < REMEMBERED).map(|(_, found)| found.clone())
    }

    fn remember(&self, id: ApiKeyId, now: Millis, found: Option<Arc<ApiKey>>) {
        let mut keys = self.0.lock();
        if keys.len() >= KEYS_MAX {
            keys.clear();
        }
        keys.insert(id, (now, found));
    }
}
