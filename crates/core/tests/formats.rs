//! Stored bodies of every format, kept as text: each must decode for ever, to a record that encodes to the same text.
#![allow(clippy::unwrap_used, reason = "a failing test may panic")]

use bytes::Bytes;
use onward_core::record::{
    Attempt, AttemptEnd, AttemptKind, FORMAT, Next, Outcome, Pause, Readiness, Record, State, WhyDelayed,
};
use onward_core::{ActOutcome, Event, Key, What, codec};
use std::collections::BTreeSet;

const ID: &str = "x-0192f0c8-0000-7000-8000-000000000001-17";

/// A stored body: its key and its text. From the first release on none of them may change.
fn records() -> Vec<(String, &'static str)> {
    const OF_EXECUTION: [(&str, &str); 28] = [
        ("", include_str!("golden/execution_ready.json")),
        ("", include_str!("golden/execution_delayed.json")),
        ("", include_str!("golden/execution_active.json")),
        ("", include_str!("golden/execution_completed.json")),
        ("", include_str!("golden/execution_failed.json")),
        ("/a/00001", include_str!("golden/attempt_succeeded.json")),
        ("/a/00002", include_str!("golden/attempt_failed.json")),
        ("/a/00003", include_str!("golden/attempt_interrupted.json")),
        ("/a/00004", include_str!("golden/attempt_returned.json")),
        ("", include_str!("golden/execution_submitted.json")),
        ("", include_str!("golden/execution_resumed.json")),
        ("", include_str!("golden/execution_paused.json")),
        ("", include_str!("golden/execution_replay.json")),
        ("", include_str!("golden/execution_reclaim.json")),
        ("", include_str!("golden/execution_cancelled.json")),
        ("", include_str!("golden/execution_expired.json")),
        ("", include_str!("golden/execution_purging.json")),
        ("/a/00005", include_str!("golden/attempt_revoked.json")),
        ("/a/00006", include_str!("golden/attempt_cancelled.json")),
        ("/a/00007", include_str!("golden/attempt_expired.json")),
        ("/h/00000", include_str!("golden/history.json")),
        ("/e/purge", include_str!("golden/errand.json")),
        ("", include_str!("golden/execution_traced.json")),
        ("", include_str!("golden/execution_suspended.json")),
        ("", include_str!("golden/execution_woken.json")),
        ("", include_str!("golden/execution_held.json")),
        ("/s/900824fb4b1b69943eee1cb5a54a03ad", include_str!("golden/signal.json")),
        ("/w/0.review#1", include_str!("golden/wait.json")),
    ];
    const OTHERS: [(&str, &str); 18] = [
        ("key/default/order/17", include_str!("golden/idempotency.json")),
        ("lane/default/emails", include_str!("golden/lane_master.json")),
        ("lane/default/emails/17", include_str!("golden/lane_copy.json")),
        ("queues/default/emails/17", include_str!("golden/queues.json")),
        ("out/17/3", include_str!("golden/outbox.json")),
        ("out/17/3/00000000000000000005", include_str!("golden/message_lane_changed.json")),
        ("out/3/17/00000000000000000006", include_str!("golden/message_lane_copied.json")),
        ("in/3/17", include_str!("golden/inbox.json")),
        ("member/0000000000000000000000000000002a", include_str!("golden/member.json")),
        ("member/0000000000000000000000000000002a", include_str!("golden/member_newer.json")),
        ("unique/default/customer/7", include_str!("golden/unique.json")),
        ("lane/default/emails", include_str!("golden/lane_master_defaults.json")),
        ("lane/default/emails/17", include_str!("golden/lane_copy_defaults.json")),
        ("out/17/3/00000000000000000006", include_str!("golden/message_lane_changed_defaults.json")),
        ("apikey/0000000000000000000000000000002b", include_str!("golden/api_key.json")),
        ("tokenkeys/0", include_str!("golden/token_keys.json")),
        ("unique/default/customer/7", include_str!("golden/unique_freed.json")),
        ("unique/default/customer/7", include_str!("golden/unique_called.json")),
    ];
    let of_execution = OF_EXECUTION.map(|(part, text)| (format!("{ID}{part}"), text));
    of_execution.into_iter().chain(OTHERS.map(|(key, text)| (key.to_owned(), text))).collect()
}

/// A word for every kind of record; a new kind must be added here and above.
fn kind(record: &Record) -> &'static str {
    match record {
        Record::Execution(_) => "execution",
        Record::Attempt(_) => "attempt",
        Record::Payload(_) => "payload",
        Record::Idempotency(_) => "idempotency",
        Record::Unique(_) => "unique",
        Record::History(_) => "history",
        Record::Signal(_) => "signal",
        Record::Wait(_) => "wait",
        Record::Errand(_) => "errand",
        Record::LaneMaster(_) => "lane master",
        Record::LaneCopy(_) => "lane copy",
        Record::Queues(_) => "queues",
        Record::Outbox(_) => "outbox",
        Record::Message(_) => "message",
        Record::Inbox(_) => "inbox",
        Record::Member(_) => "member",
        Record::ApiKey(_) => "api key",
        Record::TokenKeys(_) => "token keys",
        Record::Dead(_) => "dead",
        Record::Unreadable(_) => "unreadable",
    }
}

#[test]
fn stored_records_decode_for_ever() {
    let mut kinds = BTreeSet::new();
    for (key, text) in records() {
        let key: Key = key.parse().unwrap();
        let body = Bytes::from_static(text.trim_end().as_bytes());
        let record = codec::decode(&key, &body);
        assert_ne!(kind(&record), "unreadable", "{key}: {text}");
        let again = codec::encode(&record);
        assert_eq!(std::str::from_utf8(&again).unwrap(), text.trim_end(), "{key}");
        kinds.insert(kind(&record));
    }
    let raw = Bytes::from_static(b"\x00\xff any bytes");
    let of_signal = format!("{ID}/sp/900824fb4b1b69943eee1cb5a54a03ad");
    for key in [format!("{ID}/in"), format!("{ID}/out"), of_signal, "dead/17/3/00000000000000000005".to_owned()] {
        let record = codec::decode(&key.parse().unwrap(), &raw);
        assert_eq!(codec::encode(&record), raw, "{key}");
        kinds.insert(kind(&record));
    }
    assert_eq!(kinds.len(), 19, "every kind that is ever written: {kinds:?}");
}

#[test]
fn a_newer_format_is_left_alone_whatever_the_record() {
    for (key, text) in records() {
        let key: Key = key.parse().unwrap();
        let rest = text.trim_end().trim_start_matches(|c| c != ',');
        let newer = Bytes::from(format!("{{\"v\":{}{rest}", FORMAT + 1));
        let record = codec::decode(&key, &newer);
        assert_eq!(record, Record::Unreadable(newer.clone()), "{key}");
        assert_eq!(codec::encode(&record), newer);
    }
}

/// What several builds rewrite in turn is never written again without something that it said.
#[test]
fn lanes_and_messages_with_unknown_fields_are_left_alone() {
    let strict = |key: &Key| {
        matches!(key, Key::LaneMaster(..) | Key::LaneCopy(..) | Key::Outbox(..) | Key::Message(..) | Key::Inbox(..))
    };
    let mut changed = 0;
    for (key, text) in records() {
        let key: Key = key.parse().unwrap();
        for (at, _) in text.match_indices('{') {
            let body = Bytes::from(format!("{}\"colour\":\"red\",{}", &text[..=at], &text[at + 1..]));
            if strict(&key) {
                let record = codec::decode(&key, &body);
                assert_eq!((&record, codec::encode(&record)), (&Record::Unreadable(body.clone()), body), "{key}");
                changed += 1;
            }
        }
    }
    assert!(changed > 12, "{changed} bodies in all, some within their settings");
}

/// The words of stored enums that a record uses; a new variant must be added here and to a stored body.
fn words(record: &Record, words: &mut BTreeSet<&'static str>) {
    match record {
        Record::Attempt(attempt) => words.extend([end(&attempt.end), kind_of(attempt.kind)]),
        Record::Execution(execution) => {
            words.extend(execution.last.iter().flat_map(|last| [end(&last.end), kind_of(last.kind)]));
            words.extend(execution.operated.iter().map(|operated| act(operated.outcome)));
            match &execution.state {
                State::Waiting(waiting) => {
                    words.insert(next(&waiting.next));
                    words.extend(waiting.next.paused().iter().flat_map(|paused| pauses(&paused.attempt)));
                    match &waiting.readiness {
                        Readiness::Ready { .. } => drop(words.insert("ready")),
                        Readiness::Suspended(_) => drop(words.insert("suspended")),
                        Readiness::Delayed { why: chosen, .. } => drop(words.insert(why(*chosen))),
                    }
                }
                State::Active(active) => {
                    words.insert(kind_of(active.attempt.kind));
                    words.extend(pauses(&active.attempt));
                }
                State::Finished(finished) => drop(words.insert(outcome(finished.outcome))),
            }
        }
        _ => {}
    }
}

fn pauses(attempt: &Attempt) -> Vec<&'static str> {
    let word = |(_, pause): &(_, Pause)| match pause {
        Pause::Delayed { .. } => "pause: delayed",
        Pause::Returned => "pause: returned",
        Pause::Suspended => "pause: suspended",
    };
    attempt.pauses.iter().map(word).collect()
}

fn end(end: &AttemptEnd) -> &'static str {
    match end {
        AttemptEnd::Succeeded => "end: succeeded",
        AttemptEnd::Failed { .. } => "end: failed",
        AttemptEnd::Interrupted => "end: interrupted",
        AttemptEnd::Revoked { .. } => "end: revoked",
        AttemptEnd::Returned => "end: returned",
        AttemptEnd::Cancelled => "end: cancelled",
        AttemptEnd::Expired => "end: expired",
    }
}

fn kind_of(kind: AttemptKind) -> &'static str {
    match kind {
        AttemptKind::Initial => "kind: initial",
        AttemptKind::Retry => "kind: retry",
        AttemptKind::Reclaim => "kind: reclaim",
        AttemptKind::Replay => "kind: replay",
    }
}

fn next(next: &Next) -> &'static str {
    match next {
        Next::Initial => "next: initial",
        Next::Retry => "next: retry",
        Next::Reclaim => "next: reclaim",
        Next::Replay => "next: replay",
        Next::Resume(_) => "next: resume",
    }
}

fn why(why: WhyDelayed) -> &'static str {
    match why {
        WhyDelayed::Submitted => "delayed: submitted",
        WhyDelayed::Retry => "delayed: retry",
        WhyDelayed::Reclaim => "delayed: reclaim",
        WhyDelayed::Worker => "delayed: worker",
        WhyDelayed::Operator => "delayed: operator",
        WhyDelayed::Resumed => "delayed: resumed",
    }
}

fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Success => "outcome: success",
        Outcome::Failed => "outcome: failed",
        Outcome::Cancelled => "outcome: cancelled",
        Outcome::Expired => "outcome: expired",
    }
}

fn act(outcome: ActOutcome) -> &'static str {
    match outcome {
        ActOutcome::Cancelled => "act: cancelled",
        ActOutcome::StopRequested { .. } => "act: asked to stop",
        ActOutcome::Rescheduled { .. } => "act: rescheduled",
        ActOutcome::Prioritised { .. } => "act: prioritised",
        ActOutcome::Tagged => "act: tagged",
        ActOutcome::Annotated => "act: annotated",
        ActOutcome::Revoked { .. } => "act: revoked",
        ActOutcome::Replayed { .. } => "act: replayed",
        ActOutcome::Purged => "act: purged",
        ActOutcome::Paused => "act: paused",
        ActOutcome::Resumed { .. } => "act: resumed",
        ActOutcome::WaitClosed { .. } => "act: wait closed",
    }
}

#[test]
fn every_word_that_is_ever_stored_has_a_body() {
    let mut found = BTreeSet::new();
    for (key, text) in records() {
        let body = Bytes::from_static(text.trim_end().as_bytes());
        words(&codec::decode(&key.parse().unwrap(), &body), &mut found);
    }
    let (ends, kinds, nexts, whys, outcomes, acts, pauses) = (7, 4, 5, 6, 4, 12, 3);
    assert_eq!(found.len(), ends + kinds + nexts + (2 + whys) + outcomes + acts + pauses, "{found:#?}");
}

#[test]
fn what_the_first_version_did_not_know_is_absent() {
    let policy = "\"policy\":{\"retry\"";
    for (key, text) in records().into_iter().take(5) {
        let body = Bytes::from_static(text.as_bytes());
        let Record::Execution(execution) = codec::decode(&key.parse().unwrap(), &body) else { panic!("{text}") };
        assert_eq!((execution.deadline, &execution.unique_key, execution.replays), (None, &None, 0), "{text}");
        assert_eq!((execution.pages, execution.history.len(), execution.operated.len()), (0, 0, 0), "{text}");
        assert!(!execution.is_purging() && execution.progress.is_none(), "{text}");
        assert_eq!(execution.policy.retry.is_some(), text.contains(policy), "{text}");
        assert_eq!((execution.policy.attempt_timeout, execution.policy.max_reclaims()), (None, 100), "{text}");
    }
}

/// A word for every kind of event; a new kind must be added here and to the file of events.
fn what(event: &Event) -> &'static str {
    match event.what {
        What::Submitted { .. } => "submitted",
        What::Ready => "ready",
        What::Claimed { .. } => "claimed",
        What::Delayed { .. } => "delayed",
        What::Completed { .. } => "completed",
        What::AttemptFailed { .. } => "attempt_failed",
        What::LeaseExpired { .. } => "lease_expired",
        What::Returned { .. } => "returned",
        What::LeaseRevoked { .. } => "lease_revoked",
        What::TimedOut { .. } => "timed_out",
        What::Expired { .. } => "expired",
        What::StopRequested { .. } => "stop_requested",
        What::Cancelled { .. } => "cancelled",
        What::Suspended { .. } => "suspended",
        What::Resumed { .. } => "resumed",
        What::SuspensionTimedOut { .. } => "suspension_timed_out",
        What::Signalled { .. } => "signalled",
        What::WaitClosed { .. } => "wait_closed",
        What::Paused { .. } => "paused",
        What::Rescheduled { .. } => "rescheduled",
        What::PriorityChanged { .. } => "priority_changed",
        What::TagsChanged => "tags_changed",
        What::Annotated { .. } => "annotated",
        What::Replayed { .. } => "replayed",
        What::Purged => "purged",
        What::LaneChanged { .. } => "lane_changed",
        What::KeyIssued { .. } => "key_issued",
        What::KeyRevoked { .. } => "key_revoked",
        What::TokenKeysRotated { .. } => "token_keys_rotated",
        What::Restored => "restored",
    }
}

fn one(body: &str) -> Option<Event> {
    let mut events = codec::decode_events(body.as_bytes());
    assert_eq!(events.len(), 1);
    events.remove(0)
}

/// The events of one commit are a list, of which those that are not understood take their place.
#[test]
fn events_of_one_commit_are_told_together() {
    let golden: Vec<&str> = include_str!("golden/events.jsonl").lines().collect();
    let body = golden.join(",");
    let events = codec::decode_events(format!("[{body}]").as_bytes());
    let understood: Vec<Event> = events.iter().flatten().cloned().collect();
    assert_eq!((events.len(), understood.len()), (golden.len(), golden.len()));
    assert_eq!(codec::encode_events(&understood).unwrap(), format!("[{body}]"));
    let mixed = format!(r#"[{{"v":99}},{}]"#, golden[0]);
    assert_eq!(codec::decode_events(mixed.as_bytes()), [None, Some(understood[0].clone())]);
    assert_eq!(codec::encode_events(&[]), None);
}

#[test]
fn stored_events_decode_for_ever() {
    let mut kinds = BTreeSet::new();
    for line in include_str!("golden/events.jsonl").lines() {
        let event = one(line).unwrap_or_else(|| panic!("not an event: {line}"));
        let again = codec::encode_events(std::slice::from_ref(&event)).unwrap();
        assert_eq!(std::str::from_utf8(&again).unwrap(), line);
        assert_eq!(event.what.name(), what(&event), "the word never changes");
        kinds.insert(what(&event));
        let newer = format!("{{\"v\":{}{}", FORMAT + 1, line.trim_start_matches(|c| c != ','));
        assert_eq!(one(&newer), None, "{newer}");
    }
    assert_eq!(kinds.len(), What::NAMES.len(), "{kinds:?}");
}
