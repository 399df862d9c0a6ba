//! What names a thing in a store: partitions, keys, index names and versions.

use crate::limits::KEY_BYTES_MAX;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// A slice of all records; the unit of atomicity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Partition(pub u16);

/// The id of the commit that wrote a record: unique for ever, compared for equality only.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Version(pub u128);

/// Declares a name of at most 200 bytes of UTF-8 without control characters, compared bytewise.
macro_rules! name {
    ($(#[$about:meta])* $name:ident) => {
        $(#[$about])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Takes a name as it is; a store refuses it at the commit when it breaks the rules of [`Self::is_valid`].
            #[must_use]
            pub fn new(name: impl Into<Arc<str>>) -> Self {
                Self(name.into())
            }

            /// The name.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// Whether a store accepts this name.
            #[must_use]
            pub fn is_valid(&self) -> bool {
                let is_control = |byte: u8| byte < 0x20 || byte == 0x7f;
                (1..=KEY_BYTES_MAX).contains(&self.0.len()) && !self.0.bytes().any(is_control)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name! {
    /// The name of a record: at most 200 bytes of UTF-8 without control characters, compared bytewise.
    Key
}
name! {
    /// The name of an index: the same alphabet and limit as a key.
    IndexName
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
