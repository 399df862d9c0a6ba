//! Where a store or a server is: `sqlite:PATH`, `postgres://…`, `valkey://…`, `memory:` or `http://…`, told apart in this
//! one place.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// Where a store is, or the server that keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A SQLite file, made when it does not exist: `sqlite:PATH`.
    Sqlite(PathBuf),
    /// A Postgres database: `postgres://user:password@host:port/database?schema=onward`.
    Postgres(ServerUrl),
    /// A Valkey or Redis server or cluster: `valkey://user:password@host:port?prefix=onward`; `redis://` is the same, and
    /// `valkeys://` or `rediss://` is encrypted. Several hosts are separated by commas.
    Valkey(ServerUrl),
    /// A server of Onward, which has the store: `http://host:port` or `https://host`.
    Http(ServerUrl),
    /// The memory of this process, empty at first and gone at the end: `memory:`.
    Memory,
}

/// The address of a server, which may hold a password and is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerUrl(String);

impl ServerUrl {
    /// All of it, password and all.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = self.0.split_once("://").map_or("", |(scheme, _)| scheme);
        write!(f, "{scheme}://…")
    }
}

/// Why a text is not the address of a store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// It names a kind of store that does not exist.
    #[error("{address:?} names no store: an address is sqlite:PATH, postgres://…, valkey://…, memory: or http://…")]
    UnknownScheme {
        /// What was given, without what may be secret.
        address: String,
    },
    /// The program was built without this kind of store, or without what speaks to servers.
    #[error("this program was built without {store}")]
    NotBuilt {
        /// The kind of store.
        store: &'static str,
        /// The feature of the package that adds it.
        feature: &'static str,
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
            Self::NotBuilt { .. } => "store_not_built",
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
            Some(("postgres" | "postgresql", place)) if place.starts_with("//") => {
                Ok(Self::Postgres(ServerUrl(text.to_owned())))
            }
            Some(("valkey" | "valkeys" | "redis" | "rediss", place)) if place.starts_with("//") => {
                Ok(Self::Valkey(ServerUrl(text.to_owned())))
            }
            Some(("http" | "https", place)) if names_host(place) => {
                if place.contains(['?', '#', '@']) {
                    let why = "a server's address is a scheme, a host, a port and a path; the key is given apart";
                    return Err(AddressError::Malformed { address: "http".to_owned(), why });
                }
                Ok(Self::Http(ServerUrl(text.trim_end_matches('/').to_owned())))
            }
            Some((
                scheme @ ("postgres" | "postgresql" | "valkey" | "valkeys" | "redis" | "rediss" | "http" | "https"),
                _,
            )) => {
                let address = scheme.to_owned();
                Err(AddressError::Malformed { address, why: "two slashes and the host follow the colon" })
            }
            // What comes before an @ may be a password.
            _ => Err(AddressError::UnknownScheme { address: text.rsplit('@').next().unwrap_or_default().to_owned() }),
        }
    }
}

/// Whether a host follows the slashes.
fn names_host(place: &str) -> bool {
    place.strip_prefix("//").is_some_and(|host| !host.is_empty() && !host.starts_with(['/', ':']))
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
        for text in ["postgres://u:secret@h/d", "postgresql://h/d"] {
            assert!(matches!(text.parse(), Ok(Address::Postgres(url)) if url.as_str() == text), "{text}");
        }
        assert!(matches!("http://h:8700/".parse(), Ok(Address::Http(url)) if url.as_str() == "http://h:8700"));
        assert!(matches!("https://h/onward".parse(), Ok(Address::Http(url)) if url.as_str() == "https://h/onward"));
        for text in ["valkey://u:secret@h:1,i:2", "redis://h", "rediss://h", "valkeys://h/3?prefix=x"] {
            let address: Address = text.parse().unwrap();
            assert!(matches!(&address, Address::Valkey(url) if url.as_str() == text), "{text}");
            assert!(!format!("{address:?}").contains("secret"), "{address:?}");
        }
        assert!(!"mysql://u:secret@h/d".parse::<Address>().unwrap_err().to_string().contains("secret"));
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
            ("postgres:here", "malformed_store_address"),
            ("valkey:6379", "malformed_store_address"),
            ("http:8700", "malformed_store_address"),
            ("http://", "malformed_store_address"),
            ("https:///onward", "malformed_store_address"),
            ("http://:8700", "malformed_store_address"),
            ("http://u:secret@h", "malformed_store_address"),
            ("http://h?key=secret", "malformed_store_address"),
        ] {
            assert_eq!(text.parse::<Address>().unwrap_err().code(), code, "{text}");
        }
    }
}
