//! Names that people choose: their alphabets, their limits, and why one is refused.

use crate::digest::digest;
use crate::limits;
use serde::{Deserialize, Deserializer, Serialize, de};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Why a name was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Nothing was given.
    #[error("a {what} must not be empty")]
    Empty {
        /// What was being named.
        what: &'static str,
    },
    /// Too many bytes.
    #[error("a {what} has at most {max} bytes, this one has {found}")]
    TooLong {
        /// What was being named.
        what: &'static str,
        /// The limit.
        max: usize,
        /// What was given.
        found: usize,
    },
    /// A byte outside the alphabet.
    #[error("a {what} may hold {allowed}; byte {at} is {found:?}")]
    Byte {
        /// What was being named.
        what: &'static str,
        /// The alphabet in words.
        allowed: &'static str,
        /// Where the offending character stands.
        at: usize,
        /// The offending character.
        found: char,
    },
    /// Too many members of a set.
    #[error("at most {max} {what} are allowed, {found} were given")]
    TooMany {
        /// What was being counted.
        what: &'static str,
        /// The limit.
        max: usize,
        /// What was given.
        found: usize,
    },
}

impl NameError {
    /// What is not the number of a wait.
    pub(crate) fn wait_number() -> Self {
        Self::Empty { what: "wait's number" }
    }
}

/// What all names have in common.
pub trait Name: Sized {
    /// Checks a text and makes it a name.
    ///
    /// # Errors
    /// Says what is wrong with the text.
    fn parse(text: &str) -> Result<Self, NameError>;

    /// The text.
    fn as_str(&self) -> &str;
}

/// The characters that a name may have: in words, and one by one.
type Alphabet = (&'static str, fn(char) -> bool);

const PLAIN: Alphabet = ("letters, digits, '.', '_' and '-'", |c| c.is_ascii_alphanumeric() || "._-".contains(c));
const PATH: Alphabet = ("letters, digits, '.', '_', '-' and '/'", |c| c.is_ascii_alphanumeric() || "._-/".contains(c));
const PRINTABLE: Alphabet = ("printable characters", |c| !c.is_control());

fn check(what: &'static str, text: &str, max: usize, (allowed, fits): Alphabet) -> Result<(), NameError> {
    if text.is_empty() {
        return Err(NameError::Empty { what });
    }
    if text.len() > max {
        return Err(NameError::TooLong { what, max, found: text.len() });
    }
    match text.char_indices().find(|&(_, c)| !fits(c)) {
        Some((at, found)) => Err(NameError::Byte { what, allowed, at, found }),
        None => Ok(()),
    }
}

/// Declares a checked name that is cheap to clone and is checked again when it is deserialised.
macro_rules! name {
    ($(#[$doc:meta])* $type:ident, $what:literal, $max:expr, $alphabet:expr) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        pub struct $type(Arc<str>);

        impl Name for $type {
            fn parse(text: &str) -> Result<Self, NameError> {
                check($what, text, $max, $alphabet)?;
                Ok(Self(text.into()))
            }

            fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl $type {
            /// The text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $type {
            type Err = NameError;
            fn from_str(text: &str) -> Result<Self, NameError> {
                Self::parse(text)
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", &*self.0)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                crate::text::decode(deserializer, concat!("a ", $what), Self::parse)
            }
        }
    };
}

name! {
    /// A tenant: part of every index name, so that one never sees another's work.
    Namespace, "namespace", limits::NAMESPACE_BYTES_MAX, PLAIN
}
name! {
    /// A named queue; it exists by being used.
    Lane, "lane", limits::LANE_BYTES_MAX, PLAIN
}
name! {
    /// Which handler runs an execution.
    Kind, "kind", limits::KIND_BYTES_MAX, PRINTABLE
}
name! {
    /// Who holds a lease, for people to read; the fence is the lease's id.
    WorkerName, "worker name", limits::WORKER_BYTES_MAX, PRINTABLE
}
name! {
    /// The build of a worker's program, for people to read: a version, or a commit.
    Build, "build", limits::BUILD_BYTES_MAX, PRINTABLE
}
name! {
    /// Makes a submit with the same key return the first execution, within a namespace and a time window.
    IdempotencyKey, "idempotency key", limits::IDEMPOTENCY_KEY_BYTES_MAX, PRINTABLE
}
name! {
    /// Stands for one unfinished execution at a time, within a namespace.
    UniqueKey, "unique key", limits::UNIQUE_KEY_BYTES_MAX, PRINTABLE
}
name! {
    /// Who did something: the name of a key, or of a person.
    Actor, "name", limits::ACTOR_BYTES_MAX, PRINTABLE
}
name! {
    /// Something a worker can do and an execution can require.
    Capability, "capability", limits::CAPABILITY_BYTES_MAX, PLAIN
}
name! {
    /// What an execution waits for: its handler waits for a name, and senders of signals address it.
    WaitName, "wait name", limits::WAIT_NAME_BYTES_MAX, PATH
}
name! {
    /// What a signal says, such as `approved`; a wait may take some names only.
    SignalName, "signal name", limits::SIGNAL_NAME_BYTES_MAX, PRINTABLE
}
name! {
    /// The key of a tag.
    TagKey, "tag key", limits::TAG_BYTES_MAX, PLAIN
}
name! {
    /// The value of a tag.
    TagValue, "tag value", limits::TAG_BYTES_MAX, PRINTABLE
}

impl Default for Namespace {
    fn default() -> Self {
        Self("default".into())
    }
}

impl Default for Lane {
    fn default() -> Self {
        Self("default".into())
    }
}

/// The set of capabilities an execution requires. Work of one class waits together, so that a worker never has to look
/// past work it cannot run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
#[serde(transparent)]
pub struct Class(BTreeSet<Capability>);

impl Class {
    /// A class from its capabilities.
    ///
    /// # Errors
    /// When there are more than the limit.
    pub fn new(capabilities: impl IntoIterator<Item = Capability>) -> Result<Self, NameError> {
        let set: BTreeSet<_> = capabilities.into_iter().collect();
        let max = limits::CAPABILITIES_MAX;
        if set.len() > max {
            return Err(NameError::TooMany { what: "capabilities", max, found: set.len() });
        }
        Ok(Self(set))
    }

    /// Whether nothing is required.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The capabilities in order.
    pub fn capabilities(&self) -> impl Iterator<Item = &Capability> {
        self.0.iter()
    }

    /// What a worker with these capabilities lacks for this class.
    #[must_use]
    pub fn missing_from(&self, worker: &Self) -> Vec<Capability> {
        self.0.difference(&worker.0).cloned().collect()
    }

    /// Whether a worker with these capabilities lacks nothing for this class.
    #[must_use]
    pub fn is_within(&self, worker: &Self) -> bool {
        self.0.is_subset(&worker.0)
    }

    /// The name in index names: `-` for none, the capabilities joined by `+` while that is short, else a hash.
    #[must_use]
    pub fn name(&self) -> Cow<'static, str> {
        if self.0.is_empty() {
            return Cow::Borrowed("-");
        }
        let spelled = self.0.iter().map(Capability::as_str).collect::<Vec<_>>().join("+");
        // A capability may be called `-`, which must not look like the class that requires nothing.
        if spelled.len() <= limits::CLASS_NAME_BYTES_MAX && spelled != "-" {
            return Cow::Owned(spelled);
        }
        Cow::Owned(hashed(&spelled))
    }
}

impl Kind {
    /// The name in index names: the kind itself while that is short, else a hash.
    #[must_use]
    pub fn name(&self) -> Cow<'_, str> {
        // A kind may look like a hash, which must not be taken for that of another.
        if self.0.len() <= limits::KIND_NAME_BYTES_MAX && !self.0.starts_with('#') {
            return Cow::Borrowed(&self.0);
        }
        Cow::Owned(hashed(&self.0))
    }
}

fn hashed(text: &str) -> String {
    format!("#{:032x}", digest([text.as_bytes()]))
}

impl<'de> Deserialize<'de> for Class {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let set = BTreeSet::<Capability>::deserialize(deserializer)?;
        Self::new(set).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked_where_they_enter() {
        let what = "lane";
        assert!(Lane::parse("emails-eu.v2_x").is_ok());
        assert_eq!(Lane::parse(""), Err(NameError::Empty { what }));
        assert_eq!(Lane::parse(&"x".repeat(65)), Err(NameError::TooLong { what, max: 64, found: 65 }));
        assert_eq!(Lane::parse("a/b"), Err(NameError::Byte { what, allowed: PLAIN.0, at: 1, found: '/' }));
        assert!(Kind::parse("send email → now").is_ok());
        assert!(Kind::parse("line\nbreak").is_err());
        assert!(serde_json::from_str::<Lane>("\"a b\"").is_err());
    }

    #[test]
    fn kinds_are_named_by_themselves_while_they_are_short() {
        let named = |text: &str| Kind::parse(text).unwrap().name().into_owned();
        assert_eq!(named("send email / now"), "send email / now");
        assert_eq!(named(&"k".repeat(48)).len(), 48);
        let long = named(&"k".repeat(49));
        assert!(long.starts_with('#') && long.len() == 33);
        assert_ne!(named(&long), long, "no kind can be called as the hash of another");
    }

    #[test]
    fn classes_are_named_by_their_sorted_capabilities() {
        let class = |names: &[&str]| Class::new(names.iter().map(|n| Capability::parse(n).unwrap())).unwrap();
        assert_eq!(class(&[]).name(), "-");
        assert_eq!(class(&["linux", "gpu"]).name(), "gpu+linux");
        assert!(class(&["-"]).name().starts_with('#'), "it is not the class that requires nothing");
        let many: Vec<String> = (0..20).map(|n| format!("capability-{n}")).collect();
        let long = class(&many.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(long.name().starts_with('#') && long.name().len() == 33);
        assert_eq!(class(&["gpu", "linux"]).missing_from(&class(&["gpu"])), [Capability::parse("linux").unwrap()]);
        assert!(class(&[]).missing_from(&class(&[])).is_empty());
    }
}
