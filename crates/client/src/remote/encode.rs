//! Turns the client's types into the JSON of requests.

use crate::wire::{ClaimRequest, EventQuery, SearchQuery, States};
use onward_core::Span;
use onward_engine::{EventFilter, FindFilter, Wants};
use serde::Serialize;

pub(super) fn claim(wants: Wants, wait: Span) -> ClaimRequest {
    ClaimRequest {
        worker: wants.worker,
        lanes: wants.lanes,
        kinds: wants.kinds.iter().flat_map(|kinds| kinds.iter().cloned()).collect(),
        capabilities: wants.capabilities,
        build: wants.build,
        max: Some(wants.max),
        lease: Some(wants.lease),
        wait: (wait > Span(0)).then_some(wait),
    }
}

pub(super) fn search(filter: FindFilter, cursor: Option<String>, limit: usize) -> SearchQuery {
    SearchQuery {
        state: (!filter.states.is_empty()).then_some(States(filter.states)),
        lane: filter.lane,
        kind: filter.kind,
        tag: filter.tag.map(|(key, value)| format!("{key}={value}")),
        created_from: filter.created_from,
        created_until: filter.created_until,
        cursor,
        limit: Some(limit),
        namespace: None,
    }
}

pub(super) fn events(filter: EventFilter, cursor: Option<String>, wait: Span, limit: usize) -> EventQuery {
    let names = filter.names.into_iter().collect::<Vec<_>>().join(",");
    EventQuery {
        lane: filter.lane,
        execution: filter.execution,
        names: (!names.is_empty()).then_some(names),
        endings: filter.endings.then_some(true),
        cursor,
        wait: (wait > Span(0)).then_some(wait),
        limit: Some(limit),
        namespace: None,
    }
}

/// A path with what is asked about it.
pub(super) fn with_query<T: Serialize>(path: &str, query: &T) -> String {
    match serde_urlencoded::to_string(query) {
        Ok(query) if !query.is_empty() => format!("{path}?{query}"),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_escaped() {
        let filter = FindFilter { tag: Some(("a".parse().unwrap(), "b".parse().unwrap())), ..FindFilter::default() };
        assert_eq!(with_query("/x", &search(filter, None, 3)), "/x?tag=a%3Db&limit=3");
        let cursor = Some("a&b c".to_owned());
        assert_eq!(with_query("/x", &search(FindFilter::default(), cursor, 3)), "/x?cursor=a%26b+c&limit=3");
    }
}
