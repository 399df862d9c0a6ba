//! Tokens: text that lets its holder answer one wait of one execution, signed so that nobody else can make or change one.

use crate::record::{KeySecret, WaitAddress, WaitId};
use crate::{
    Actor, ExecutionId, Fingerprint, Millis, Namespace, Rejection, SignalName, Span, TokenKeyId, digest, limits,
};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt;

/// What every token starts with: people and programs that look for leaked secrets recognise one, and it names the version.
const PREFIX: &str = "onward_token_v1.";

/// What a token says. All of it is signed, and none of it is secret: whoever holds a token can read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenBody {
    /// The key that signed it.
    #[serde(rename = "k")]
    pub key: TokenKeyId,
    /// Namespace of the execution.
    #[serde(rename = "s")]
    pub namespace: Namespace,
    /// The execution.
    #[serde(rename = "x")]
    pub execution: ExecutionId,
    /// The only wait that it is good for, in one life of the execution.
    #[serde(rename = "w")]
    pub wait: WaitId,
    /// Names of signals that it allows; any when empty.
    #[serde(rename = "n", default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<SignalName>,
    /// Whose it is: the sender of the signal.
    #[serde(rename = "a")]
    pub actor: Actor,
    /// Who made it, when that caller is known by name.
    #[serde(rename = "b", default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Actor>,
    /// From this time on it is good for nothing.
    #[serde(rename = "e")]
    pub expires_at: Millis,
}

/// A token to make: the same type is the body of a request and what the engine takes.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    /// The wait that it is good for: `name#2` for the second wait for a name; a name alone means the next wait for it that is
    /// not over.
    pub wait: WaitAddress,
    /// Whose it is: its signal is sent in this name. A person counts once, however many tokens they have.
    pub actor: Actor,
    /// Names of signals that it allows, which are the choices of its holder; any signal when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(max_items = 16))]
    pub names: Vec<SignalName>,
    /// Time after which it expires; seven days when absent.
    pub expires_after: Option<Span>,
}

impl NewToken {
    /// A token for any signal, good for the default time.
    #[must_use]
    pub fn new(wait: impl Into<WaitAddress>, actor: Actor) -> Self {
        Self { wait: wait.into(), actor, names: Vec::new(), expires_after: None }
    }

    /// When it expires, after a check of what was asked for.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn expires_at(&self, now: Millis) -> Result<Millis, Rejection> {
        if self.names.len() > limits::SIGNAL_NAMES_MAX {
            let why = format!("must be at most {}, are {}", limits::SIGNAL_NAMES_MAX, self.names.len());
            return Err(Rejection::invalid("names", why));
        }
        let after = self.expires_after.unwrap_or(limits::TOKEN_TTL_DEFAULT);
        if after == Span(0) || after > limits::FUTURE_MAX {
            let why = format!("must be more than 0 and at most {}, is {after}", limits::FUTURE_MAX);
            return Err(Rejection::invalid("expires_after", why));
        }
        Ok(now + after)
    }
}

/// A token as its holder has it. It is never printed by accident.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Token, value_type = String))]
#[serde(transparent)]
pub struct TokenText(String);

/// A secret from outside the store that token keys are bound to, so that a copy of the store alone signs nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct RootSecret([u8; 32]);

/// What signs tokens and checks them.
#[derive(Clone, PartialEq, Eq)]
pub struct SigningKey([u8; 32]);

macro_rules! hidden {
    ($($type:ident),+) => {$(
        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($type), "(..)"))
            }
        }
    )+};
}

hidden!(TokenText, RootSecret, SigningKey);

impl TokenText {
    /// All of it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl From<String> for TokenText {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<&str> for TokenText {
    fn from(text: &str) -> Self {
        Self(text.trim().to_owned())
    }
}

impl RootSecret {
    /// A secret from any bytes that are hard to guess; `None` when there are fewer than 32. White space around them does not
    /// count, since files end with a line feed.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.trim_ascii();
        (bytes.len() >= limits::ROOT_SECRET_BYTES_MIN).then(|| Self(Sha256::digest(bytes).into()))
    }

    /// Tells secrets apart without revealing them.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint(digest([b"onward token root".as_slice(), &self.0]))
    }
}

impl SigningKey {
    /// The key that stands behind a stored secret. One that is bound to a root secret is derived from both.
    #[must_use]
    pub fn of(secret: &KeySecret, root: Option<&RootSecret>) -> Self {
        match root {
            None => Self(secret.0),
            Some(root) => {
                let mut mac = mac(&root.0);
                mac.update(b"onward token key");
                mac.update(&secret.0);
                Self(mac.finalize().into_bytes().into())
            }
        }
    }
}

fn mac(key: &[u8; 32]) -> Hmac<Sha256> {
    // A key of any length will do, so there is no error.
    Hmac::new_from_slice(key).unwrap_or_else(|_| Hmac::new(&[0; 64].into()))
}

impl TokenBody {
    /// The token that says this.
    #[must_use]
    pub fn sign(&self, key: &SigningKey) -> TokenText {
        let body = serde_json::to_vec(self).unwrap_or_default();
        let signed = format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(body));
        let mut mac = mac(&key.0);
        mac.update(signed.as_bytes());
        TokenText(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes())))
    }

    /// What a token says, if one of the keys signed it. Whatever is wrong with the text, exactly one signature is computed and
    /// compared, in a time that does not depend on where they differ.
    #[must_use]
    pub fn verify<'k>(text: &TokenText, find: impl FnOnce(TokenKeyId) -> Option<&'k SigningKey>) -> Option<Self> {
        // Nothing that was signed here is longer.
        let text = Some(text.0.as_str()).filter(|text| text.len() <= limits::TOKEN_BYTES_MAX).unwrap_or_default();
        let (signed, signature) = text.rsplit_once('.').unwrap_or((text, ""));
        let body = Self::read(signed);
        let key = body.as_ref().and_then(|body| find(body.key));
        let signature = Some(signature).filter(|text| text.len() == SIGNATURE_CHARS);
        let signature = signature.and_then(|text| URL_SAFE_NO_PAD.decode(text).ok()).unwrap_or_default();
        let mut mac = mac(key.map_or(&[0; 32], |key| &key.0));
        mac.update(signed.as_bytes());
        let matches = mac.verify_slice(&signature).is_ok();
        body.filter(|_| key.is_some() && matches)
    }

    /// What an unsigned part claims.
    fn read(signed: &str) -> Option<Self> {
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(signed.strip_prefix(PREFIX)?).ok()?).ok()
    }
}

/// How long the text of a signature is: 32 bytes in base64.
const SIGNATURE_CHARS: usize = 43;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PartitionId;
    use uuid::Uuid;

    fn body() -> TokenBody {
        TokenBody {
            key: TokenKeyId(7),
            namespace: Namespace::default(),
            execution: ExecutionId::new(Uuid::from_u128(1), PartitionId(17)),
            wait: "0.approval#2".parse().unwrap(),
            names: vec!["approved".parse().unwrap(), "rejected".parse().unwrap()],
            actor: "Ada".parse().unwrap(),
            by: None,
            expires_at: Millis(1_800_000_000_000),
        }
    }

    fn key(byte: u8) -> SigningKey {
        SigningKey::of(&KeySecret([byte; 32]), None)
    }

    #[test]
    fn a_token_says_what_was_signed_and_its_form_is_stable() {
        let (body, key) = (body(), key(1));
        let token = body.sign(&key);
        assert_eq!(TokenBody::verify(&token, |id| (id == TokenKeyId(7)).then_some(&key)), Some(body));
        let expected = "onward_token_v1.eyJrIjoiMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDciLCJzIjoiZGVmYXVsdCIsIngiOiJ4LTAwMDAw\
            MDAwLTAwMDAtMDAwMC0wMDAwLTAwMDAwMDAwMDAwMS0xNyIsInciOiIwLmFwcHJvdmFsIzIiLCJuIjpbImFwcHJvdmVkIiwicmVqZWN0ZWQiXSwiYSI6\
            IkFkYSIsImUiOjE4MDAwMDAwMDAwMDB9.";
        assert!(token.reveal().starts_with(expected), "{}", token.reveal());
        assert!(
            token.reveal().bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte)),
            "fits a link"
        );
        assert_eq!(format!("{token:?}{key:?}"), "TokenText(..)SigningKey(..)");
    }

    #[test]
    fn no_changed_bit_and_no_other_key_is_accepted() {
        let (token, right) = (body().sign(&key(1)), key(1));
        let accepts = |text: &str| TokenBody::verify(&TokenText::from(text.to_owned()), |_| Some(&right)).is_some();
        assert!(accepts(token.reveal()));
        for at in 0..token.reveal().len() * 8 {
            let mut bytes = token.reveal().as_bytes().to_vec();
            bytes[at / 8] ^= 1 << (at % 8);
            let text: String = bytes.iter().map(|byte| char::from(*byte)).collect();
            assert!(!accepts(&text), "{text}");
        }
        for at in 0..token.reveal().len() {
            assert!(!accepts(&token.reveal()[..at]), "cut at {at}");
        }
        for more in ["A", "=", ".", " "] {
            assert!(!accepts(&format!("{}{more}", token.reveal())));
        }
        for text in ["", ".", "..", PREFIX, "onward_token_v1..", "é.é", &"x.".repeat(10_000)] {
            assert!(!accepts(text), "{text}");
        }
        let other = key(2);
        assert_eq!(TokenBody::verify(&token, |_| Some(&other)), None);
        assert_eq!(TokenBody::verify(&token, |_| None), None);
    }

    #[test]
    fn a_key_bound_to_a_root_secret_needs_it() {
        let secret = KeySecret([3; 32]);
        let [one, other] = [b"a secret of at least 32 bytes..1\n", b"a secret of at least 32 bytes..2\n"]
            .map(|bytes| RootSecret::new(bytes).unwrap());
        let keys = [None, Some(&one), Some(&other)].map(|root| SigningKey::of(&secret, root));
        assert!(keys[0] != keys[1] && keys[1] != keys[2] && keys[0] != keys[2]);
        assert_ne!(one.fingerprint(), other.fingerprint());
        assert_eq!(
            RootSecret::new(b"  a secret of at least 32 bytes..1"),
            Some(one),
            "white space around it does not count"
        );
        assert_eq!(RootSecret::new(b"too short"), None);
    }
}
