//! The number that every stored body starts with.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The newest format of stored bodies.
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

fn unknown<E: de::Error>(format: u32) -> E {
    E::custom(format_args!("format {format} is unknown to this version"))
}
