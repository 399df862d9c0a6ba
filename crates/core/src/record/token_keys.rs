//! The keys that sign tokens: the newest signs, and those before it are good until they expire.

use super::{Format, KeySecret, Stored, formats};
use crate::{CommandId, Fingerprint, Millis, TokenKeyId};
use serde::{Deserialize, Serialize};

/// All keys that sign or check tokens, in one record, so that a rotation is one commit and a check one read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenKeys {
    /// The format of this record.
    #[serde(rename = "v", skip_serializing)]
    pub format: Format,
    /// The keys, oldest first.
    pub keys: Vec<TokenKey>,
}

/// One key.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenKey {
    /// Its public part, which tokens name.
    pub id: TokenKeyId,
    /// What it is made of.
    pub secret: KeySecret,
    /// The root secret that it is bound to; without one, a copy of the store can sign.
    pub root: Option<Fingerprint>,
    /// When it was made.
    pub created_at: Millis,
    /// The call that made it.
    pub created_by: CommandId,
    /// It signs from this time on, when every process knows it.
    pub signs_from: Millis,
    /// Tokens that it signed are good until this time at the most; without an end for the newest key.
    pub expires_at: Option<Millis>,
}

impl TokenKey {
    /// Whether tokens that it signed are good at a time.
    #[must_use]
    pub fn is_good(&self, now: Millis) -> bool {
        self.expires_at.is_none_or(|end| now < end)
    }
}

impl TokenKeys {
    /// The key that signs at a time: the newest that every process knows.
    #[must_use]
    pub fn signs(&self, now: Millis) -> Option<&TokenKey> {
        let good = || self.keys.iter().rev().filter(|key| key.is_good(now));
        good().find(|key| key.signs_from <= now).or_else(|| good().next())
    }
}

formats!(strict struct TokenKeys { format, keys });
formats!(struct TokenKey { id, secret, root, created_at, created_by, signs_from, expires_at });

impl Stored for TokenKeys {
    fn bytes(&self) -> usize {
        64 + 384 * self.keys.len()
    }
}
