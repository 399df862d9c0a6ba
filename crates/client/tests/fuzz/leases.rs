//! Leases as workers pass them back: one spelling, and nothing else is one.

use onward::wire::LeaseToken;
use onward_fuzz::proptest::prelude::*;
use onward_fuzz::{fuzz, near};

/// The text of a valid lease.
pub(crate) fn lease() -> impl Strategy<Value = String> + Clone {
    let id = "x-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}-[1-9][0-9]{0,3}";
    (id, any::<u128>(), any::<u64>(), any::<u32>())
        .prop_map(|(id, lease, epoch, attempt)| format!("{id}.{lease:032x}.{epoch}.{attempt}"))
}

#[test]
fn fuzz_leases_have_one_spelling() {
    fuzz(near(lease()), |text| {
        let parsed = text.parse::<LeaseToken>().ok();
        let quoted = serde_json::to_string(&text).unwrap();
        prop_assert_eq!(&parsed, &serde_json::from_str(&quoted).ok(), "JSON and text agree");
        let Some(token) = parsed else { return Ok(false) };
        prop_assert_eq!(token.to_string(), text.as_str());
        prop_assert_eq!(serde_json::to_string(&token).unwrap(), quoted);
        Ok(true)
    });
}
