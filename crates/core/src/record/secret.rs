//! Secrets of 32 bytes as they are stored: hashes of API keys, and the material of token keys.

use super::plain;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// Declares 32 bytes that are stored as hexadecimal digits and never printed by accident.
macro_rules! secret_bytes {
    ($($(#[$about:meta])* $type:ident $expected:literal,)+) => {$(
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq)]
        pub struct $type(pub [u8; 32]);

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($type), "(..)"))
            }
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let digits: String = self.0.iter().map(|byte| format!("{byte:02x}")).collect();
                serializer.serialize_str(&digits)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                crate::text::decode(deserializer, $expected, |text| bytes(text).map(Self).ok_or($expected))
            }
        }

        plain!($type);
    )+};
}

secret_bytes! {
    /// The hash of an API key's secret part. It is never returned or printed.
    KeyHash "a hash of 64 hexadecimal digits",
    /// The material of a token key. It is never returned or printed.
    KeySecret "a secret of 64 hexadecimal digits",
}

fn bytes(text: &str) -> Option<[u8; 32]> {
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    let mut bytes = [0; 32];
    for (byte, at) in bytes.iter_mut().zip((0..64).step_by(2)) {
        *byte = u8::from_str_radix(&text[at..at + 2], 16).ok()?;
    }
    Some(bytes)
}
