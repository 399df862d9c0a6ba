//! Bodies of the feed: whatever they hold, what is understood of them is written and read as the same.

use onward_core::{Event, codec};
use onward_fuzz::proptest::prelude::*;
use onward_fuzz::{fuzz, near_any, near_bytes};

const EVENTS: &str = include_str!("../golden/events.jsonl");

fn bodies() -> Vec<String> {
    let single: Vec<&str> = EVENTS.lines().collect();
    let several = single.chunks(3).map(|events| format!("[{}]", events.join(",")));
    single.iter().map(|&event| event.to_owned()).chain(several).collect()
}

#[test]
fn fuzz_bodies_of_events() {
    let json = near_any(&bodies()).prop_map(String::into_bytes);
    fuzz(prop_oneof![4 => json.clone(), 1 => near_bytes(json)], |body| {
        let read = codec::decode_events(&body);
        let known: Vec<Event> = read.iter().flatten().cloned().collect();
        prop_assert!(read.len() <= body.len().max(1));
        let written = codec::encode_events(&known);
        prop_assert_eq!(written.is_some(), !known.is_empty());
        if let Some(written) = written {
            let again: Vec<Event> = codec::decode_events(&written).into_iter().flatten().collect();
            prop_assert_eq!(again, known);
        }
        Ok(read.iter().any(Option::is_some))
    });
}
