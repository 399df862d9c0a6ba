//! What an execution remembers of itself, and what each event means for its end and its lease.

use crate::LeaseEvent::{Acquired, Expired, Released, Revoked};
use crate::record::{
    Canceller, ExpiredBy, HistoryPage, HowOver, LaneState, OnTimeout, Outcome, Record, SignalEffect, Transition,
};
use crate::rules::world::World;
use crate::rules::world::make::{self, TTL, id, submit, with};
use crate::{Category, Key, LeaseEvent, Millis, SignalId, Span, What, When, limits};

fn page(world: &World, n: u32) -> &HistoryPage {
    match world.record(&Key::History(id(1), n)) {
        Some(Record::History(page)) => page,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_full_page_moves_aside_whole_and_never_changes_again() {
    let mut world = World::new(1);
    world.submit(with!(submit(1), policy: make::retry(500, Span(0))));
    let mut first = None;
    for n in 0..100_u128 {
        let before = world.execution(id(1)).history.len();
        let full = before == limits::HISTORY_PAGE;
        let fence = world.claim(id(1), 10 + n).fence;
        let moved = if full { 1 } else { before + 1 };
        assert_eq!(world.execution(id(1)).history.len(), moved, "the newest are in the record");
        world.accept(&make::fail(500 + n, fence));
        world.pass(Span(1));
        let pages = world.execution(id(1)).pages;
        if pages > 0 {
            let kept = first.get_or_insert_with(|| page(&world, 0).clone());
            assert_eq!(page(&world, 0), kept);
        }
    }
    let execution = world.execution(id(1));
    let mut all: Vec<Transition> = Vec::new();
    for n in 0..execution.pages {
        assert_eq!(page(&world, n).transitions.len(), limits::HISTORY_PAGE);
        all.extend(page(&world, n).transitions.clone());
    }
    all.extend(execution.history.clone());
    let told =
        world.events.iter().map(|event| Transition { at: event.at, by: event.by.clone(), what: event.what.clone() });
    assert!(told.eq(all), "everything that was told, in order, once");
    assert_eq!(execution.pages, 201 / limits::HISTORY_PAGE as u32);
}

#[test]
fn signs_of_life_leave_no_trace() {
    let mut world = World::new(1);
    let fence = world.running(submit(1), 10);
    for n in 1..50 {
        world.pass(Span::seconds(1));
        world.accept(&make::renew(fence, TTL));
        world.accept(&make::progress(fence, Some(n), None));
    }
    assert_eq!((world.execution(id(1)).history.len(), world.events.len()), (2, 2));
}

#[test]
fn one_transition_is_one_entry_with_the_time_at_which_it_happened() {
    let mut world = World::new(1);
    world.submit(with!(submit(1), when: When::After(Span(5))));
    world.pass(Span(9));
    world.accept(&make::due(id(1)));
    world.operate(50, id(1), make::tag(&[("a", "b")], &[]));
    world.now = Millis(0);
    world.operate(51, id(1), make::end());
    let history = &world.execution(id(1)).history;
    let (start, ready) = (make::after(Span(0)), make::after(Span(9)));
    let times: Vec<Millis> = history.iter().map(|transition| transition.at).collect();
    assert_eq!(times, [start, ready, ready, ready], "it never goes back");
    let names: Vec<&str> = history.iter().map(|transition| transition.what.name()).collect();
    assert_eq!(names, ["submitted", "ready", "tags_changed", "cancelled"]);
}

/// Every event with its word, the end it tells and what it means for the lease; a new kind must be added here.
fn meanings() -> Vec<(What, &'static str, Option<Outcome>, Option<LeaseEvent>)> {
    let at = Some(Millis(9));
    let (attempt, worker, category) = (1, "w".parse().unwrap(), Category::transient());
    let expired_by = ExpiredBy::Deadline;
    let (by, reason) = (Canceller::Operator, crate::Reason::default());
    let cancelled = |attempt, paused| What::Cancelled { cancelled_by: by, reason: reason.clone(), attempt, paused };
    vec![
        (What::Submitted { kind: "k".parse().unwrap(), delayed_until: None }, "submitted", None, None),
        (What::Ready, "ready", None, None),
        (What::Claimed { attempt, epoch: 1, worker, resumed: false }, "claimed", None, Some(Acquired)),
        (What::Delayed { attempt, until: Millis(9) }, "delayed", None, Some(Released)),
        (What::Completed { attempt }, "completed", Some(Outcome::Success), Some(Released)),
        (
            What::AttemptFailed { attempt, category: category.clone(), retry_at: at, held: false },
            "attempt_failed",
            None,
            Some(Released),
        ),
        (
            What::AttemptFailed { attempt, category, retry_at: None, held: false },
            "attempt_failed",
            Some(Outcome::Failed),
            Some(Released),
        ),
        (What::LeaseExpired { attempt, again_at: at, held: false }, "lease_expired", None, Some(Expired)),
        (
            What::LeaseExpired { attempt, again_at: None, held: false },
            "lease_expired",
            Some(Outcome::Failed),
            Some(Expired),
        ),
        (What::Returned { attempt }, "returned", None, Some(Released)),
        (
            What::LeaseRevoked { attempt, reason: reason.clone(), again_at: at, held: false },
            "lease_revoked",
            None,
            Some(Revoked),
        ),
        (
            What::LeaseRevoked { attempt, reason: reason.clone(), again_at: None, held: false },
            "lease_revoked",
            Some(Outcome::Failed),
            Some(Revoked),
        ),
        (What::TimedOut { attempt, retry_at: at, expired_by: None, held: false }, "timed_out", None, Some(Released)),
        (
            What::TimedOut { attempt, retry_at: None, expired_by: Some(ExpiredBy::AttemptTimeout), held: false },
            "timed_out",
            Some(Outcome::Expired),
            Some(Released),
        ),
        (What::Expired { attempt: None, paused: false, expired_by }, "expired", Some(Outcome::Expired), None),
        (What::Expired { attempt: Some(1), paused: true, expired_by }, "expired", Some(Outcome::Expired), None),
        (
            What::Expired { attempt: Some(1), paused: false, expired_by },
            "expired",
            Some(Outcome::Expired),
            Some(Released),
        ),
        (What::StopRequested { attempt, until: Millis(9), reason: reason.clone() }, "stop_requested", None, None),
        (cancelled(None, false), "cancelled", Some(Outcome::Cancelled), None),
        (cancelled(Some(1), true), "cancelled", Some(Outcome::Cancelled), None),
        (cancelled(Some(1), false), "cancelled", Some(Outcome::Cancelled), Some(Released)),
    ]
}

/// The same for what operators do and what work waits for.
fn other_meanings() -> Vec<(What, &'static str, Option<Outcome>, Option<LeaseEvent>)> {
    let reason = crate::Reason::default();
    let (attempt, resumed_by) = (1, HowOver::Signals);
    let over = |then| What::SuspensionTimedOut { attempt, then };
    let signalled =
        What::Signalled { signal: SignalId(1), wait: "a".parse().unwrap(), name: None, effect: SignalEffect::Counted };
    vec![
        (What::Suspended { attempt, until: None, reason: reason.clone() }, "suspended", None, Some(Released)),
        (What::Resumed { attempt: Some(1), resumed_by, delayed_until: None }, "resumed", None, None),
        (over(OnTimeout::Fail), "suspension_timed_out", Some(Outcome::Failed), None),
        (over(OnTimeout::Cancel), "suspension_timed_out", Some(Outcome::Cancelled), None),
        (over(OnTimeout::Expire), "suspension_timed_out", Some(Outcome::Expired), None),
        (over(OnTimeout::Escalate), "suspension_timed_out", None, None),
        (signalled, "signalled", None, None),
        (What::WaitClosed { wait: "a".parse().unwrap() }, "wait_closed", None, None),
        (What::Paused { attempt: None, reason: reason.clone() }, "paused", None, None),
        (What::Paused { attempt: Some(1), reason: reason.clone() }, "paused", None, Some(Revoked)),
        (What::Rescheduled { until: None }, "rescheduled", None, None),
        (What::PriorityChanged { before: 0, after: 1 }, "priority_changed", None, None),
        (What::TagsChanged, "tags_changed", None, None),
        (What::Annotated { note: "later".into() }, "annotated", None, None),
        (What::Replayed { replays: 1, reason }, "replayed", None, None),
        (What::Purged, "purged", None, None),
        (What::LaneChanged { state: LaneState::Open, revision: 1 }, "lane_changed", None, None),
    ]
}

#[test]
fn every_event_says_what_it_means_for_the_end_and_for_the_lease() {
    let mut names = std::collections::BTreeSet::new();
    for (what, name, outcome, lease) in meanings().into_iter().chain(other_meanings()) {
        assert_eq!((what.name(), what.outcome(), what.lease()), (name, outcome, lease));
        names.insert(name);
    }
    assert_eq!(names.len(), 26);
}
