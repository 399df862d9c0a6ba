//! What an execution waits for: the names of its waits, the records of those that are over, and what it keeps about all.

use super::{Format, Ordinal, Stored, formats, is_default, plain};
use crate::{Actor, Millis, Name, NameError, SignalId, SignalName, WaitName};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// The n-th wait for a name in one life of an execution: `approval#2`. A bare name is the first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WaitRef {
    /// The name, which senders address.
    pub name: WaitName,
    /// Counts the waits for this name, from 1 on.
    pub n: u32,
}

/// Where a signal goes: to a name, and perhaps to one wait for it only.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WaitAddress {
    /// The name.
    pub name: WaitName,
    /// The wait for it; whichever comes next when absent.
    pub n: Option<u32>,
}

/// A wait of one life of an execution, `<life>.<name>#<n>`: what a replay waits for is not what the life before it did.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WaitId {
    /// The life, from 0 on.
    pub life: u32,
    /// The wait.
    pub wait: WaitRef,
}

impl WaitRef {
    /// The n-th wait for a name.
    #[must_use]
    pub fn new(name: WaitName, n: u32) -> Self {
        Self { name, n }
    }
}

impl From<WaitRef> for WaitAddress {
    fn from(wait: WaitRef) -> Self {
        Self { name: wait.name, n: Some(wait.n) }
    }
}

impl From<WaitName> for WaitAddress {
    fn from(name: WaitName) -> Self {
        Self { name, n: None }
    }
}

impl WaitAddress {
    /// Whether it may be meant for a wait.
    #[must_use]
    pub fn reaches(&self, wait: &WaitRef) -> bool {
        self.name == wait.name && self.n.is_none_or(|n| n == wait.n)
    }
}

impl fmt::Display for WaitRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.name, self.n)
    }
}

impl fmt::Display for WaitAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.n {
            Some(n) => write!(f, "{}#{n}", self.name),
            None => fmt::Display::fmt(&self.name, f),
        }
    }
}

impl fmt::Display for WaitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.life, self.wait)
    }
}

impl FromStr for WaitAddress {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let Some((name, n)) = text.rsplit_once('#') else { return Ok(Self { name: text.parse()?, n: None }) };
        let number = n.parse().ok().filter(|number: &u32| *number > 0 && number.to_string() == n);
        // A `#` is in no name: what stands behind it is refused as a part of one.
        let Some(number) = number else {
            return Err(WaitName::parse(text).err().unwrap_or_else(NameError::wait_number));
        };
        Ok(Self { name: name.parse()?, n: Some(number) })
    }
}

impl FromStr for WaitRef {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let WaitAddress { name, n } = text.parse()?;
        Ok(Self { name, n: n.unwrap_or(1) })
    }
}

impl FromStr for WaitId {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let (life, wait) = text.split_once('.').ok_or_else(NameError::wait_number)?;
        let number = life.parse().ok().filter(|number: &u32| number.to_string() == life);
        Ok(Self { life: number.ok_or_else(NameError::wait_number)?, wait: wait.parse()? })
    }
}

/// Serialises a type as the text that it prints and parses.
macro_rules! as_text {
    ($($type:ident $what:literal),+) => {
        $(impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                crate::text::decode(deserializer, $what, str::parse)
            }
        })+
    };
}

as_text!(WaitRef "a wait such as \"approval\" or \"approval#2\"", WaitAddress "a wait such as \"approval\"",
    WaitId "a wait of one life such as \"0.approval#1\"");
plain!(WaitRef, WaitAddress, WaitName, SignalName, SignalId);

/// A signal that a wait took.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taken {
    /// The signal.
    pub signal: SignalId,
    /// The wait that took it.
    pub wait: WaitRef,
    /// Its name, if it has one.
    pub name: Option<SignalName>,
    /// Who sent it, when the sender was authenticated by name.
    pub actor: Option<Actor>,
    /// Whether its payload is a record of its own.
    #[serde(default, skip_serializing_if = "is_default")]
    pub beside: bool,
}

words! {
    /// How a wait came to its end.
    HowOver {
        /// By signals, or because what else it was asked for was met by signals.
        Signals = "signals",
        /// Its time was over.
        Timeout = "timeout",
        /// An operator ended it.
        Operator = "operator",
    }
}

/// A wait that is over: an attempt that comes to it again gets the same answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitOver {
    /// The format of this record.
    #[serde(rename = "v", skip_serializing)]
    pub format: Format,
    /// How it ended.
    pub how: HowOver,
    /// When.
    pub at: Millis,
    /// Its place among the waits of the execution that are over.
    pub seq: u32,
    /// The signals that it took, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signals: Vec<Taken>,
}

/// What an execution keeps about its waits and signals; absent until there is one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waits {
    /// Signals that no wait has taken yet, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mail: Vec<Mail>,
    /// How many signals were accepted; each is a record.
    #[serde(default, skip_serializing_if = "is_default")]
    pub signals: u32,
    /// How many of them have a payload that is a record of its own.
    #[serde(default, skip_serializing_if = "is_default")]
    pub payloads: u32,
    /// How many waits are over; each is a record.
    #[serde(default, skip_serializing_if = "is_default")]
    pub over: u32,
    /// Waits that the last suspension left open, each with the time since which it is: their timeouts count from it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub open: BTreeMap<WaitRef, Millis>,
}

/// A signal that waits to be taken.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mail {
    /// The name that it was sent to.
    pub wait: WaitName,
    /// The signal.
    pub signal: SignalId,
    /// The only wait that may take it, if it was sent to one.
    pub only: Option<Ordinal>,
}

impl Waits {
    /// How many records stand beside the execution because of them.
    pub(crate) fn records(&self) -> u32 {
        self.signals.saturating_add(self.payloads).saturating_add(self.over)
    }

    /// About how many bytes they take in the record of the execution.
    pub(crate) fn bytes(&self) -> usize {
        128 + 128 * self.mail.len() + 96 * self.open.len()
    }
}

impl Stored for WaitOver {
    fn bytes(&self) -> usize {
        128 + Taken::BYTES * self.signals.len()
    }
}

impl Taken {
    /// About how many bytes one takes in a record.
    pub(crate) const BYTES: usize = 224;
}

formats!(struct Taken { signal, wait, name, actor, beside });
formats!(
    enum HowOver {
        Signals,
        Timeout,
        Operator,
    }
);
formats!(struct WaitOver { format, how, at, seq, signals });
formats!(struct Waits { mail, signals, payloads, over, open });
formats!(struct Mail { wait, signal, only });
