//! Keys as callers of a server hold them: how one is made, written, read and compared.

use onward_core::ApiKeyId;
use onward_core::record::KeyHash;
use onward_engine::clock::Chance;
use sha2::{Digest, Sha256};
use std::fmt;
use subtle::ConstantTimeEq;

/// What every key starts with, so that people and programs that look for leaked keys recognise one.
const PREFIX: &str = "onward_";

/// The part of a key that its holder alone knows: 256 random bits. It is never printed by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret([u8; 32]);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl Secret {
    /// A new one.
    #[must_use]
    pub fn draw(chance: &Chance) -> Self {
        Self(chance.secret())
    }

    /// The whole key, as its holder gets it.
    #[must_use]
    pub fn reveal(&self, id: ApiKeyId) -> String {
        let secret: String = self.0.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{PREFIX}{id}_{secret}")
    }

    /// The two parts of a key.
    #[must_use]
    pub fn read(text: &str) -> Option<(ApiKeyId, Self)> {
        let (id, secret) = text.strip_prefix(PREFIX)?.split_once('_')?;
        if secret.len() != 64 || !secret.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
            return None;
        }
        let mut bytes = [0; 32];
        for (byte, at) in bytes.iter_mut().zip((0..64).step_by(2)) {
            *byte = u8::from_str_radix(&secret[at..at + 2], 16).ok()?;
        }
        Some((id.parse().ok()?, Self(bytes)))
    }

    /// Whether it hashes to this, found out in a time that tells nothing.
    #[must_use]
    pub fn is(&self, expected: &KeyHash) -> bool {
        hash(self).0.ct_eq(&expected.0).into()
    }
}

/// What is kept of a secret. A secret is random and long, so that one round of a fast hash is as good as many.
#[must_use]
pub fn hash(secret: &Secret) -> KeyHash {
    KeyHash(Sha256::digest(secret.0).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_as_it_was_revealed_and_nothing_else_is() {
        let (secret, id) = (Secret::draw(&Chance::seeded(1)), ApiKeyId(7));
        let key = secret.reveal(id);
        assert_eq!(key.len(), PREFIX.len() + 32 + 1 + 64);
        let (found, read) = Secret::read(&key).unwrap();
        assert!(found == id && read == secret && read.is(&hash(&secret)));
        assert!(!Secret::draw(&Chance::seeded(2)).is(&hash(&secret)));
        let long = format!("{key}0");
        for wrong in ["", "onward_", "onward_7_7", &key[1..], &key[..key.len() - 1], &long, &key.to_uppercase()] {
            assert!(Secret::read(wrong).is_none(), "{wrong}");
        }
        assert!(!format!("{secret:?}").contains('7'), "nobody prints it by accident");
    }
}
