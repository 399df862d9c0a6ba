//! Ids: what is read is printed as it was, and JSON agrees with text.

use onward_core::{ApiKeyId, CommandId, ExecutionId, LeaseId, MemberId, MessageId};
use onward_fuzz::proptest::prelude::*;
use onward_fuzz::{Judged, fuzz, near};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::{Debug, Display};
use std::str::FromStr;

/// The text of a valid execution id.
pub(crate) fn execution_id() -> impl Strategy<Value = String> + Clone {
    (any::<u128>(), any::<u16>())
        .prop_map(|(uuid, partition)| format!("x-{}-{partition}", uuid::Uuid::from_u128(uuid).as_hyphenated()))
}

/// Reads a text in both ways; what is accepted has this spelling only.
fn one_spelling<T>(text: &str) -> Judged
where
    T: FromStr + Display + Debug + PartialEq + Serialize + DeserializeOwned,
{
    let parsed = text.parse::<T>().ok();
    let quoted = serde_json::to_string(text).unwrap();
    prop_assert_eq!(&parsed, &serde_json::from_str(&quoted).ok(), "JSON and text agree");
    if let Some(parsed) = &parsed {
        prop_assert_eq!(parsed.to_string(), text);
        prop_assert_eq!(serde_json::to_string(parsed).unwrap(), quoted);
    }
    Ok(parsed.is_some())
}

#[test]
fn fuzz_execution_ids_have_one_spelling() {
    fuzz(near(execution_id()), |text| {
        if let Err(error) = text.parse::<ExecutionId>() {
            prop_assert!(error.to_string().len() < 2_000, "a long text is not repeated whole");
        }
        one_spelling::<ExecutionId>(&text)
    });
}

#[test]
fn fuzz_random_ids_have_one_spelling() {
    fuzz(near("[0-9a-f]{32}"), |text| {
        let judged = one_spelling::<ApiKeyId>(&text)?;
        for other in [
            one_spelling::<CommandId>(&text)?,
            one_spelling::<LeaseId>(&text)?,
            one_spelling::<MemberId>(&text)?,
            one_spelling::<MessageId>(&text)?,
        ] {
            prop_assert_eq!(judged, other);
        }
        Ok(judged)
    });
}
