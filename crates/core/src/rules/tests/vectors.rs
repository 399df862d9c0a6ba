//! The specification's forbidden combinations, legal vectors and public states, against every state there can be.

use crate::record::{
    Active, Attempt, AttemptKind, Cancellation, Canceller, Finished, Lease, Next, Outcome, Paused, PublicState,
    Purging, Readiness, State, StopRequest, Suspension, Waiting, WhyDelayed,
};
use crate::rules::times::Moment;
use crate::rules::world::vector::{Vector, derived, legal, matching, vector, violations};
use crate::{Category, Condition, Failure, LeaseId, Millis, Span};
use std::collections::{BTreeMap, BTreeSet};

const NOW: Millis = Millis(1_000);

const BEGUN: Moment = Moment { now: Millis(1), stamp: Millis(1) };

const KINDS: [AttemptKind; 4] = [AttemptKind::Initial, AttemptKind::Retry, AttemptKind::Reclaim, AttemptKind::Replay];

const WHYS: [WhyDelayed; 6] = [
    WhyDelayed::Submitted,
    WhyDelayed::Retry,
    WhyDelayed::Reclaim,
    WhyDelayed::Worker,
    WhyDelayed::Operator,
    WhyDelayed::Resumed,
];

const OUTCOMES: [Outcome; 4] = [Outcome::Success, Outcome::Failed, Outcome::Cancelled, Outcome::Expired];

fn readiness() -> Vec<Readiness> {
    let delayed =
        WHYS.into_iter().flat_map(|why| [Millis(500), Millis(2_000)].map(|until| Readiness::Delayed { until, why }));
    let suspended = [false, true].map(|escalated| Readiness::Suspended(Box::new(suspension(escalated))));
    [Readiness::Ready { since: NOW }].into_iter().chain(delayed).chain(suspended).collect()
}

fn suspension(escalated: bool) -> Suspension {
    Suspension {
        since: NOW,
        condition: Condition::Operator,
        taken: Vec::new(),
        over: BTreeMap::new(),
        timeout: None,
        delay: None,
        continuation: None,
        reason: "x".into(),
        escalated,
    }
}

fn nexts() -> Vec<Next> {
    let paused = |kind| {
        let attempt = Attempt::start(0, kind, BEGUN);
        Next::Resume(Box::new(Paused { attempt, lease: LeaseId(1), worker: "w".parse().unwrap() }))
    };
    KINDS.into_iter().map(Next::fresh).chain(KINDS.into_iter().map(paused)).collect()
}

fn cancellation() -> Cancellation {
    Cancellation { by: Canceller::Operator, reason: "x".into() }
}

fn active(kind: AttemptKind, expires_at: Millis, asked: bool) -> State {
    let lease = Lease { id: LeaseId(1), epoch: 1, worker: "w".parse().unwrap(), expires_at, ttl: Span::seconds(30) };
    let stop = asked.then(|| StopRequest { cancellation: cancellation(), until: NOW, grace: Span::seconds(5) });
    State::Active(Active { lease, attempt: Attempt::start(0, kind, BEGUN), stop })
}

/// Every state that can be written down, up to the values of times, names and counters.
fn constructible() -> Vec<State> {
    let mut states = Vec::new();
    for next in nexts() {
        let waiting = |readiness| State::Waiting(Waiting { readiness, next: next.clone() });
        states.extend(readiness().into_iter().map(waiting));
    }
    for kind in KINDS {
        for asked in [false, true] {
            states.extend([Millis(2_000), NOW, Millis(500)].map(|expires_at| active(kind, expires_at, asked)));
        }
    }
    for outcome in OUTCOMES {
        for failure in [None, Some(Failure::new(Category::transient(), "x"))] {
            for cancelled in [None, Some(cancellation())] {
                for purging in [None, Some(Purging { until: NOW })] {
                    let (failure, cancelled) = (failure.clone(), cancelled.clone());
                    states.push(State::Finished(Finished {
                        outcome,
                        at: NOW,
                        failure,
                        expired_by: None,
                        cancelled,
                        purging,
                    }));
                }
            }
        }
    }
    states
}

/// A word for the shape of a state; a new variant anywhere in it must be added here and above.
fn shape(state: &State) -> String {
    let kind = |kind: &AttemptKind| match kind {
        AttemptKind::Initial => "initial",
        AttemptKind::Retry => "retry",
        AttemptKind::Reclaim => "reclaim",
        AttemptKind::Replay => "replay",
    };
    let next = |next: &Next| match next {
        Next::Initial | Next::Retry | Next::Reclaim | Next::Replay => kind(&next.kind()).to_owned(),
        Next::Resume(paused) => format!("resuming {}", kind(&paused.attempt.kind)),
    };
    match state {
        State::Waiting(Waiting { readiness: Readiness::Ready { .. }, next: then }) => {
            format!("ready for {}", next(then))
        }
        State::Waiting(Waiting { readiness: Readiness::Delayed { why, .. }, next: then }) => {
            let why = match why {
                WhyDelayed::Submitted => "submitter",
                WhyDelayed::Retry => "retry",
                WhyDelayed::Reclaim => "reclaim",
                WhyDelayed::Worker => "worker",
                WhyDelayed::Operator => "operator",
                WhyDelayed::Resumed => "suspension",
            };
            format!("delayed by {why} for {}", next(then))
        }
        State::Waiting(Waiting { readiness: Readiness::Suspended(suspension), next: then }) => {
            format!("suspended{} for {}", if suspension.escalated { ", escalated" } else { "" }, next(then))
        }
        State::Active(active) => {
            format!(
                "active as {}{}",
                kind(&active.attempt.kind),
                if active.stop.is_some() { ", asked to stop" } else { "" }
            )
        }
        State::Finished(finished) => {
            let end = match finished.outcome {
                Outcome::Success => "well",
                Outcome::Failed => "badly",
                Outcome::Cancelled => "unwanted",
                Outcome::Expired => "too late",
            };
            format!("finished {end}{}", if finished.purging.is_some() { ", purging" } else { "" })
        }
    }
}

#[test]
fn every_shape_of_state_is_examined() {
    let shapes: BTreeSet<String> = constructible().iter().map(shape).collect();
    let (nexts, whys, kinds, outcomes) = (8, 6, 4, 4);
    assert_eq!(shapes.len(), nexts * (1 + whys + 2) + 2 * kinds + 2 * outcomes, "{shapes:#?}");
}

#[test]
fn no_state_that_can_be_written_down_is_forbidden() {
    for state in constructible() {
        for attempted in [false, true] {
            let vector = vector(&state, attempted, NOW);
            assert_eq!(violations(&vector), [""; 0], "{state:?} is {vector:?}");
        }
    }
}

#[test]
fn the_checker_knows_every_forbidden_combination() {
    use crate::rules::world::vector::{AttemptState as A, Eligibility as E, Ownership as O, Phase as P, Terminal as T};
    let running = vector(&active(AttemptKind::Initial, Millis(2_000), false), true, NOW);
    let waiting = vector(&constructible()[0], true, NOW);
    let finished = vector(constructible().last().unwrap(), true, NOW);
    let planted: [(&str, Vector); 12] = [
        ("V1", Vector { ownership: O::Leased, lease: running.lease, ..finished }),
        ("V2", Vector { phase: P::Suspended, ..running }),
        ("V3", Vector { terminal: T::Success, ..running }),
        ("V4", Vector { terminal: T::None, ..finished }),
        ("V5", Vector { attempt: A::PendingFirstAttempt, ..running }),
        ("V6", Vector { eligibility: E::EligibleNow, ..finished }),
        ("V7", Vector { eligibility: E::EligibleNow, ..running }),
        ("V8", Vector { phase: P::Submitted, ..running }),
        ("V9", Vector { attempt: A::RunningAttempt, ..waiting }),
        ("V10", Vector { ownership: O::Unowned, ..running }),
        ("V11", Vector { eligibility: E::NotEligibleUntilTime, ..running }),
        ("V12", Vector { lease: Some((Millis(2_000), 0)), ..running }),
    ];
    for (number, vector) in planted {
        assert!(violations(&vector).contains(&number), "{number} is not noticed in {vector:?}");
        assert_eq!(legal(&vector).filter(|_| number != "V12"), None, "{number} is not on the legal list");
    }
}

#[test]
fn the_legal_vectors_are_those_of_matching_parts() {
    let mut names = BTreeSet::new();
    for state in constructible() {
        let name = legal(&vector(&state, true, NOW));
        assert!(name.is_some() || !matching(&state), "{state:?}");
        println!("{:44} {:17} {}", shape(&state), name.unwrap_or("(unreachable)"), state.public().as_str());
        names.extend(name);
    }
    for state in OUTCOMES.map(|outcome| State::Finished(Finished::new(outcome, NOW))) {
        names.extend(legal(&vector(&state, false, NOW)));
    }
    let expected = [
        "DELAYED-CREATE",
        "DELAYED-OPERATOR",
        "DELAYED-RESUME",
        "DELAYED-RETRY",
        "DELAYED-WORKER",
        "ESCALATED",
        "LOST",
        "READY-FIRST",
        "READY-REPLAY",
        "READY-RESUME",
        "READY-RETRY",
        "RUNNING",
        "SUSPENDED",
        "TERM(cancelled)",
        "TERM(expired)",
        "TERM(failed)",
        "TERM(success)",
        "TERM-NOATT(cancelled)",
        "TERM-NOATT(expired)",
    ];
    assert!(names.iter().eq(&expected), "{names:?}");
}

#[test]
fn public_states_are_derived_as_the_specification_says() {
    for state in constructible() {
        assert_eq!(state.public(), derived(&vector(&state, true, NOW)), "{state:?}");
    }
    let words = ["waiting", "delayed", "active", "suspended", "completed", "failed", "cancelled", "expired"];
    for (state, word) in PublicState::ALL.iter().zip(words) {
        assert_eq!(state.as_str(), word);
        assert_eq!(serde_json::to_value(state).unwrap(), word, "one spelling everywhere");
        assert_eq!(PublicState::named(word), Some(*state));
    }
    for outcome in OUTCOMES {
        assert_eq!(outcome.public().outcome(), Some(outcome), "an end and its word belong together");
        assert_eq!(serde_json::to_value(outcome).unwrap(), outcome.as_str());
    }
    assert_eq!(PublicState::named("resumable"), None);
}
