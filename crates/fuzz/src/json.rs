//! JSON close to samples: with a value replaced by another one, a field left out, renamed or repeated, or the text changed.

use crate::near;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};

/// The most values of a sample that are changed at once.
const CHANGES_MAX: usize = 3;

/// One change of a value somewhere in a sample.
#[derive(Debug, Clone)]
enum Change {
    Replace(Value),
    /// Takes the value of another place.
    Copy(Index),
    Remove,
    Rename(String),
    /// Puts so many of it into a list.
    Multiply(usize),
}

/// Values at the edges of what fields hold.
fn value() -> impl Strategy<Value = Value> {
    let edges = vec![
        Value::Null,
        json!(true),
        json!(0),
        json!(1),
        json!(-1),
        json!(1.5),
        json!(1e300),
        json!(101),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(""),
        json!("+1"),
        json!("30s"),
        json!("\u{0}"),
        json!("x".repeat(2_000)),
        json!([]),
        json!({}),
        json!([[[{}]]]),
    ];
    prop_oneof![4 => select(edges), 1 => any::<u64>().prop_map(|number| json!(number)), 2 => "\\PC{0,20}".prop_map(|text| json!(text))]
}

fn change() -> impl Strategy<Value = Change> + Clone {
    prop_oneof![
        6 => value().prop_map(Change::Replace),
        2 => any::<Index>().prop_map(Change::Copy),
        2 => Just(Change::Remove),
        1 => "[a-z_]{1,8}".prop_map(Change::Rename),
        1 => select(vec![0_usize, 2, 3, 65]).prop_map(Change::Multiply),
    ]
}

/// Where every value inside of a value stands, as pointers.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    let escaped = |name: &str| name.replace('~', "~0").replace('/', "~1");
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| {
            let at = format!("{at}/{}", escaped(name));
            places(value, &at, found);
            found.push(at);
        }),
        Value::Array(items) => items.iter().enumerate().for_each(|(index, value)| {
            let at = format!("{at}/{index}");
            places(value, &at, found);
            found.push(at);
        }),
        _ => {}
    }
}

fn make(value: &mut Value, at: Index, change: Change) {
    let mut found = Vec::new();
    places(value, "", &mut found);
    if found.is_empty() {
        return;
    }
    let place = found[at.index(found.len())].clone();
    let old = value.pointer(&place).cloned().unwrap_or_default();
    let (parent, name) = place.rsplit_once('/').unwrap_or_default();
    match change {
        Change::Replace(new) => put(value, &place, new),
        Change::Copy(from) => {
            let new = value.pointer(&found[from.index(found.len())]).cloned().unwrap_or_default();
            put(value, &place, new);
        }
        Change::Multiply(times) => put(value, &place, Value::Array(vec![old; times])),
        Change::Remove | Change::Rename(_) => match value.pointer_mut(parent) {
            Some(Value::Object(fields)) => {
                fields.remove(name);
                if let Change::Rename(new) = change {
                    fields.insert(new, old);
                }
            }
            Some(Value::Array(items)) => drop(items.pop()),
            _ => {}
        },
    }
}

fn put(value: &mut Value, place: &str, new: Value) {
    if let Some(old) = value.pointer_mut(place) {
        *old = new;
    }
}

/// JSON close to samples, each of which must be JSON itself.
pub fn near_json(samples: Vec<String>) -> impl Strategy<Value = String> + Clone {
    let changes = vec((any::<Index>(), change()), 1..=CHANGES_MAX);
    (select(samples), changes).prop_map(|(sample, changes)| {
        let mut value: Value = serde_json::from_str(&sample).expect("samples are JSON");
        changes.into_iter().for_each(|(at, change)| make(&mut value, at, change));
        value.to_string()
    })
}

/// Samples of JSON, other JSON close to them, texts close to both, and some that are far from all.
pub fn near_any<S: AsRef<str>>(samples: &[S]) -> impl Strategy<Value = String> + Clone + use<S> {
    let samples: Vec<String> = samples.iter().map(|sample| sample.as_ref().to_owned()).collect();
    prop_oneof![2 => near_json(samples.clone()), 1 => near(near_json(samples.clone())), 2 => near(select(samples))]
}

#[cfg(test)]
mod tests {
    use crate::{fuzz, near_any};
    use std::cell::RefCell;
    use std::collections::BTreeSet;

    #[test]
    fn fuzz_changes_values_everywhere() {
        let seen = RefCell::new(BTreeSet::new());
        fuzz(near_any(&[r#"{"a":[1,{"b/c":"x"}]}"#]), |text| {
            let read = serde_json::from_str::<serde_json::Value>(&text);
            if let Ok(value) = &read {
                let deepest = value.pointer("/a/1/b~1c").map(ToString::to_string);
                seen.borrow_mut().insert((value["a"].to_string(), deepest));
            }
            Ok(read.is_ok())
        });
        let seen = seen.into_inner();
        let deepest: BTreeSet<_> = seen.iter().filter_map(|(_, deepest)| deepest.as_ref()).collect();
        assert!(seen.len() > 50 && deepest.len() > 10, "{seen:?}");
    }
}
