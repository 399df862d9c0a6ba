//! Keys: every one survives printing and parsing, and no text is a second spelling of one.

use crate::runner;
use crate::world::make::id_in;
use onward_core::{IdempotencyKey, Key, Lane, MemberId, Name, Namespace, PartitionId, PayloadSlot, UniqueKey};
use proptest::prelude::*;

fn partition() -> impl Strategy<Value = PartitionId> {
    any::<u16>().prop_map(PartitionId)
}

fn namespace() -> impl Strategy<Value = Namespace> {
    "[A-Za-z0-9._-]{1,40}".prop_map(|text| Namespace::parse(&text).unwrap())
}

fn lane() -> impl Strategy<Value = Lane> {
    "[A-Za-z0-9._-]{1,64}".prop_map(|text| Lane::parse(&text).unwrap())
}

fn idempotency_key() -> impl Strategy<Value = IdempotencyKey> {
    "\\PC{1,30}".prop_filter_map("too long or a control character", |text| IdempotencyKey::parse(&text).ok())
}

fn unique_key() -> impl Strategy<Value = UniqueKey> {
    "\\PC{1,30}".prop_filter_map("too long or a control character", |text| UniqueKey::parse(&text).ok())
}

fn key() -> impl Strategy<Value = Key> {
    let execution = || (0_u128..1 << 48, partition()).prop_map(|(n, partition)| id_in(n, partition));
    prop_oneof![
        execution().prop_map(Key::Execution),
        (execution(), any::<u32>()).prop_map(|(id, index)| Key::Attempt(id, index)),
        execution().prop_map(|id| Key::Payload(id, PayloadSlot::Input)),
        execution().prop_map(|id| Key::Payload(id, PayloadSlot::Result)),
        (namespace(), idempotency_key()).prop_map(|(namespace, key)| Key::Idempotency(namespace, key)),
        (namespace(), unique_key()).prop_map(|(namespace, key)| Key::Unique(namespace, key)),
        (execution(), any::<u32>()).prop_map(|(id, page)| Key::History(id, page)),
        (namespace(), lane()).prop_map(|(namespace, lane)| Key::LaneMaster(namespace, lane)),
        (namespace(), lane(), partition()).prop_map(|(namespace, lane, at)| Key::LaneCopy(namespace, lane, at)),
        (namespace(), lane(), partition()).prop_map(|(namespace, lane, at)| Key::Queues(namespace, lane, at)),
        (partition(), partition()).prop_map(|(from, to)| Key::Outbox(from, to)),
        (partition(), partition(), any::<u64>()).prop_map(|(from, to, seq)| Key::Message(from, to, seq)),
        (partition(), partition()).prop_map(|(to, from)| Key::Inbox(to, from)),
        (partition(), partition(), any::<u64>()).prop_map(|(from, to, seq)| Key::Dead(from, to, seq)),
        any::<u128>().prop_map(|id| Key::Member(MemberId(id))),
    ]
}

#[test]
fn every_key_survives_printing_and_parsing() {
    let result = runner().run(&key(), |key| {
        let text = key.to_string();
        prop_assert!(text.len() <= 200);
        prop_assert_eq!(text.parse(), Ok(key));
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
}

/// Changes one place of a good key's text: what still parses must print as the changed text.
#[test]
fn no_text_is_a_second_spelling_of_a_key() {
    let change = (key(), any::<prop::sample::Index>(), "[/0-9a-zA-Z+# -]{0,2}");
    let result = runner().run(&change, |(key, at, with)| {
        let mut text: Vec<char> = key.to_string().chars().collect();
        let at = at.index(text.len());
        text.splice(at..=at, with.chars());
        let text: String = text.into_iter().collect();
        if let Ok(parsed) = text.parse::<Key>() {
            prop_assert_eq!(parsed.to_string(), text);
        }
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
}

/// Messages are delivered, attempts and pages of history listed, in the order of their keys' texts.
#[test]
fn numbers_in_keys_sort_as_texts() {
    let (from, to) = (PartitionId(1), PartitionId(2));
    let pairs = (any::<u64>(), any::<u64>(), 0_u32..100_000, 0_u32..100_000);
    let result = runner().run(&pairs, |(one, other, first, second)| {
        let texts = [one, other].map(|seq| Key::Message(from, to, seq).to_string());
        prop_assert_eq!(one.cmp(&other), texts[0].cmp(&texts[1]));
        let texts = [first, second].map(|index| Key::Attempt(id_in(1, from), index).to_string());
        prop_assert_eq!(first.cmp(&second), texts[0].cmp(&texts[1]));
        let texts = [first, second].map(|page| Key::History(id_in(1, from), page).to_string());
        prop_assert_eq!(first.cmp(&second), texts[0].cmp(&texts[1]));
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
}
