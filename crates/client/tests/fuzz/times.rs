//! Times and lengths of time: numbers and texts mean the same wherever they are written.

use onward::{Millis, Span};
use onward_fuzz::proptest::prelude::*;
use onward_fuzz::{fuzz, near};

#[test]
fn fuzz_lengths_of_time() {
    let units = "([0-9]{1,4}(ms|s|m|h|d|w| seconds| days)){1,3}";
    let words = "PT?[0-9]{1,3}(H|M|S|D)|[0-9]{1,3}:[0-9]{2}:[0-9]{2}|-[0-9]s|[0-9]\\.[0-9]h";
    let valid = prop_oneof![3 => units, 1 => words, 1 => any::<u64>().prop_map(|ms| ms.to_string())];
    fuzz(near(valid), |text| {
        let parsed = text.parse::<Span>();
        prop_assert_eq!(parsed.clone().ok(), serde_json::from_value(text.as_str().into()).ok(), "JSON and text agree");
        let Ok(length) = parsed else { return Ok(false) };
        prop_assert!(!text.trim().starts_with('-') || length.0 == 0, "no length is negative: {text:?}");
        let written = serde_json::to_string(&length).unwrap();
        prop_assert_eq!(serde_json::from_str::<Span>(&written).unwrap(), length);
        prop_assert_eq!(written.parse::<Span>(), Ok(length), "as in a query");
        Ok(true)
    });
}

#[test]
fn fuzz_times() {
    let stamp = "(19[5-9]|20[0-9])[0-9]-[01][0-9]-[0-3][0-9][T ][0-2][0-9]:[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-]0[0-9]:00)";
    let valid = prop_oneof![3 => stamp, 1 => any::<u64>().prop_map(|ms| ms.to_string())];
    fuzz(near(valid), |text| {
        let parsed = text.parse::<Millis>();
        prop_assert_eq!(parsed.clone().ok(), serde_json::from_value(text.as_str().into()).ok(), "JSON and text agree");
        let Ok(time) = parsed else { return Ok(false) };
        let written = serde_json::to_string(&time).unwrap();
        prop_assert_eq!(serde_json::from_str::<Millis>(&written).unwrap(), time);
        prop_assert_eq!(written.parse::<Millis>(), Ok(time), "as in a query");
        Ok(true)
    });
}

#[test]
fn fuzz_errors_repeat_only_the_beginning_of_a_text() {
    fuzz(("[a-z]{0,3}", 0_usize..3_000), |(part, times)| {
        let text = part.repeat(times);
        let (Err(length), Err(time)) = (text.parse::<Span>(), text.parse::<Millis>()) else { return Ok(false) };
        prop_assert!(length.len() < 1_000 && time.len() < 1_000, "{} and {}", length.len(), time.len());
        Ok(!text.is_empty())
    });
}
