//! How a key is read back from its text, by the patterns of the table of records.

use crate::Key;
use std::sync::Arc;

/// The most fields that a key has.
const FIELDS: usize = 4;

/// A text that is no key of this version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not the key of a record")]
pub struct KeyError(String);

impl KeyError {
    pub(crate) fn new(text: &str) -> Self {
        Self(text.chars().take(200).collect())
    }
}

impl Key {
    /// The key as it is printed, to share.
    #[must_use]
    pub fn name(&self) -> Arc<str> {
        match self {
            Self::Execution(id) => id.name(),
            other => other.to_string().into(),
        }
    }
}

/// The texts of a pattern's fields, in their order; `None` when the text does not fit. A field ends at a `/`, and the last
/// one takes the rest, since the keys of users may contain any character.
pub(crate) fn fields<'a>(pattern: &str, text: &'a str) -> Option<[&'a str; FIELDS]> {
    let (mut found, mut count, mut rest) = ([""; FIELDS], 0, Some(text));
    let mut segments = pattern.split('/').peekable();
    while let Some(segment) = segments.next() {
        let (here, after) = match segments.peek() {
            Some(_) => rest?.split_once('/').map(|(here, after)| (here, Some(after)))?,
            None => (rest?, None),
        };
        if segment.starts_with('{') {
            *found.get_mut(count)? = here;
            count += 1;
        } else if segment != here {
            return None;
        }
        rest = after;
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::ErrandKind;
    use crate::{
        ApiKeyId, ExecutionId, IdempotencyKey, Lane, MemberId, Name, Namespace, PartitionId, PayloadSlot, UniqueKey,
    };
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
            Key::Errand(id, ErrandKind::Purge),
            Key::LaneMaster(namespace.clone(), lane.clone()),
            Key::LaneCopy(namespace.clone(), lane.clone(), PartitionId(65_535)),
            Key::Queues(namespace, lane, PartitionId(65_535)),
            Key::Outbox(from, to),
            Key::Message(from, to, u64::MAX),
            Key::Inbox(to, from),
            Key::Dead(from, to, 7),
            Key::Member(MemberId(u128::MAX)),
            Key::ApiKey(ApiKeyId(u128::MAX)),
            Key::TokenKeys(PartitionId(0)),
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
            "queues/a/b",
            "queues/a/b/",
            "queues/a/\t/7",
            &format!("queues/a/{}/7", "c".repeat(65)),
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
