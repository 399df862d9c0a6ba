//! Turns the client's types into the JSON of requests.

use crate::wire::{
    ClaimRequest, EndKind, EventQuery, LeaseToken, Length, NewWork, PolicyFields, ReportItem, RetryFields, SearchQuery,
    Time, write_payload,
};
use onward_core::{Backoff, Policy, RetryPolicy, Span, When};
use onward_engine::{End, EventFilter, FindFilter, LeaseReport, NewExecution, Wants};
use serde::Serialize;
use uuid::Uuid;

/// Work to submit, under an id that a repeat carries too.
pub(super) fn work(new: NewExecution, fresh: Uuid) -> NewWork {
    let (input, input_bytes) = write_payload(new.input);
    let (delay, run_at) = split(Some(new.when));
    let (expires_after, expires_at) = split(new.deadline);
    NewWork {
        kind: new.kind,
        input,
        input_bytes,
        lane: Some(new.lane),
        priority: new.priority,
        delay,
        run_at,
        expires_after,
        expires_at,
        tags: new.tags,
        requires: new.requires,
        idempotency_key: new.idempotency_key,
        unique_key: new.unique_key,
        policy: policy(new.policy),
        uuid: Some(new.chosen.unwrap_or(fresh)),
        trace: new.trace,
    }
}

/// A time as one of two fields.
pub(super) fn split(when: Option<When>) -> (Option<Length>, Option<Time>) {
    match when {
        None | Some(When::Now) => (None, None),
        Some(When::After(span)) => (Some(Length(span)), None),
        Some(When::At(at)) => (None, Some(Time(at))),
    }
}

pub(super) fn policy(policy: Policy) -> PolicyFields {
    PolicyFields {
        retry: policy.retry.map(retry),
        attempt_timeout: policy.attempt_timeout.map(Length),
        max_reclaims: policy.max_reclaims,
        max_replays: policy.max_replays,
        retention: policy.retention.map(Length),
        dedup_window: policy.dedup_window.map(Length),
    }
}

fn retry(retry: RetryPolicy) -> RetryFields {
    let (first, longest, jitter) = match retry.backoff {
        Backoff::Exponential { initial, max, jitter } => (initial, max, jitter),
        Backoff::Fixed { delay, jitter } => (delay, delay, jitter),
    };
    RetryFields {
        max_retries: Some(retry.max_retries),
        first_pause: Some(Length(first)),
        longest_pause: Some(Length(longest)),
        jitter: Some(jitter),
        categories: retry.categories,
    }
}

pub(super) fn claim(wants: Wants, wait: Span) -> ClaimRequest {
    ClaimRequest {
        worker: wants.worker,
        lanes: wants.lanes,
        capabilities: wants.capabilities,
        max: Some(wants.max),
        lease: Some(Length(wants.lease)),
        wait: (wait > Span(0)).then_some(Length(wait)),
    }
}

pub(super) fn report(report: LeaseReport) -> ReportItem {
    let LeaseReport { command, fence, end } = report;
    let new = |kind| ReportItem { command: Some(command), ..ReportItem::new(LeaseToken(fence), kind) };
    match end {
        End::Complete(result) => {
            let (result, result_bytes) = write_payload(result);
            ReportItem { result, result_bytes, ..new(EndKind::Complete) }
        }
        End::Fail(failure) => {
            let message = Some(failure.message.to_string());
            ReportItem { category: Some(failure.category), message, ..new(EndKind::Fail) }
        }
        End::Delay(when) => {
            let (delay, run_at) = match split(Some(when)) {
                (None, None) => (Some(Length(Span(0))), None),
                said => said,
            };
            ReportItem { delay, run_at, ..new(EndKind::Delay) }
        }
        End::Cancel(reason) => ReportItem { message: Some(reason.as_str().to_owned()), ..new(EndKind::Cancel) },
        End::GiveBack => new(EndKind::Unclaim),
    }
}

pub(super) fn search(filter: FindFilter, cursor: Option<String>, limit: usize) -> SearchQuery {
    SearchQuery {
        state: filter.state,
        lane: filter.lane,
        kind: filter.kind,
        tag: filter.tag.map(|(key, value)| format!("{key}={value}")),
        created_from: filter.created_from.map(Time),
        created_until: filter.created_until.map(Time),
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
        wait: (wait > Span(0)).then_some(Length(wait)),
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
    use onward_core::Category;

    #[test]
    fn what_is_encoded_is_read_as_it_was() {
        let fixed = Backoff::Fixed { delay: Span(250), jitter: true };
        let growing = Backoff::Exponential { initial: Span(10), max: Span(99), jitter: false };
        for backoff in [fixed, growing, Backoff::default()] {
            let retry = RetryPolicy { max_retries: 7, backoff, categories: vec![Category::new("rate_limit").unwrap()] };
            let whole = Policy {
                retry: Some(retry),
                attempt_timeout: Some(Span(1)),
                max_reclaims: Some(2),
                max_replays: Some(3),
                retention: Some(Span(4)),
                dedup_window: Some(Span(5)),
            };
            assert_eq!(Policy::from(policy(whole.clone())), whole);
        }
        assert_eq!(Policy::from(policy(Policy::default())), Policy::default());
    }

    #[test]
    fn queries_are_escaped() {
        let filter = FindFilter { tag: Some(("a".parse().unwrap(), "b".parse().unwrap())), ..FindFilter::default() };
        assert_eq!(with_query("/x", &search(filter, None, 3)), "/x?tag=a%3Db&limit=3");
        let cursor = Some("a&b c".to_owned());
        assert_eq!(with_query("/x", &search(FindFilter::default(), cursor, 3)), "/x?cursor=a%26b+c&limit=3");
    }
}
