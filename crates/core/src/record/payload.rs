//! Payloads that stand beside their execution.

use super::Stored;
use crate::codec::Body;
use bytes::Bytes;
use std::fmt;
use std::str::FromStr;

/// A payload too large or too binary for the record of its execution, as raw bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PayloadBytes(pub Bytes);

/// Which payload of an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PayloadSlot {
    /// What it was submitted with.
    Input,
    /// What it ended with.
    Result,
}

impl fmt::Display for PayloadSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Input => "in",
            Self::Result => "out",
        })
    }
}

impl FromStr for PayloadSlot {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        [Self::Input, Self::Result].into_iter().find(|slot| slot.to_string() == text).ok_or(())
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
