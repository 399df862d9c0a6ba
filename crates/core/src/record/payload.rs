//! Payloads that stand beside their execution.

use super::Stored;
use crate::SignalId;
use crate::codec::Body;
use bytes::Bytes;
use std::fmt;
use std::str::FromStr;

/// A payload too large or too binary for the record of its execution, as raw bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PayloadBytes(pub Bytes);

/// The text that the payload of a signal begins with in a key, behind which its id follows.
const SIGNAL: &str = "sp/";

/// Which payload of an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PayloadSlot {
    /// What it was submitted with.
    Input,
    /// What it ended with.
    Result,
    /// What a signal to it carries.
    Signal(SignalId),
}

impl fmt::Display for PayloadSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input => f.write_str("in"),
            Self::Result => f.write_str("out"),
            Self::Signal(id) => write!(f, "{SIGNAL}{id}"),
        }
    }
}

impl FromStr for PayloadSlot {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match (text, text.strip_prefix(SIGNAL)) {
            ("in", _) => Ok(Self::Input),
            ("out", _) => Ok(Self::Result),
            (_, Some(id)) => id.parse().map(Self::Signal).map_err(drop),
            _ => Err(()),
        }
    }
}

impl Body for PayloadBytes {
    fn encode(&self, _: usize) -> Bytes {
        self.0.clone()
    }

    fn decode(body: &Bytes) -> Option<Self> {
        Some(Self(body.clone()))
    }
}

impl Stored for PayloadBytes {
    fn bytes(&self) -> usize {
        self.0.len()
    }
}
