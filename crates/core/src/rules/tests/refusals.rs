//! Every refusal is reached, keeps its code, and says what to do.

use crate::record::{LaneState, PublicState};
use crate::rules::world::World;
use crate::rules::world::make::{self, TTL, claim, class, id, lane, submit};
use crate::{Command, CommandId, Fence, Handling, IdempotencyKey, Rejection, Span, Submit, When};
use std::collections::BTreeSet;

fn again(submit: Submit) -> Command {
    Command::Submit(Box::new(submit))
}

/// A world and a command that it refuses, for each reason there is.
fn cases() -> Vec<(World, Command)> {
    let mut world = World::new(1);
    world.submit(submit(1));
    let key: Option<IdempotencyKey> = Some("key".parse().unwrap());
    world.submit(Submit { idempotency_key: key.clone(), ..submit(2) });
    world.submit(Submit { when: When::After(Span(5)), ..submit(3) });
    world.submit(Submit { requires: class(&["gpu"]), ..submit(4) });
    let fence = world.running(submit(5), 10);
    let with = |change: fn(&mut World)| {
        let mut world = world.clone();
        change(&mut world);
        world
    };
    let broken = crate::record::Record::Unreadable(bytes::Bytes::from_static(b"?"));
    let mut unreadable = world.clone();
    unreadable.put(crate::Key::Execution(id(1)), broken);
    let past = When::At(crate::Millis(0));
    vec![
        (world.clone(), again(Submit { priority: 9_001, ..submit(9) })),
        (world.clone(), again(Submit { when: past, ..submit(9) })),
        (world.clone(), Command::Claim(claim(id(9), 11))),
        (world.clone(), again(Submit { command: CommandId(99), ..submit(1) })),
        (world.clone(), again(Submit { idempotency_key: key, priority: 1, ..submit(9) })),
        (world.clone(), Command::Claim(claim(id(3), 11))),
        (world.clone(), Command::Claim(claim(id(4), 11))),
        (with(|world| world.lane_is(LaneState::Paused)), Command::Claim(claim(id(1), 11))),
        (with(|world| world.lane_is(LaneState::Draining)), again(submit(9))),
        (world.clone(), make::complete(50, Fence { execution: id(1), ..fence })),
        (with(|world| world.pass(TTL)), make::complete(50, fence)),
        (world.clone(), make::complete(50, Fence { epoch: 9, ..fence })),
        (unreadable, Command::Claim(claim(id(1), 11))),
    ]
}

/// A code for every variant, written out so that a changed one is noticed; a new variant must be added here.
fn code(rejection: &Rejection) -> &'static str {
    match rejection {
        Rejection::InvalidArgument { .. } => "invalid_argument",
        Rejection::TimeInPast { .. } => "time_in_past",
        Rejection::ExecutionNotFound(_) => "execution_not_found",
        Rejection::ExecutionExists(_) => "execution_exists",
        Rejection::IdempotencyMismatch { .. } => "idempotency_mismatch",
        Rejection::NotReady { .. } => "execution_not_ready",
        Rejection::CapabilityMismatch { .. } => "capability_mismatch",
        Rejection::LanePaused(_) => "lane_paused",
        Rejection::LaneDraining(_) => "lane_draining",
        Rejection::NotActive { .. } => "execution_not_active",
        Rejection::LeaseExpired { .. } => "lease_expired",
        Rejection::StaleLease { .. } => "stale_lease",
        Rejection::RecordUnreadable { .. } => "record_unreadable",
    }
}

const VARIANTS: usize = 13;

#[test]
fn every_refusal_is_reached_and_explains_itself() {
    let mut reached = BTreeSet::new();
    for (mut world, command) in cases() {
        let records = world.records.clone();
        let rejection = world.refuse(&command);
        assert_eq!(rejection.code(), code(&rejection));
        assert!(!rejection.to_string().is_empty() && !rejection.hint().is_empty());
        assert_eq!(world.records, records, "{} wrote", rejection.code());
        println!("{:22} {:40} → {}", rejection.code(), rejection.to_string(), rejection.hint());
        reached.insert(rejection.code());
    }
    assert_eq!(reached.len(), VARIANTS, "{reached:?}");
}

#[test]
fn refusals_tell_programs_what_to_do() {
    let state = PublicState::Completed;
    for (rejection, handling) in [
        (Rejection::NotActive { execution: id(1), state }, Handling::Abandon),
        (Rejection::LeaseExpired { expired_at: crate::Millis(1) }, Handling::Abandon),
        (Rejection::StaleLease { current: 2, given: 1 }, Handling::Abandon),
        (Rejection::NotReady { execution: id(1), state }, Handling::TryOther),
        (Rejection::LanePaused(lane()), Handling::TryOther),
        (Rejection::CapabilityMismatch { missing: Vec::new() }, Handling::TryOther),
        (Rejection::ExecutionExists(id(1)), Handling::Correct),
        (Rejection::LaneDraining(lane()), Handling::Correct),
    ] {
        assert_eq!(rejection.handling(), handling, "{}", rejection.code());
    }
}

#[test]
fn refusals_name_what_they_found() {
    let missing = class(&["gpu", "linux"]).capabilities().cloned().collect();
    for (rejection, text) in [
        (Rejection::CapabilityMismatch { missing }, "the worker lacks gpu, linux".to_owned()),
        (
            Rejection::NotReady { execution: id(1), state: PublicState::Delayed },
            format!("execution {} is delayed, not ready to be claimed", id(1)),
        ),
        (Rejection::TimeInPast { field: "run_at", ago: Span::minutes(2) }, "run_at is 120 s in the past".to_owned()),
        (
            Rejection::StaleLease { current: 4, given: 3 },
            "another lease holds this execution: epoch 4, not 3".to_owned(),
        ),
    ] {
        assert_eq!(rejection.to_string(), text);
    }
}
