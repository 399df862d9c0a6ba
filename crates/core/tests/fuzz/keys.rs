//! Keys of records: what is read is printed as it was and fits a store.

use crate::ids::execution_id;
use onward_core::Key;
use onward_fuzz::proptest::prelude::*;
use onward_fuzz::proptest::sample::select;
use onward_fuzz::{fuzz, near};

/// The longest key that every store takes.
const KEY_BYTES_MAX: usize = 200;

/// The text of a valid key of any kind.
fn valid() -> impl Strategy<Value = String> + Clone {
    let part = select(vec!["", "/in", "/out", "/a/00007", "/h/00000", "/a/4294967295"]);
    prop_oneof![
        (execution_id(), part).prop_map(|(id, part)| format!("{id}{part}")),
        "(key|unique)/[a-z.-]{1,40}/\\PC{1,32}",
        "lane/[a-z.-]{1,40}/[A-Z_]{1,64}(/[1-9][0-9]{0,3})?",
        "class/[a-z.-]{1,40}/[a-z]{1,64}/([a-z]{1,9}\\+[a-z]{1,9}|-|#[0-9a-f]{32})/[1-9][0-9]{0,3}",
        "(out|in)/[1-9][0-9]{0,3}/[1-9][0-9]{0,3}",
        "(out|dead)/[1-9][0-9]{0,3}/[1-9][0-9]{0,3}/0[0-9]{19}",
        "(member|apikey)/[0-9a-f]{32}",
    ]
}

#[test]
fn fuzz_keys_have_one_spelling_and_fit_a_store() {
    fuzz(near(valid()), |text| {
        let Ok(key) = text.parse::<Key>() else { return Ok(false) };
        prop_assert_eq!(key.to_string(), text.as_str());
        prop_assert!(text.len() <= KEY_BYTES_MAX, "{} bytes", text.len());
        prop_assert!(!text.bytes().any(|byte| byte < 0x20 || byte == 0x7f), "{text:?}");
        Ok(true)
    });
}
