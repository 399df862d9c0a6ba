//! Short texts with a limit: categories are refused, reasons and messages are cut between characters.

use onward_core::{Category, Failure, Reason, limits};
use onward_fuzz::proptest::prelude::*;
use onward_fuzz::{fuzz, fuzz_all, near};

#[test]
fn fuzz_categories() {
    fuzz(near("[a-z0-9_]{1,44}"), |text| {
        let category = Category::new(&text).ok();
        prop_assert_eq!(&category, &serde_json::from_value(text.as_str().into()).ok(), "JSON and text agree");
        let Some(category) = category else { return Ok(false) };
        prop_assert_eq!(category.as_str(), &text);
        prop_assert!((1..=limits::CATEGORY_BYTES_MAX).contains(&text.len()));
        Ok(true)
    });
}

/// Whether a text was cut to a limit and no more than needed.
fn is_cut(cut: &str, whole: &str, max: usize) -> Result<(), TestCaseError> {
    prop_assert!(whole.starts_with(cut) && cut.len() <= max);
    prop_assert!(cut == whole || cut.len() + 4 > max, "{} of {} bytes", cut.len(), whole.len());
    Ok(())
}

#[test]
fn fuzz_reasons_and_messages() {
    let long = ("[a-z]{0,4}", "[é😀a]{1,3}", 0_usize..700).prop_map(|(head, part, times)| head + &part.repeat(times));
    fuzz_all(prop_oneof![near("\\PC{0,40}"), long], |text| {
        let reason: Reason = serde_json::from_value(text.as_str().into()).unwrap();
        prop_assert_eq!(&reason, &Reason::new(&text));
        is_cut(reason.as_str(), &text, limits::REASON_BYTES_MAX)?;
        prop_assert_eq!(Reason::new(reason.as_str()), reason, "what is cut stays as it is");
        is_cut(&Failure::new(Category::panic(), &text).message, &text, limits::FAILURE_MESSAGE_BYTES_MAX)
    });
}
