//! Every refusal is reached, keeps its code, and says what to do.

use crate::record::{LaneState, Mail, PublicState, Record, Waits};
use crate::rules::world::World;
use crate::rules::world::make::{self, TTL, claim, class, id, lane, submit, with};
use crate::{
    Act, Blob, Command, CommandId, Condition, Distinct, Fence, Handling, IdempotencyKey, Key, Millis, NewSuspension,
    Payload, PayloadError, Policy, Proof, Rejection, Signal, SignalId, Span, Submit, UniqueKey, When, act, limits,
};
use std::collections::BTreeSet;

fn again(submit: Submit) -> Command {
    Command::Submit(submit)
}

/// A world and a command that it refuses, for each reason there is.
fn cases() -> Vec<(World, Command)> {
    let mut world = World::new(1);
    world.submit(submit(1));
    let key: Option<IdempotencyKey> = Some("key".parse().unwrap());
    world.submit(with!(submit(2), idempotency_key: key.clone()));
    world.submit(with!(submit(3), when: When::After(Span(5))));
    world.submit(with!(submit(4), requires: class(&["gpu"])));
    let fence = world.running(submit(5), 10);
    let with = |change: fn(&mut World)| {
        let mut world = world.clone();
        change(&mut world);
        world
    };
    let broken = Record::Unreadable(bytes::Bytes::from_static(b"?"));
    let mut unreadable = world.clone();
    unreadable.put(Key::Execution(id(1)), broken);
    let past = When::At(Millis(0));
    vec![
        (world.clone(), again(with!(submit(9), priority: 9_001))),
        (world.clone(), again(with!(submit(9), when: past))),
        (world.clone(), Command::Claim(claim(id(9), 11))),
        (world.clone(), again(Submit { command: CommandId(99), ..submit(1) })),
        (world.clone(), again(with!(submit(9), idempotency_key: key.clone(), priority: 1))),
        (world.clone(), again(with!(submit(9), idempotency_key: key, unique_key: Some("one".parse().unwrap())))),
        (world.clone(), Command::Claim(claim(id(3), 11))),
        (world.clone(), Command::Claim(claim(id(4), 11))),
        (with(|world| world.lane_is(LaneState::Paused)), Command::Claim(claim(id(1), 11))),
        (with(|world| world.lane_is(LaneState::Draining)), again(submit(9))),
        (world.clone(), make::complete(50, Fence { execution: id(1), ..fence })),
        (
            with(|world| {
                world.pass(TTL);
                world.accept(&make::due(id(5)));
            }),
            Command::Claim(claim(id(5), 10)),
        ),
        (world.clone(), make::complete(50, Fence { epoch: 9, ..fence })),
        (unreadable, Command::Claim(claim(id(1), 11))),
    ]
}

/// The same for what time and operators bring.
fn later_cases() -> Vec<(World, Command)> {
    let mut world = World::new(1);
    let unique_key: Option<UniqueKey> = Some("customer-7".parse().unwrap());
    let policy = Policy { attempt_timeout: Some(Span::seconds(5)), max_replays: Some(0), ..Policy::default() };
    let slow = world.running(with!(submit(1), policy), 10);
    let deadline = Some(When::After(Span::seconds(6)));
    world.submit(with!(submit(2), deadline));
    let many = with!(submit(3), policy: make::retry(100, Span(0)));
    world.submit(many);
    for n in 0..=limits::PURGE_PIECE as u128 {
        let fence = world.claim(id(3), 20 + n).fence;
        world.accept(&make::fail(200 + n, fence));
    }
    world.operate(300, id(3), make::end());
    let keyed = world.running(with!(submit(4), unique_key: unique_key.clone()), 11);
    world.accept(&make::complete(301, keyed));
    world.submit(with!(submit(5), unique_key));
    let mut purging = world.clone();
    purging.operate(302, id(3), Act::Purge(act::Purge {}));
    let mut late = world.clone();
    late.pass(Span::seconds(6));
    let mut ended = world.clone();
    ended.operate(303, id(1), make::end());
    let mut full = World::new(1);
    for n in 0..limits::QUEUES_MAX {
        full.submit(with!(submit(n as u128 + 10), kind: format!("kind {n}").parse().unwrap()));
    }
    vec![
        (full, again(with!(submit(1), kind: "one more".parse().unwrap()))),
        (world.clone(), make::operate(400, id(3), make::end())),
        (world.clone(), make::operate(400, id(1), make::replay())),
        (world.clone(), make::operate(400, id(1), Act::Reschedule(act::Reschedule::from(When::Now)))),
        (purging, make::operate(400, id(3), make::replay())),
        (ended, make::operate(400, id(1), make::replay())),
        (world.clone(), make::operate(400, id(4), make::replay())),
        (late.clone(), make::complete(400, slow)),
        (late, Command::Claim(claim(id(2), 12))),
        (world, make::revoke_key(9)),
    ]
}

/// The same for waits and signals.
fn waiting_cases() -> Vec<(World, Command)> {
    let running = || {
        let mut world = World::new(1);
        let fence = world.running(submit(1), 10);
        (world, fence)
    };
    let deep = (0..5).fold(make::one("a"), |inner, _| Condition::Any { of: vec![inner] });
    let suspend = |condition| {
        let (world, fence) = running();
        (world, make::suspend(60, fence, NewSuspension::new(condition)))
    };
    let (mut stopping, _) = running();
    stopping.operate(60, id(1), make::ask(Span::seconds(5)));
    let (mut over, fence) = running();
    over.accept(&make::signal(70, id(1), "a").into());
    over.accept(&make::suspend_on(60, fence, "a"));
    let (mut full, _) = running();
    let with = |world: &mut World, change: fn(&mut Waits)| {
        let mut execution = world.execution(id(1)).clone();
        change(execution.waits.get_or_insert_default());
        world.put(Key::Execution(id(1)), Record::Execution(execution.into()));
    };
    with(&mut full, |waits| {
        let mail = Mail { wait: "b".parse().unwrap(), signal: SignalId(1), only: None };
        waits.mail = vec![mail; limits::MAILBOX_MAX];
    });
    let (mut many, _) = running();
    with(&mut many, |waits| waits.signals = limits::SIGNALS_MAX);
    let (late, _) = running();
    let proof = Proof {
        wait: "0.a#1".parse().unwrap(),
        actor: "ada".parse().unwrap(),
        names: Vec::new(),
        not_after: Millis(1),
        minted_by: None,
    };
    let mut rotated = World::new(1);
    for n in 0..limits::TOKEN_KEYS_MAX as u128 {
        rotated.accept(&make::rotate_token_keys(n, n));
    }
    vec![
        (rotated, make::rotate_token_keys(99, 99)),
        (running().0, make::operate(60, id(1), act::Resume::default().into())),
        (stopping, make::operate(61, id(1), act::Pause::default().into())),
        suspend(Condition::All { of: Vec::new() }),
        suspend(deep),
        suspend(make::count(300, Distinct::Signals, &["a"])),
        (over, make::signal(71, id(1), "a#1").into()),
        (full, make::signal(70, id(1), "a").into()),
        (many, make::signal(70, id(1), "a").into()),
        (late, Signal { proof: Some(proof), ..make::signal(70, id(1), "a") }.into()),
    ]
}

/// The same for inputs that cannot be.
fn payload_cases() -> Vec<(World, Command)> {
    let blob = |content_type: &str, bytes: Vec<u8>| Blob { content_type: content_type.into(), bytes: bytes.into() };
    let inputs = [
        blob("image/png", vec![0; limits::PAYLOAD_BYTES_MAX + 1]),
        blob("application/json", b"[".repeat(limits::JSON_DEPTH_MAX + 1)),
        blob("application/json", b"{".to_vec()),
        blob("", b"x".to_vec()),
    ];
    let twice = with!(submit(1), input: Payload::null(), input_bytes: Some(blob("image/png", Vec::new())));
    let submits = inputs.map(|blob| with!(submit(1), input: Payload::Bytes(blob)));
    submits.into_iter().chain([twice]).map(|submit| (World::new(1), again(submit))).collect()
}

/// A code for every variant, written out so that a changed one is noticed; a new variant must be added here.
fn code(rejection: &Rejection) -> &'static str {
    match rejection {
        Rejection::InvalidArgument { .. } => "invalid_argument",
        Rejection::Payload { error, .. } => match error {
            PayloadError::TooLarge { .. } => "payload_too_large",
            PayloadError::TooDeep { .. } => "payload_too_deep",
            PayloadError::Twice => "payload_twice",
            PayloadError::NotJson(_) => "payload_not_json",
            PayloadError::ContentType { .. } => "invalid_content_type",
        },
        Rejection::TimeInPast { .. } => "time_in_past",
        Rejection::ExecutionNotFound(_) => "execution_not_found",
        Rejection::ExecutionExists(_) => "execution_exists",
        Rejection::IdempotencyMismatch { .. } => "idempotency_mismatch",
        Rejection::TwoKeys => "two_keys",
        Rejection::NotReady { .. } => "execution_not_ready",
        Rejection::CapabilityMismatch { .. } => "capability_mismatch",
        Rejection::LanePaused(_) => "lane_paused",
        Rejection::LaneDraining(_) => "lane_draining",
        // The engine counts lanes, since they are spread over all partitions.
        Rejection::TooManyLanes => "too_many_lanes",
        Rejection::TooManyQueues { .. } => "too_many_queues",
        Rejection::NotActive { .. } => "execution_not_active",
        Rejection::Finished { .. } => "execution_finished",
        Rejection::NotFinished { .. } => "execution_not_finished",
        Rejection::NotWaiting { .. } => "execution_not_waiting",
        Rejection::Purged(_) => "execution_purged",
        Rejection::ReplaysExhausted { .. } => "replays_exhausted",
        Rejection::UniqueKeyTaken { .. } => "unique_key_taken",
        Rejection::AttemptTimedOut { .. } => "attempt_timed_out",
        Rejection::DeadlinePassed { .. } => "deadline_passed",
        Rejection::LeaseExpired { .. } => "lease_expired",
        Rejection::StaleLease { .. } => "stale_lease",
        Rejection::NotSuspended { .. } => "execution_not_suspended",
        Rejection::Stopping(_) => "execution_stopping",
        Rejection::ConditionUnsatisfiable { .. } => "condition_unsatisfiable",
        Rejection::ConditionTooDeep { .. } => "condition_too_deep",
        Rejection::ConditionTooLarge { .. } => "condition_too_large",
        Rejection::WaitpointClosed { .. } => "waitpoint_closed",
        // No rule looks for one; the server says so.
        Rejection::SignalNotFound { .. } => "signal_not_found",
        Rejection::MailboxFull(_) => "mailbox_full",
        Rejection::SignalsExhausted(_) => "signals_exhausted",
        Rejection::TokenExpired { .. } => "token_expired",
        // No rule sees a token; the engine checks it before, and gives the rule what it proves.
        Rejection::TokenInvalid => "token_invalid",
        Rejection::TokenSecretMissing => "token_secret_missing",
        Rejection::TokenKeysExhausted => "token_keys_exhausted",
        Rejection::KeyNotFound(_) => "key_not_found",
        Rejection::RecordUnreadable { .. } => "record_unreadable",
    }
}

const CODES: usize = 39;

#[test]
fn every_refusal_is_reached_and_explains_itself() {
    let mut reached = BTreeSet::new();
    let all = cases().into_iter().chain(later_cases()).chain(payload_cases()).chain(waiting_cases());
    for (mut world, command) in all {
        let records = world.records.clone();
        let rejection = world.refuse(&command);
        assert_eq!(rejection.code(), code(&rejection));
        assert!(!rejection.to_string().is_empty() && !rejection.hint().is_empty());
        assert_eq!(world.records, records, "{} wrote", rejection.code());
        println!("{:22} {:40} → {}", rejection.code(), rejection.to_string(), rejection.hint());
        reached.insert(rejection.code());
    }
    assert_eq!(reached.len(), CODES, "{reached:?}");
}

#[test]
fn refusals_tell_programs_what_to_do() {
    let state = PublicState::Completed;
    for (rejection, handling) in [
        (Rejection::NotActive { execution: id(1), state }, Handling::Abandon),
        (Rejection::LeaseExpired { expired_at: Millis(1) }, Handling::Abandon),
        (Rejection::StaleLease { current: 2, given: 1 }, Handling::Abandon),
        (Rejection::AttemptTimedOut { timed_out_at: Millis(1) }, Handling::Abandon),
        (Rejection::DeadlinePassed { deadline: Millis(1) }, Handling::Abandon),
        (Rejection::NotReady { execution: id(1), state }, Handling::TryOther),
        (Rejection::LanePaused(lane()), Handling::TryOther),
        (Rejection::CapabilityMismatch { missing: Vec::new() }, Handling::TryOther),
        (Rejection::ExecutionExists(id(1)), Handling::Correct),
        (Rejection::LaneDraining(lane()), Handling::Correct),
        (Rejection::TooManyLanes, Handling::Correct),
        (Rejection::Finished { execution: id(1), state }, Handling::Correct),
        (Rejection::NotFinished { execution: id(1), state: PublicState::Active }, Handling::Correct),
        (Rejection::NotWaiting { execution: id(1), state }, Handling::Correct),
        (Rejection::Purged(id(1)), Handling::Correct),
        (Rejection::ReplaysExhausted { execution: id(1), replays: 10 }, Handling::Correct),
        (Rejection::UniqueKeyTaken { existing: id(1) }, Handling::Correct),
    ] {
        assert_eq!(rejection.handling(), handling, "{}", rejection.code());
    }
}

#[test]
fn refusals_name_what_they_found() {
    let missing = class(&["gpu", "linux"]).capabilities().cloned().collect();
    for (rejection, text) in [
        (Rejection::CapabilityMismatch { missing }, "the worker lacks the capabilities gpu, linux".to_owned()),
        (
            Rejection::NotReady { execution: id(1), state: PublicState::Delayed },
            format!("execution {} is delayed, so it cannot be claimed", id(1)),
        ),
        (Rejection::TimeInPast { field: "run_at", ago: Span::minutes(2) }, "run_at is 120 s in the past".to_owned()),
        (
            Rejection::StaleLease { current: 4, given: 3 },
            "the execution has another lease: its epoch is 4, not 3".to_owned(),
        ),
        (
            Rejection::Finished { execution: id(1), state: PublicState::Expired },
            format!("execution {} has ended: it is expired", id(1)),
        ),
        (
            Rejection::ReplaysExhausted { execution: id(1), replays: 10 },
            format!("execution {} was replayed 10 times, the maximum of its policy", id(1)),
        ),
        (Rejection::DeadlinePassed { deadline: Millis(7) }, "the deadline passed at 7".to_owned()),
    ] {
        assert_eq!(rejection.to_string(), text);
    }
}
