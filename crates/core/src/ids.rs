//! Identity: how executions, partitions, leases and commands are named, printed and parsed.

use crate::digest::digest;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use uuid::Uuid;

/// A slice of all records; the unit of atomicity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PartitionId(pub u16);

impl PartitionId {
    /// The partition that a placement key belongs to: the same for ever for a given number of partitions.
    #[must_use]
    pub fn of(parts: &[&[u8]], partitions: u16) -> Self {
        Self((digest(parts.iter().copied()) % u128::from(partitions.max(1))) as u16)
    }

    /// Where a namespace's lane masters and gates live, so that they can be asked together in one commit.
    #[must_use]
    pub fn of_gates(namespace: &crate::Namespace, partitions: u16) -> Self {
        Self::of(&[b"gates", namespace.as_str().as_bytes()], partitions)
    }
}

impl FromStr for PartitionId {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

impl fmt::Display for PartitionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Spreads every input bit over the whole word. For random numbers only; what a caller gives is hashed by [`digest`].
#[must_use]
pub(crate) fn mix(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// The stable name of a unit of work, `x-<uuid>-<partition>`: time first, so that neighbours in time are neighbours on
/// disk, and with its partition, so that nobody has to look it up.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ExecutionId {
    uuid: Uuid,
    partition: PartitionId,
}

/// The longest text of an execution's id.
const ID_BYTES_MAX: usize = "x-".len() + 36 + "-65535".len();

// Ids are compared hundreds of times for each execution: as two numbers, not byte by byte. The order is the same.
impl Ord for ExecutionId {
    fn cmp(&self, other: &Self) -> Ordering {
        let (mine, others) = (self.uuid.as_u128(), other.uuid.as_u128());
        mine.cmp(&others).then_with(|| self.partition.cmp(&other.partition))
    }
}

impl PartialOrd for ExecutionId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl ExecutionId {
    /// An id from its parts; the uuid should be of version 7.
    #[must_use]
    pub fn new(uuid: Uuid, partition: PartitionId) -> Self {
        Self { uuid, partition }
    }

    /// Where the execution lives.
    #[must_use]
    pub fn partition(self) -> PartitionId {
        self.partition
    }

    /// The unique part.
    #[must_use]
    pub fn uuid(self) -> Uuid {
        self.uuid
    }

    /// Its text, to share.
    #[must_use]
    pub fn name(self) -> Arc<str> {
        self.text(&mut [0; ID_BYTES_MAX]).into()
    }

    /// Its text, written in one piece: ids are part of every key and event.
    fn text(self, room: &mut [u8; ID_BYTES_MAX]) -> &str {
        const UUID_END: usize = 2 + 36;
        room[..2].copy_from_slice(b"x-");
        self.uuid.as_hyphenated().encode_lower(&mut room[2..UUID_END]);
        room[UUID_END] = b'-';
        let mut digits = itoa::Buffer::new();
        let digits = digits.format(self.partition.0).as_bytes();
        let end = UUID_END + 1 + digits.len();
        room[UUID_END + 1..end].copy_from_slice(digits);
        std::str::from_utf8(&room[..end]).expect("digits, letters and hyphens are ASCII")
    }
}

/// Why a text is not an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// The text does not start with the letter of its kind.
    #[error("an execution id starts with `x-`, this is {0:?}")]
    Prefix(String),
    /// The text has no partition at its end.
    #[error("an execution id ends with its partition, as in `x-<uuid>-17`; this is {0:?}")]
    Partition(String),
    /// The middle is not a uuid in its usual lower-case form.
    #[error("an execution id holds a lower-case hyphenated uuid; this is {0:?}")]
    Uuid(String),
}

impl FromStr for ExecutionId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let shown = || text.chars().take(80).collect::<String>();
        let rest = text.strip_prefix("x-").ok_or_else(|| IdError::Prefix(shown()))?;
        let (uuid, partition) = rest.rsplit_once('-').ok_or_else(|| IdError::Partition(shown()))?;
        let plain = partition == "0" || !partition.starts_with(['0', '+']);
        let partition = partition.parse().ok().filter(|_| plain).ok_or_else(|| IdError::Partition(shown()))?;
        let well_formed = uuid.len() == 36 && !uuid.bytes().any(|byte| byte.is_ascii_uppercase());
        let uuid = Uuid::try_parse(uuid).ok().filter(|_| well_formed).ok_or_else(|| IdError::Uuid(shown()))?;
        Ok(Self::new(uuid, PartitionId(partition)))
    }
}

impl fmt::Display for ExecutionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text(&mut [0; ID_BYTES_MAX]))
    }
}

impl fmt::Debug for ExecutionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for ExecutionId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.text(&mut [0; ID_BYTES_MAX]))
    }
}

impl<'de> Deserialize<'de> for ExecutionId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::text::decode(deserializer, "the id of an execution", str::parse)
    }
}

/// Declares a 128-bit random id that prints and parses as 32 hexadecimal digits.
macro_rules! random_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u128);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(Uuid::from_u128(self.0).as_simple().encode_lower(&mut [0; 32]))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(Uuid::from_u128(self.0).as_simple().encode_lower(&mut [0; 32]))
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let expected = "an id of 32 hexadecimal digits";
                crate::text::decode(deserializer, expected, |text| text.parse().map_err(|_: IdError| expected))
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                let digits = text.len() == 32 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
                let word = u128::from_str_radix(text, 16).ok().filter(|_| digits);
                word.map(Self).ok_or_else(|| IdError::Uuid(text.chars().take(80).collect()))
            }
        }
    };
}

random_id! {
    /// Names one call that changes something; a repeat of the call carries the same id and gets the first answer.
    CommandId
}
random_id! {
    /// Stands for a value that is too large to keep, and for no other.
    Fingerprint
}
random_id! {
    /// Names one signal of an execution. It follows from what makes a repeat one: a key, a person, or the call.
    SignalId
}

impl SignalId {
    pub(crate) fn of(parts: &[&[u8]]) -> Self {
        Self(digest(parts.iter().copied()))
    }
}

impl CommandId {
    /// The id of a call that its caller named: the same parts give the same id.
    #[must_use]
    pub fn of(parts: &[&[u8]]) -> Self {
        Self(digest(parts.iter().copied()))
    }

    /// The id of what a call about many executions does with one of them.
    #[must_use]
    pub fn about(self, execution: ExecutionId) -> Self {
        Self::of(&[&self.0.to_le_bytes(), execution.uuid.as_bytes(), &execution.partition.0.to_le_bytes()])
    }
}

impl LeaseId {
    /// A lease in a namespace, from 128 random bits. A part of it shows the namespace, so that a holder from elsewhere is
    /// turned away without a look at the execution.
    #[must_use]
    pub fn within(namespace: &crate::Namespace, random: u128) -> Self {
        Self(u128::from(Self::mark(namespace)) << 96 | random & (u128::MAX >> 32))
    }

    /// Whether it was given out in a namespace.
    #[must_use]
    pub fn is_within(self, namespace: &crate::Namespace) -> bool {
        self.0 >> 96 == u128::from(Self::mark(namespace))
    }

    fn mark(namespace: &crate::Namespace) -> u32 {
        (digest([namespace.as_str().as_bytes()]) >> 96) as u32
    }
}

random_id! {
    /// Names one lease; with the epoch it is the fence of everything its holder does.
    LeaseId
}
random_id! {
    /// Names one message between partitions.
    MessageId
}
random_id! {
    /// Names one key that lets its holder call; anybody may see it.
    ApiKeyId
}
random_id! {
    /// Names one key that signs tokens; anybody may see it.
    TokenKeyId
}
random_id! {
    /// Names one process that runs on a store.
    MemberId
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_ordered_by_their_bytes_then_by_partition() {
        let uuids = [0, 1, 0xff, 1 << 64, (1 << 64) + 0xff, 1 << 127, u128::MAX].map(Uuid::from_u128);
        let partitions = [0, 9, 17, u16::MAX].map(PartitionId);
        let ids = uuids.iter().flat_map(|uuid| partitions.map(|partition| ExecutionId::new(*uuid, partition)));
        let ids: Vec<ExecutionId> = ids.collect();
        let bytes = |id: &ExecutionId| (*id.uuid().as_bytes(), id.partition());
        for (one, other) in ids.iter().flat_map(|one| ids.iter().map(move |other| (one, other))) {
            assert_eq!(one.cmp(other), bytes(one).cmp(&bytes(other)), "{one} and {other}");
        }
        for id in &ids {
            assert_eq!((id.to_string().parse(), &*id.name()), (Ok(*id), id.to_string().as_str()));
        }
    }

    #[test]
    fn ids_print_and_parse_and_bad_ones_say_why() {
        let id = ExecutionId::new(Uuid::from_u128(0x0192_f0c8_0000_7000_8000_0000_0000_0001), PartitionId(17));
        assert_eq!(id.to_string(), "x-0192f0c8-0000-7000-8000-000000000001-17");
        assert_eq!(id.to_string().parse(), Ok(id));
        for (text, matches) in [
            ("", IdError::Prefix as fn(String) -> IdError),
            ("f-0192f0c8-0000-7000-8000-000000000001-17", IdError::Prefix),
            ("x-0192f0c8-0000-7000-8000-000000000001", IdError::Partition),
            ("x-0192f0c8-0000-7000-8000-000000000001-70000", IdError::Partition),
            ("x-0192f0c8-0000-7000-8000-000000000001-017", IdError::Partition),
            ("x-0192f0c8-0000-7000-8000-000000000001-+7", IdError::Partition),
            ("x-0192F0C8-0000-7000-8000-000000000001-17", IdError::Uuid),
            ("x-0192f0c8000070008000000000000001-17", IdError::Uuid),
            ("x-{0192f0c8-0000-7000-8000-000000000001}-17", IdError::Uuid),
        ] {
            assert_eq!(text.parse::<ExecutionId>(), Err(matches(text.to_owned())), "{text}");
        }
    }

    #[test]
    fn random_ids_have_one_spelling() {
        let text = "\"0000000000000000000000000000002a\"";
        assert_eq!(serde_json::from_str::<LeaseId>(text).unwrap(), LeaseId(42));
        assert_eq!(serde_json::to_string(&LeaseId(42)).unwrap(), text);
        for bad in ["2a", "+000000000000000000000000000002a", "0000000000000000000000000000002A"] {
            assert!(serde_json::from_value::<LeaseId>(bad.into()).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_lease_shows_its_namespace_and_nothing_else_does() {
        let [here, there] = ["here", "there"].map(|name| name.parse::<crate::Namespace>().unwrap());
        let lease = LeaseId::within(&here, u128::MAX);
        assert!(lease.is_within(&here) && !lease.is_within(&there));
        assert_ne!(lease, LeaseId::within(&here, 7));
        assert_eq!(CommandId::of(&[b"a", b"b"]), CommandId::of(&[b"a", b"b"]));
        assert_ne!(CommandId::of(&[b"a", b"b"]), CommandId::of(&[b"ab", b""]));
    }

    #[test]
    fn placement_spreads_evenly_and_never_moves() {
        let mut counts = [0_u32; 64];
        for n in 0..64_000_u32 {
            counts[usize::from(PartitionId::of(&[&n.to_le_bytes()], 64).0)] += 1;
        }
        assert!(counts.iter().all(|&n| (800..1_200).contains(&n)), "{counts:?}");
        assert_eq!(PartitionId::of(&[b"default", b"order-1"], 64), PartitionId(63));
        assert_eq!(PartitionId::of_gates(&crate::Namespace::default(), 64), PartitionId(39));
    }
}
