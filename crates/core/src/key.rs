//! What names a record: every key of the system, printed and parsed in one place.
//!
//! A key is unique in the whole store. Where several partitions hold a record of one name, the key ends with its
//! partition. Records of one execution share its id as a prefix, so that they are neighbours on disk.

use crate::{
    ApiKeyId, Class, ExecutionId, IdempotencyKey, Lane, MemberId, Name, Namespace, PartitionId, UniqueKey, limits,
};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The key of a record.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// An execution: its id.
    Execution(ExecutionId),
    /// An ended attempt that another one followed: `<execution>/a/<number>`.
    Attempt(ExecutionId, u32),
    /// A payload too large or too binary for the execution record: `<execution>/in` or `<execution>/out`.
    Payload(ExecutionId, PayloadSlot),
    /// Which execution an idempotency key stands for: `key/<namespace>/<key>`.
    Idempotency(Namespace, IdempotencyKey),
    /// Which unfinished execution a unique key stands for: `unique/<namespace>/<key>`.
    Unique(Namespace, UniqueKey),
    /// A page of an execution's older transitions: `<execution>/h/<page>`.
    History(ExecutionId, u32),
    /// A lane's settings, in the namespace's gate partition: `lane/<namespace>/<lane>`.
    LaneMaster(Namespace, Lane),
    /// The copy of a lane's settings that one partition's rules read: `lane/<namespace>/<lane>/<partition>`.
    LaneCopy(Namespace, Lane, PartitionId),
    /// Work of this class was submitted in this partition: `class/<namespace>/<lane>/<class>/<partition>`.
    Class(Namespace, Lane, Arc<str>, PartitionId),
    /// The sequence of messages from one partition to another: `out/<from>/<to>`.
    Outbox(PartitionId, PartitionId),
    /// A message on its way: `out/<from>/<to>/<seq>`.
    Message(PartitionId, PartitionId, u64),
    /// What a partition has applied from another: `in/<to>/<from>`.
    Inbox(PartitionId, PartitionId),
    /// A message that could not be delivered: `dead/<from>/<to>/<seq>`.
    Dead(PartitionId, PartitionId, u64),
    /// A process that runs on the store: `member/<id>`.
    Member(MemberId),
    /// A key that lets its holder call: `apikey/<id>`.
    ApiKey(ApiKeyId),
}

/// Which payload of an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PayloadSlot {
    /// What it was submitted with.
    Input,
    /// What it ended with.
    Result,
}

impl Key {
    /// The key of a class's registration.
    #[must_use]
    pub fn class(namespace: &Namespace, lane: &Lane, class: &Class, partition: PartitionId) -> Self {
        Self::Class(namespace.clone(), lane.clone(), class.name().into(), partition)
    }

    /// The key as it is printed, to share.
    #[must_use]
    pub fn name(&self) -> Arc<str> {
        match self {
            Self::Execution(id) => id.name(),
            other => other.to_string().into(),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Execution(id) => fmt::Display::fmt(id, f),
            Self::Attempt(id, number) => write!(f, "{id}/a/{number:05}"),
            Self::Payload(id, PayloadSlot::Input) => write!(f, "{id}/in"),
            Self::Payload(id, PayloadSlot::Result) => write!(f, "{id}/out"),
            Self::Idempotency(namespace, key) => write!(f, "key/{namespace}/{key}"),
            Self::Unique(namespace, key) => write!(f, "unique/{namespace}/{key}"),
            Self::History(id, page) => write!(f, "{id}/h/{page:05}"),
            Self::LaneMaster(namespace, lane) => write!(f, "lane/{namespace}/{lane}"),
            Self::LaneCopy(namespace, lane, partition) => write!(f, "lane/{namespace}/{lane}/{partition}"),
            Self::Class(namespace, lane, class, partition) => write!(f, "class/{namespace}/{lane}/{class}/{partition}"),
            Self::Outbox(from, to) => write!(f, "out/{from}/{to}"),
            Self::Message(from, to, seq) => write!(f, "out/{from}/{to}/{seq:020}"),
            Self::Inbox(to, from) => write!(f, "in/{to}/{from}"),
            Self::Dead(from, to, seq) => write!(f, "dead/{from}/{to}/{seq:020}"),
            Self::Member(id) => write!(f, "member/{id}"),
            Self::ApiKey(id) => write!(f, "apikey/{id}"),
        }
    }
}

/// A text that is no key of this version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not the key of a record")]
pub struct KeyError(String);

impl FromStr for Key {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let parsed = match text.split_once('/') {
            None => text.parse().ok().map(Self::Execution),
            Some((id, rest)) if id.starts_with("x-") => execution_part(id, rest),
            Some(("key", rest)) => rest
                .split_once('/')
                .and_then(|(ns, key)| Some(Self::Idempotency(Namespace::parse(ns).ok()?, key.parse().ok()?))),
            Some(("unique", rest)) => {
                rest.split_once('/').and_then(|(ns, key)| Some(Self::Unique(ns.parse().ok()?, key.parse().ok()?)))
            }
            Some((family, rest)) => plain(family, &rest.split('/').collect::<Vec<_>>()),
        };
        // A key has one spelling: `out/1/2/+7` names nothing.
        parsed.filter(|key| key.to_string() == text).ok_or_else(|| KeyError(text.chars().take(200).collect()))
    }
}

fn execution_part(id: &str, rest: &str) -> Option<Key> {
    let id = id.parse().ok()?;
    match rest {
        "in" => Some(Key::Payload(id, PayloadSlot::Input)),
        "out" => Some(Key::Payload(id, PayloadSlot::Result)),
        _ => match rest.split_once('/')? {
            ("a", number) => Some(Key::Attempt(id, number.parse().ok()?)),
            ("h", page) => Some(Key::History(id, page.parse().ok()?)),
            _ => None,
        },
    }
}

fn plain(family: &str, parts: &[&str]) -> Option<Key> {
    let partition = |text: &str| text.parse().ok().map(PartitionId);
    Some(match (family, parts) {
        ("lane", [ns, lane]) => Key::LaneMaster(ns.parse().ok()?, lane.parse().ok()?),
        ("lane", [ns, lane, p]) => Key::LaneCopy(ns.parse().ok()?, lane.parse().ok()?, partition(p)?),
        ("class", [ns, lane, class, p]) => {
            Key::Class(ns.parse().ok()?, lane.parse().ok()?, class_name(class)?, partition(p)?)
        }
        ("out", [from, to]) => Key::Outbox(partition(from)?, partition(to)?),
        ("out", [from, to, seq]) => Key::Message(partition(from)?, partition(to)?, seq.parse().ok()?),
        ("in", [to, from]) => Key::Inbox(partition(to)?, partition(from)?),
        ("member", [id]) => Key::Member(id.parse().ok()?),
        ("apikey", [id]) => Key::ApiKey(id.parse().ok()?),
        ("dead", [from, to, seq]) => Key::Dead(partition(from)?, partition(to)?, seq.parse().ok()?),
        _ => return None,
    })
}

/// A text that [`Class::name`] may have written.
fn class_name(text: &str) -> Option<Arc<str>> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"._-+#".contains(&byte);
    let is_name = (1..=limits::CLASS_NAME_BYTES_MAX).contains(&text.len()) && text.bytes().all(fits);
    is_name.then(|| text.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn every_key_survives_printing_and_parsing_and_fits_a_store() {
        let id = ExecutionId::new(Uuid::from_u128(u128::MAX), PartitionId(65_535));
        let namespace: Namespace = "n".repeat(40).parse().unwrap();
        let lane: Lane = "l".repeat(64).parse().unwrap();
        let (from, to) = (PartitionId(3), PartitionId(61));
        for key in [
            Key::Execution(id),
            Key::Attempt(id, u32::MAX),
            Key::Payload(id, PayloadSlot::Input),
            Key::Payload(id, PayloadSlot::Result),
            Key::Idempotency(namespace.clone(), IdempotencyKey::parse("order/17 / again").unwrap()),
            Key::Idempotency(namespace.clone(), IdempotencyKey::parse(&"k".repeat(128)).unwrap()),
            Key::Unique(namespace.clone(), UniqueKey::parse("customer/17").unwrap()),
            Key::Unique(namespace.clone(), UniqueKey::parse(&"k".repeat(128)).unwrap()),
            Key::History(id, u32::MAX),
            Key::LaneMaster(namespace.clone(), lane.clone()),
            Key::LaneCopy(namespace.clone(), lane.clone(), PartitionId(65_535)),
            Key::Class(namespace, lane, "c".repeat(64).into(), PartitionId(65_535)),
            Key::Outbox(from, to),
            Key::Message(from, to, u64::MAX),
            Key::Inbox(to, from),
            Key::Dead(from, to, 7),
            Key::Member(MemberId(u128::MAX)),
            Key::ApiKey(ApiKeyId(u128::MAX)),
        ] {
            let text = key.to_string();
            assert_eq!(text.parse(), Ok(key));
            assert!(text.len() <= 200, "{text}");
        }
        for text in [
            "",
            "x-",
            "lane/a",
            "out/1/x",
            "key/a",
            "class/a/b/c",
            "class/a/b//7",
            "class/a/b/\t/7",
            &format!("class/a/b/{}/7", "c".repeat(65)),
            "nonsense/1",
            "out/1/+2",
            "out/01/2",
            "in/1/2/",
            "dead/1/2/7",
            "member/7",
        ] {
            assert!(text.parse::<Key>().is_err(), "{text}");
        }
    }
}
