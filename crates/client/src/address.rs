//! Where a store is: `sqlite:PATH` or `memory:`, parsed in this one place.

use std::path::PathBuf;
use std::str::FromStr;

/// Where a store is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A SQLite file, made when it does not exist: `sqlite:PATH`.
    Sqlite(PathBuf),
    /// The memory of this process, empty at first and gone at the end: `memory:`.
    Memory,
}

/// Why a text is not the address of a store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// It names a kind of store that does not exist.
    #[error("{address:?} names no store: an address is sqlite:PATH or memory:")]
    UnknownScheme {
        /// What was given.
        address: String,
    },
    /// It names a kind of store, but not a place.
    #[error("{address:?} is not the address of a store: {why}")]
    Malformed {
        /// What was given.
        address: String,
        /// What is wrong with it.
        why: &'static str,
    },
}

impl AddressError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::UnknownScheme { .. } => "unknown_store_scheme",
            Self::Malformed { .. } => "malformed_store_address",
        }
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let malformed = |why| Err(AddressError::Malformed { address: text.to_owned(), why });
        match text.split_once(':') {
            Some(("memory", "")) => Ok(Self::Memory),
            Some(("memory", _)) => malformed("a store in memory has no place, so write memory:"),
            Some(("sqlite", "")) => malformed("the path of the file is missing"),
            Some(("sqlite", path)) if path.starts_with(':') => malformed("a store in memory is written memory:"),
            Some(("sqlite", path)) if path.starts_with("//") && !path.starts_with("///") => {
                malformed("the path follows the colon directly, as in sqlite:onward.db")
            }
            Some(("sqlite", path)) if path.contains(['?', '\0']) => {
                malformed("the path cannot hold '?' or a zero byte")
            }
            Some(("sqlite", path)) => Ok(Self::Sqlite(path.into())),
            _ => Err(AddressError::UnknownScheme { address: text.to_owned() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_apart_and_bad_ones_say_why() {
        for (text, path) in [
            ("sqlite:onward.db", "onward.db"),
            ("sqlite:/data/onward.db", "/data/onward.db"),
            ("sqlite:///data/onward.db", "///data/onward.db"),
            ("sqlite:a:b", "a:b"),
        ] {
            assert_eq!(text.parse(), Ok(Address::Sqlite(path.into())), "{text}");
        }
        assert_eq!("memory:".parse(), Ok(Address::Memory));
        for (text, code) in [
            ("", "unknown_store_scheme"),
            ("onward.db", "unknown_store_scheme"),
            ("mysql://localhost/x", "unknown_store_scheme"),
            ("SQLITE:x", "unknown_store_scheme"),
            ("sqlite", "unknown_store_scheme"),
            ("sqlite:", "malformed_store_address"),
            ("sqlite::memory:", "malformed_store_address"),
            ("sqlite://onward.db", "malformed_store_address"),
            ("sqlite:onward.db?mode=ro", "malformed_store_address"),
            ("memory:here", "malformed_store_address"),
        ] {
            assert_eq!(text.parse::<Address>().unwrap_err().code(), code, "{text}");
        }
    }
}
