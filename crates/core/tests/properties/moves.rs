//! What a random run may do next.

use onward_core::record::LaneState;
use onward_core::{Backoff, Category, Millis, Payload, Policy, RetryPolicy, Span, When};
use proptest::prelude::*;

/// How many executions a run plays with.
pub(crate) const SLOTS: u128 = 3;
/// How many partitions.
pub(crate) const PARTITIONS: u16 = 3;

/// One step of a random run. Numbers choose among what there is at that time.
#[derive(Debug, Clone)]
pub(crate) enum Move {
    Submit { slot: u128, key: Option<u8>, when: When, priority: u16, policy: Policy, input: Payload, gpu: bool },
    Claim { slot: u128, gpu: bool, ttl: Span },
    Hold { slot: u128, which: Which, verb: Verb },
    Due { slot: u128 },
    DueKey { key: u8 },
    WaitUntilDue { slot: u128 },
    Pass(Span),
    Back(Span),
    SetLane(LaneState),
    Deliver { from: u16, to: u16 },
    Redeliver(prop::sample::Index),
    Bury { to: u16 },
    Repeat(prop::sample::Index),
}

/// Whose fence a fenced call shows.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Which {
    Newest,
    Older(usize),
    WrongLease,
    WrongEpoch,
}

/// What the holder of a lease does.
#[derive(Debug, Clone)]
pub(crate) enum Verb {
    Renew(Span),
    Complete(Payload),
    Fail(Category, u64),
    Unclaim,
}

fn payload() -> impl Strategy<Value = Payload> {
    prop_oneof![
        4 => any::<u32>().prop_map(|n| Payload::json(format!("{{\"n\": {n}}}")).unwrap()),
        1 => (1_020_usize..1_030).prop_map(|n| Payload::json(format!("\"{}\"", "a".repeat(n - 2))).unwrap()),
        1 => prop::collection::vec(any::<u8>(), 0..40).prop_map(|bytes| Payload::bytes("image/png", bytes).unwrap()),
    ]
}

fn when() -> impl Strategy<Value = When> {
    prop_oneof![
        3 => Just(When::Now),
        1 => (0_u64..5_000).prop_map(|ms| When::After(Span(ms))),
        1 => (900_000_u64..1_100_000).prop_map(|ms| When::At(Millis(ms))),
    ]
}

fn policy() -> impl Strategy<Value = Policy> {
    let backoff = prop_oneof![
        Just(Backoff::Fixed { delay: Span(0), jitter: false }),
        Just(Backoff::Exponential { initial: Span(500), max: Span(2_000), jitter: true }),
    ];
    let categories = prop_oneof![3 => Just(Vec::new()), 1 => Just(vec![Category::panic()])];
    let window = prop_oneof![Just(None), Just(Some(Span::minutes(10)))];
    (0_u32..4, backoff, categories, window).prop_map(|(max_retries, backoff, categories, dedup_window)| Policy {
        retry: RetryPolicy { max_retries, backoff, categories },
        dedup_window,
    })
}

fn ttl() -> impl Strategy<Value = Span> {
    prop_oneof![4 => Just(Span::seconds(30)), 1 => Just(Span::seconds(1)), 1 => Just(Span(999))]
}

fn verb() -> impl Strategy<Value = Verb> {
    let category =
        prop_oneof![4 => Just(Category::transient()), 1 => Just(Category::panic()), 1 => Just(Category::permanent())];
    prop_oneof![
        2 => ttl().prop_map(Verb::Renew),
        1 => payload().prop_map(Verb::Complete),
        3 => (category, any::<u64>()).prop_map(|(category, seed)| Verb::Fail(category, seed)),
        2 => Just(Verb::Unclaim),
    ]
}

fn which() -> impl Strategy<Value = Which> {
    prop_oneof![
        8 => Just(Which::Newest),
        2 => (0_usize..8).prop_map(Which::Older),
        1 => Just(Which::WrongLease),
        1 => Just(Which::WrongEpoch),
    ]
}

fn lane_state() -> impl Strategy<Value = LaneState> {
    prop_oneof![4 => Just(LaneState::Open), 1 => Just(LaneState::Paused), 1 => Just(LaneState::Draining)]
}

/// Any move, with those that keep executions moving more likely than those that disturb them.
pub(crate) fn any_move() -> impl Strategy<Value = Move> {
    let slot = || 1..=SLOTS;
    let partition = || 0..PARTITIONS;
    let key = prop_oneof![3 => Just(None), 1 => (0_u8..2).prop_map(Some)];
    let submit = (slot(), key, when(), 0_u16..3, policy(), payload(), any_bool()).prop_map(
        |(slot, key, when, priority, policy, input, gpu)| Move::Submit {
            slot,
            key,
            when,
            priority,
            policy,
            input,
            gpu,
        },
    );
    prop_oneof![
        4 => submit,
        12 => (slot(), any_bool(), ttl()).prop_map(|(slot, gpu, ttl)| Move::Claim { slot, gpu: !gpu, ttl }),
        12 => (slot(), which(), verb()).prop_map(|(slot, which, verb)| Move::Hold { slot, which, verb }),
        6 => slot().prop_map(|slot| Move::Due { slot }),
        8 => slot().prop_map(|slot| Move::WaitUntilDue { slot }),
        1 => (0_u8..2).prop_map(|key| Move::DueKey { key }),
        4 => (0_u64..20_000).prop_map(|ms| Move::Pass(Span(ms))),
        1 => (0_u64..90_000_000).prop_map(|ms| Move::Pass(Span(ms))),
        2 => (0_u64..60_000).prop_map(|ms| Move::Back(Span(ms))),
        1 => lane_state().prop_map(Move::SetLane),
        4 => (partition(), partition()).prop_map(|(from, to)| Move::Deliver { from, to }),
        1 => any::<prop::sample::Index>().prop_map(Move::Redeliver),
        1 => partition().prop_map(|to| Move::Bury { to }),
        5 => any::<prop::sample::Index>().prop_map(Move::Repeat),
    ]
}

fn any_bool() -> impl Strategy<Value = bool> {
    prop::bool::weighted(0.2)
}
