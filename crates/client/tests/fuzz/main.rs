//! What callers and servers send, as hostile as it gets: nothing panics, what is accepted is written and read as the same.
#![allow(clippy::unwrap_used, reason = "a failing test may panic")]

mod addresses;
mod answers;
mod bodies;
mod keys;
mod leases;
mod queries;
mod submits;
mod times;

use onward_fuzz::Judged;
use onward_fuzz::proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Reads JSON; what is accepted must be written so that it is read and written as the same.
fn read<T: Serialize + DeserializeOwned>(text: &str) -> Result<Option<T>, TestCaseError> {
    let Ok(value) = serde_json::from_str::<T>(text) else { return Ok(None) };
    let written = serde_json::to_string(&value).unwrap();
    let again = serde_json::from_str::<T>(&written);
    prop_assert!(again.is_ok(), "{} was written as {}: {:?}", text, written, again.err());
    prop_assert_eq!(serde_json::to_string(&again.unwrap()).unwrap(), written);
    Ok(Some(value))
}

/// The same for what needs no further look.
fn judge<T: Serialize + DeserializeOwned>(text: &str) -> Judged {
    Ok(read::<T>(text)?.is_some())
}
