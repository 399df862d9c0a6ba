//! Payloads: an accepted one is within the limits and comes back byte by byte.

use onward_core::{Payload, PayloadError, limits};
use onward_fuzz::proptest::collection::vec;
use onward_fuzz::proptest::prelude::*;
use onward_fuzz::{fuzz, near, near_any};

/// How deep JSON is nested, by a parser that is not ours.
fn depth(value: &serde_json::Value) -> usize {
    match value {
        serde_json::Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        serde_json::Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

#[test]
fn fuzz_json_payloads() {
    let samples =
        ["null", "1.50", r#""a\"[\\""#, r#"{"a" : [1, 2e9, {"b": null}], "a": "\u00e9"}"#, "[[[[]]],{}]", "[1,[2]]"];
    fuzz(near_any(&samples), |text| {
        let payload = Payload::json(text.as_str());
        let known: Result<serde_json::Value, _> = serde_json::from_str(&text);
        prop_assert_eq!(payload.is_ok(), known.is_ok(), "{:?}: {:?}", payload, known);
        let Ok(payload) = payload else { return Ok(false) };
        prop_assert_eq!(payload.as_bytes(), text.trim_matches([' ', '\t', '\n', '\r']).as_bytes());
        prop_assert_eq!(&Payload::bytes("application/json", text).unwrap(), &payload);
        prop_assert_eq!(payload.read::<serde_json::Value>().unwrap(), known.unwrap());
        Ok(true)
    });
}

/// Brackets in any order: what is not too deep for us is not too deep for others.
#[test]
fn fuzz_deep_json() {
    let part = prop_oneof![3 => "\\[{1,40}", 1 => "(\\{\"a\":){1,9}", 1 => "\"[\\[\\{]{1,9}\"", 2 => "[\\]\\}]{1,9}"];
    let closed = (0_usize..90).prop_map(|deep| format!("{}{}", "[".repeat(deep), "]".repeat(deep)));
    fuzz(prop_oneof![vec(part, 1..6).prop_map(|parts| parts.concat()), closed], |text| {
        match Payload::json(text.as_str()) {
            Ok(payload) => {
                prop_assert!(depth(&payload.read().unwrap()) <= limits::JSON_DEPTH_MAX);
                Ok(true)
            }
            Err(PayloadError::TooDeep { .. }) => {
                prop_assert!(text.matches(['[', '{']).count() > limits::JSON_DEPTH_MAX, "{text}");
                Ok(false)
            }
            Err(_) => Ok(false),
        }
    });
}

#[test]
fn fuzz_payloads_of_bytes() {
    let inputs = (near("[a-z]{1,20}/[a-z.+]{1,99}"), vec(any::<u8>(), 0..100));
    fuzz(inputs, |(content_type, bytes)| {
        let Ok(payload) = Payload::bytes(&content_type, bytes.clone()) else { return Ok(false) };
        prop_assert_eq!(payload.content_type(), content_type.as_str());
        prop_assert_eq!(payload.as_bytes(), bytes);
        prop_assert!((1..=limits::CONTENT_TYPE_BYTES_MAX).contains(&content_type.len()));
        prop_assert!(content_type.bytes().all(|byte| (0x20..0x7f).contains(&byte)), "{content_type:?}");
        Ok(true)
    });
}
