//! The specification's forbidden combinations, legal vectors and public states, against every state there can be.

use crate::record::{
    Active, Attempt, AttemptKind, Finished, Lease, Outcome, PublicState, Readiness, State, Waiting, WhyDelayed,
};
use crate::rules::world::vector::{Vector, derived, legal, vector, violations};
use crate::{Category, Failure, LeaseId, Millis};
use std::collections::BTreeSet;

const NOW: Millis = Millis(1_000);

const KINDS: [AttemptKind; 3] = [AttemptKind::Initial, AttemptKind::Retry, AttemptKind::Reclaim];

fn readiness() -> Vec<Readiness> {
    let delayed = [WhyDelayed::Submitted, WhyDelayed::Retry, WhyDelayed::Reclaim]
        .into_iter()
        .flat_map(|why| [Millis(500), Millis(2_000)].map(|until| Readiness::Delayed { until, why }));
    [Readiness::Ready { since: NOW }].into_iter().chain(delayed).collect()
}

fn active(kind: AttemptKind, expires_at: Millis) -> State {
    let lease = Lease { id: LeaseId(1), epoch: 1, worker: "w".parse().unwrap(), expires_at };
    State::Active(Active { lease, attempt: Attempt { index: 0, kind, started_at: Millis(1) } })
}

/// Every state that can be written down, up to the values of times, names and counters.
fn constructible() -> Vec<State> {
    let mut states = Vec::new();
    for next in KINDS {
        states.extend(readiness().into_iter().map(|readiness| State::Waiting(Waiting { readiness, next })));
        states.extend([Millis(2_000), NOW, Millis(500)].map(|expires_at| active(next, expires_at)));
    }
    let failure = Failure::new(Category::transient(), "x");
    for outcome in [Outcome::Success, Outcome::Failed] {
        for failure in [None, Some(failure.clone())] {
            states.push(State::Finished(Finished { outcome, at: NOW, failure }));
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
    };
    match state {
        State::Waiting(Waiting { readiness: Readiness::Ready { .. }, next }) => format!("ready for {}", kind(next)),
        State::Waiting(Waiting { readiness: Readiness::Delayed { why, .. }, next }) => {
            let why = match why {
                WhyDelayed::Submitted => "submitted",
                WhyDelayed::Retry => "retry",
                WhyDelayed::Reclaim => "reclaim",
            };
            format!("delayed by {why} for {}", kind(next))
        }
        State::Active(active) => format!("active as {}", kind(&active.attempt.kind)),
        State::Finished(finished) => match finished.outcome {
            Outcome::Success => "finished well".to_owned(),
            Outcome::Failed => "finished badly".to_owned(),
        },
    }
}

#[test]
fn every_shape_of_state_is_examined() {
    let shapes: BTreeSet<String> = constructible().iter().map(shape).collect();
    assert_eq!(shapes.len(), 3 + 9 + 3 + 2, "{shapes:#?}");
}

#[test]
fn no_state_that_can_be_written_down_is_forbidden() {
    for state in constructible() {
        let vector = vector(&state, NOW);
        assert_eq!(violations(&vector), [""; 0], "{state:?} is {vector:?}");
    }
}

#[test]
fn the_checker_knows_every_forbidden_combination() {
    use crate::rules::world::vector::{AttemptState as A, Eligibility as E, Ownership as O, Phase as P, Terminal as T};
    let running = vector(&active(AttemptKind::Initial, Millis(2_000)), NOW);
    let waiting = vector(&constructible()[0], NOW);
    let finished = vector(constructible().last().unwrap(), NOW);
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
        let vector = vector(&state, NOW);
        let name = legal(&vector);
        let matching = match &state {
            State::Waiting(Waiting { readiness: Readiness::Delayed { why, .. }, next }) => matches!(
                (why, next),
                (WhyDelayed::Submitted, AttemptKind::Initial)
                    | (WhyDelayed::Retry, AttemptKind::Retry)
                    | (WhyDelayed::Reclaim, AttemptKind::Reclaim)
            ),
            _ => true,
        };
        assert_eq!(name.is_some(), matching, "{state:?}");
        println!("{:34} {:14} {}", shape(&state), name.unwrap_or("(unreachable)"), state.public().as_str());
        names.extend(name);
    }
    let expected = [
        "DELAYED-CREATE",
        "DELAYED-RESUME",
        "DELAYED-RETRY",
        "LOST",
        "READY-FIRST",
        "READY-RESUME",
        "READY-RETRY",
        "RUNNING",
        "TERM(failed)",
        "TERM(success)",
    ];
    assert!(names.iter().eq(&expected), "{names:?}");
}

#[test]
fn public_states_are_derived_as_the_specification_says() {
    for state in constructible() {
        assert_eq!(state.public(), derived(&vector(&state, NOW)), "{state:?}");
    }
    let words = [
        (PublicState::Waiting, "waiting"),
        (PublicState::Delayed, "delayed"),
        (PublicState::Active, "active"),
        (PublicState::Completed, "completed"),
        (PublicState::Failed, "failed"),
    ];
    for (state, word) in words {
        assert_eq!(state.as_str(), word);
        assert_eq!(serde_json::to_value(state).unwrap(), word, "one spelling everywhere");
    }
}
