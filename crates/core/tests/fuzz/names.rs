//! Names that people choose: an accepted one is within its length and its alphabet, and is kept as it is.

use onward_core::{
    Actor, Capability, Class, IdempotencyKey, Kind, Lane, Name, Namespace, TagKey, TagValue, UniqueKey, WorkerName,
    limits,
};
use onward_fuzz::proptest::prelude::*;
use onward_fuzz::{Judged, fuzz, near, near_any};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;

/// Whether an accepted name must be of letters, digits, dots, lines and dashes.
#[derive(PartialEq, Eq)]
enum Alphabet {
    Plain,
    Printable,
}

fn check<T>(text: &str, max: usize, alphabet: &Alphabet) -> Judged
where
    T: Name + Debug + PartialEq + Serialize + DeserializeOwned,
{
    let parsed = T::parse(text).ok();
    let quoted = serde_json::to_string(text).unwrap();
    prop_assert_eq!(&parsed, &serde_json::from_str(&quoted).ok(), "JSON and text agree");
    let Some(name) = parsed else { return Ok(false) };
    prop_assert_eq!(name.as_str(), text);
    prop_assert_eq!(serde_json::to_string(&name).unwrap(), quoted);
    prop_assert!((1..=max).contains(&text.len()));
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
    let fits = |c: char| if *alphabet == Alphabet::Plain { is_plain(c) } else { !c.is_control() };
    prop_assert!(text.chars().all(fits), "{text:?}");
    Ok(true)
}

#[test]
fn fuzz_plain_names() {
    fuzz(near("[A-Za-z0-9._-]{1,70}"), |text| {
        let judged = check::<Lane>(&text, limits::LANE_BYTES_MAX, &Alphabet::Plain)?;
        check::<Namespace>(&text, limits::NAMESPACE_BYTES_MAX, &Alphabet::Plain)?;
        check::<Capability>(&text, limits::CAPABILITY_BYTES_MAX, &Alphabet::Plain)?;
        check::<TagKey>(&text, limits::TAG_BYTES_MAX, &Alphabet::Plain)?;
        Ok(judged)
    });
}

#[test]
fn fuzz_printable_names() {
    fuzz(near("\\PC{1,70}"), |text| {
        let judged = check::<Kind>(&text, limits::KIND_BYTES_MAX, &Alphabet::Printable)?;
        check::<WorkerName>(&text, limits::WORKER_BYTES_MAX, &Alphabet::Printable)?;
        check::<IdempotencyKey>(&text, limits::IDEMPOTENCY_KEY_BYTES_MAX, &Alphabet::Printable)?;
        check::<UniqueKey>(&text, limits::UNIQUE_KEY_BYTES_MAX, &Alphabet::Printable)?;
        check::<Actor>(&text, limits::ACTOR_BYTES_MAX, &Alphabet::Printable)?;
        check::<TagValue>(&text, limits::TAG_BYTES_MAX, &Alphabet::Printable)?;
        Ok(judged)
    });
}

#[test]
fn fuzz_sets_of_capabilities() {
    fuzz(near_any(&["[]", r#"["gpu"]"#, r#"["gpu","linux","-","a.b"]"#]), |text| {
        let Ok(class) = serde_json::from_str::<Class>(&text) else { return Ok(false) };
        prop_assert!(class.capabilities().count() <= limits::CAPABILITIES_MAX);
        let (name, again) = (class.name(), serde_json::to_string(&class).unwrap());
        prop_assert_eq!(&serde_json::from_str::<Class>(&again).unwrap(), &class);
        prop_assert!((1..=limits::CLASS_NAME_BYTES_MAX + 1).contains(&name.len()), "{name}");
        Ok(true)
    });
}

#[test]
fn fuzz_names_of_queues() {
    fuzz(near("[a-z #/é]{1,60}"), |text| {
        let Ok(kind) = text.parse::<Kind>() else { return Ok(false) };
        let name = kind.name();
        prop_assert!((1..=limits::KIND_NAME_BYTES_MAX).contains(&name.len()), "{name}");
        prop_assert_eq!(name == text, !name.starts_with('#'), "what is not spelled out is a hash, and nothing else is");
        Ok(true)
    });
}
