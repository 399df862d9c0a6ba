//! The number that every stored body starts with: the smallest format that can hold the record.

use crate::TraceContext;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The format of everything but executions and unique keys.
pub const FORMAT: u32 = 1;

/// The format number that every stored body starts with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format;

impl Serialize for Format {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        FORMAT.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Format {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u32::deserialize(deserializer)? {
            1..=FORMAT => Ok(Self),
            newer => Err(unknown(newer)),
        }
    }
}

/// The format number of an execution. A newer one is used only by executions that need it, so that an older program leaves
/// those alone instead of dropping what it does not know, and goes on with all others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ExecutionFormat {
    /// All that the first version knew.
    #[default]
    First,
    /// With the trace from which it was submitted.
    Traced,
}

impl ExecutionFormat {
    /// The smallest format that can hold this.
    pub(crate) fn of(trace: Option<TraceContext>) -> Self {
        if trace.is_some() { Self::Traced } else { Self::First }
    }
}

impl Serialize for ExecutionFormat {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let number: u32 = match self {
            Self::First => 1,
            Self::Traced => 2,
        };
        number.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ExecutionFormat {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u32::deserialize(deserializer)? {
            1 => Ok(Self::First),
            2 => Ok(Self::Traced),
            newer => Err(unknown(newer)),
        }
    }
}

/// The format number of a unique key's record. An older program takes any record for a key that is held, so a freed one
/// has a number that it does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UniqueFormat {
    /// An execution holds the key.
    Held,
    /// The key is free again.
    Freed,
}

impl Serialize for UniqueFormat {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let number: u32 = match self {
            Self::Held => 1,
            Self::Freed => 2,
        };
        number.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for UniqueFormat {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u32::deserialize(deserializer)? {
            1 => Ok(Self::Held),
            2 => Ok(Self::Freed),
            newer => Err(unknown(newer)),
        }
    }
}

fn unknown<E: de::Error>(format: u32) -> E {
    E::custom(format_args!("format {format} is unknown to this version"))
}
