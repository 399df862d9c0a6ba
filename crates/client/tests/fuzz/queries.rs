//! Queries of searches and of events: what is accepted is asked in the same way again, and its filter keeps the limits.

use onward::wire::{EventQuery, SearchQuery};
use onward::{TagKey, limits};
use onward_fuzz::proptest::collection::vec;
use onward_fuzz::proptest::prelude::*;
use onward_fuzz::proptest::sample::select;
use onward_fuzz::{fuzz, near};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The text of a query with some of these pairs.
fn query(pairs: Vec<&'static str>) -> impl Strategy<Value = String> + Clone {
    vec(select(pairs), 0..4).prop_map(|pairs| pairs.join("&"))
}

fn read<T: Serialize + DeserializeOwned>(text: &str) -> Result<Option<T>, TestCaseError> {
    let Ok(query) = serde_urlencoded::from_str::<T>(text) else { return Ok(None) };
    let written = serde_urlencoded::to_string(&query).unwrap();
    let again = serde_urlencoded::from_str::<T>(&written);
    prop_assert!(again.is_ok(), "{text:?} was written as {written:?}");
    prop_assert_eq!(serde_urlencoded::to_string(again.unwrap()).unwrap(), written);
    Ok(Some(query))
}

#[test]
fn fuzz_searches() {
    let pairs = vec![
        "state=waiting",
        "state=completed",
        "lane=emails",
        "kind=send%20email",
        "tag=customer%3D42",
        "tag=a=b",
        "created_from=2030-01-01T09:00:00Z",
        "created_until=1893488400000",
        "cursor=7.x-0192f0c8-0000-7000-8000-000000000001-17",
        "limit=10",
        "namespace=default",
    ];
    fuzz(near(query(pairs)), |text| {
        let Some(query) = read::<SearchQuery>(&text)? else { return Ok(false) };
        let fields = query.filter();
        let has_tag = fields.tag.is_some();
        let Ok(filter) = fields.into_filter() else { return Ok(false) };
        prop_assert_eq!(filter.tag.is_some(), has_tag);
        let bounded = |key: &TagKey, value: &str| key.as_str().len().max(value.len()) <= limits::TAG_BYTES_MAX;
        prop_assert!(filter.tag.is_none_or(|(key, value)| bounded(&key, value.as_str())));
        Ok(true)
    });
}

#[test]
fn fuzz_queries_of_events() {
    let pairs = vec![
        "lane=emails",
        "execution=x-0192f0c8-0000-7000-8000-000000000001-17",
        "names=completed,cancelled",
        "names=completed%2C%20,submitted",
        "endings=true",
        "cursor=17%7C1.2.3.4",
        "wait=30s",
        "limit=10",
        "namespace=default",
    ];
    fuzz(near(query(pairs)), |text| {
        let Some(query) = read::<EventQuery>(&text)? else { return Ok(false) };
        let asked = query.names.as_deref().unwrap_or_default().split(',').count();
        match query.filter() {
            Ok(filter) => prop_assert!(filter.names.len() <= asked),
            Err(error) => {
                prop_assert!(error.to_string().len() < 2_000, "{error}");
                return Ok(false);
            }
        }
        Ok(true)
    });
}
