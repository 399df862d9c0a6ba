//! What a lane decides for submissions that do not say otherwise.

use crate::record::{LaneSettings, LaneState, Record};
use crate::rules::world::World;
use crate::rules::world::make::{self, HOME, id, lane, namespace, submit, with};
use crate::{
    Command, CommandId, Key, LaneChange, OnExhausted, PartitionId, Policy, Rejection, RetryPolicy, SetLane, Span,
    limits,
};

fn change(command: u128, change: LaneChange) -> Command {
    Command::SetLane(SetLane { command: CommandId(command), namespace: namespace(), lane: lane(), by: None, change })
}

fn defaults() -> Policy {
    Policy {
        retry: Some(RetryPolicy { max_retries: 7, ..RetryPolicy::default() }),
        attempt_timeout: Some(Span::minutes(3)),
        max_reclaims: Some(4),
        max_replays: Some(5),
        retention: Some(Span::hours(6)),
        dedup_window: Some(Span::minutes(20)),
        on_exhausted: Some(OnExhausted::Pause),
    }
}

fn settings(world: &World, partition: PartitionId) -> LaneSettings {
    match world.record(&Key::LaneCopy(namespace(), lane(), partition)) {
        Some(Record::LaneCopy(copy)) => copy.settings.clone(),
        other => panic!("{other:?}"),
    }
}

/// A world whose lane has these defaults everywhere.
fn world_with(defaults: Policy) -> World {
    let mut world = World::new(2);
    world.accept(&change(1, LaneChange { state: None, defaults: Some(defaults) }));
    world.settle();
    world
}

#[test]
fn each_part_of_a_policy_is_taken_from_the_submit_else_from_the_lane_else_from_the_system() {
    let own = Policy {
        retry: Some(RetryPolicy::never()),
        attempt_timeout: Some(Span::seconds(9)),
        max_reclaims: Some(0),
        max_replays: Some(0),
        retention: Some(Span::minutes(11)),
        dedup_window: Some(Span::minutes(12)),
        on_exhausted: Some(OnExhausted::Fail),
    };
    let nothing = Policy::default();
    let half = Policy { retention: None, retry: None, ..own };
    let mixed = Policy { retention: defaults().retention, retry: defaults().retry, ..own };
    for (lane, asked, expected) in [
        (nothing.clone(), nothing.clone(), nothing.clone()),
        (nothing, own.clone(), own.clone()),
        (defaults(), Policy::default(), defaults()),
        (defaults(), own.clone(), own),
        (defaults(), half, mixed),
    ] {
        let mut world = world_with(lane);
        world.submit(with!(submit(1), policy: asked));
        assert_eq!(world.execution(id(1)).policy, expected);
    }
    let system = Policy::default();
    assert_eq!(system.retry(), RetryPolicy::default());
    assert_eq!((system.max_reclaims(), system.max_replays()), (limits::RECLAIMS_DEFAULT, limits::REPLAYS_DEFAULT));
    assert_eq!((system.retention(), system.dedup_window()), (limits::RETENTION_DEFAULT, limits::DEDUP_WINDOW_DEFAULT));
}

#[test]
fn the_policy_is_frozen_when_the_work_is_submitted() {
    let mut world = world_with(defaults());
    world.submit(submit(1));
    let claimed = world.claim(id(1), 10);
    assert_eq!(claimed.times_out_at, Some(world.now + Span::minutes(3)), "the lane's default counts");
    world.accept(&change(2, LaneChange { state: None, defaults: Some(Policy::default()) }));
    world.settle();
    assert_eq!(world.execution(id(1)).policy, defaults());
    world.submit(submit(2));
    assert_eq!(world.execution(id(2)).policy, Policy::default());
}

#[test]
fn a_lanes_window_counts_and_is_no_argument() {
    // What a caller asks for is compared, not what a lane adds to it: changing the lane refuses no repeat.
    let mut world = world_with(defaults());
    let keyed = |n| with!(submit(n), idempotency_key: Some("order".parse().unwrap()));
    world.submit(keyed(1));
    world.accept(&change(2, LaneChange { state: None, defaults: Some(Policy::default()) }));
    world.settle();
    world.pass(Span(Span::minutes(20).0 - 1));
    assert_eq!(world.submit(keyed(2)), id(1));
    world.pass(Span(1));
    assert_eq!(world.submit(keyed(3)), id(3));
}

#[test]
fn state_and_defaults_change_apart() {
    let mut world = world_with(defaults());
    world.accept(&change(2, LaneChange { state: Some(LaneState::Paused), defaults: None }));
    world.settle();
    for partition in [HOME, PartitionId(1)] {
        let expected = LaneSettings { state: LaneState::Paused, defaults: defaults() };
        assert_eq!(settings(&world, partition), expected, "what is absent stays as it is");
    }
    world.accept(&change(3, LaneChange { state: None, defaults: Some(Policy::default()) }));
    world.settle();
    let expected = LaneSettings { state: LaneState::Paused, defaults: Policy::default() };
    assert_eq!(settings(&world, PartitionId(1)), expected);
}

#[test]
fn defaults_outside_their_limits_are_refused_by_name() {
    let just = |change: fn(&mut Policy)| {
        let mut policy = Policy::default();
        change(&mut policy);
        policy
    };
    for (defaults, field) in [
        (make::retry(limits::RETRIES_MAX + 1, Span(0)), "max_retries"),
        (just(|policy| policy.attempt_timeout = Some(Span(1))), "attempt_timeout"),
        (just(|policy| policy.max_reclaims = Some(limits::RECLAIMS_MAX + 1)), "max_reclaims"),
        (just(|policy| policy.max_replays = Some(limits::REPLAYS_MAX + 1)), "max_replays"),
        (just(|policy| policy.retention = Some(Span(limits::RETENTION_MIN.0 - 1))), "retention"),
        (just(|policy| policy.retention = Some(Span(limits::RETENTION_MAX.0 + 1))), "retention"),
        (just(|policy| policy.dedup_window = Some(Span(1))), "dedup_window"),
    ] {
        let mut world = World::new(1);
        let set = change(1, LaneChange { state: None, defaults: Some(defaults.clone()) });
        let submitted = Command::Submit(with!(submit(1), policy: defaults));
        for command in [set, submitted] {
            let refused = world.refuse(&command);
            assert!(matches!(refused, Rejection::InvalidArgument { field: named, .. } if named == field), "{refused}");
        }
        assert!(world.records.is_empty(), "{field}");
    }
}
