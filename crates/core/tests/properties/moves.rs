//! What a random run may do next.

use onward_core::record::{LaneState, OnTimeout};
use onward_core::{
    Act, Category, Condition, Distinct, LeaseId, Millis, NewSuspension, OnExhausted, Payload, Policy, RetryPolicy,
    SignalName, Span, TagKey, When, act,
};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// How many executions a run plays with at a time.
pub(crate) const SLOTS: usize = 3;
/// How many partitions.
pub(crate) const PARTITIONS: u16 = 3;

/// One step of a random run. Numbers choose among what there is at that time.
#[derive(Debug, Clone)]
pub(crate) enum Move {
    Submit(Box<New>),
    Claim { slot: usize, gpu: bool, ttl: Span },
    Hold { slot: usize, which: Which, verb: Verb },
    Operate { slot: usize, elsewhere: bool, act: Act },
    Signal(Sent),
    Due { slot: usize },
    DueKey { key: u8 },
    WaitUntilDue { slot: usize },
    Wear { slot: usize, purge: bool },
    Pass(Span),
    Back(Span),
    SetLane(LaneState, Option<Policy>),
    IssueKey { key: u8 },
    RevokeKey { key: u8 },
    RotateTokenKeys { grace: Option<Span> },
    Deliver { from: u16, to: u16 },
    Redeliver(prop::sample::Index),
    Bury { to: u16 },
    Repeat(prop::sample::Index),
}

/// What a submit asks for.
#[derive(Debug, Clone)]
pub(crate) struct New {
    pub(crate) slot: usize,
    pub(crate) key: Option<u8>,
    pub(crate) unique: Option<u8>,
    pub(crate) when: When,
    pub(crate) deadline: Option<When>,
    pub(crate) priority: u16,
    pub(crate) policy: Policy,
    pub(crate) input: Payload,
    pub(crate) gpu: bool,
    /// The wait that a signal is sent to along with it.
    pub(crate) signal: Option<String>,
}

/// A signal: to which wait, of whom, under which key.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    pub(crate) slot: usize,
    pub(crate) elsewhere: bool,
    pub(crate) wait: String,
    pub(crate) name: Option<u8>,
    pub(crate) actor: Option<u8>,
    pub(crate) key: Option<u8>,
    pub(crate) token: bool,
    pub(crate) payload: Payload,
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
    Progress(Option<u8>, Option<String>),
    Complete(Payload),
    Fail(Category),
    Unclaim,
    Delay(When),
    Cancel,
    Suspend(Box<NewSuspension>),
}

/// One of a few waits.
fn wait() -> impl Strategy<Value = String> {
    (0_u8..3, prop_oneof![3 => Just(None), 2 => (1_u32..4).prop_map(Some)]).prop_map(|(name, n)| {
        let n = n.map(|n| format!("#{n}")).unwrap_or_default();
        format!("wait-{name}{n}")
    })
}

fn names() -> impl Strategy<Value = Vec<SignalName>> {
    prop_oneof![
        4 => Just(Vec::new()),
        1 => Just(vec!["name-0".parse().unwrap()]),
    ]
}

fn until() -> impl Strategy<Value = (Option<Span>, Option<Millis>)> {
    prop_oneof![
        4 => Just((None, None)),
        1 => (0_u64..5_000).prop_map(|ms| (Some(Span(ms)), None)),
        1 => (900_000_u64..1_100_000).prop_map(|ms| (None, Some(Millis(ms)))),
    ]
}

fn condition() -> impl Strategy<Value = Condition> {
    let one = (wait(), names(), until()).prop_map(|(wait, names, (timeout, until))| Condition::Wait {
        wait: wait.parse().unwrap(),
        names,
        timeout,
        until,
    });
    let distinct = prop_oneof![Just(Distinct::Waits), Just(Distinct::Signals), Just(Distinct::Actors)];
    let count = (0_u32..4, distinct, prop::collection::vec(wait(), 0..3), names(), until()).prop_map(
        |(n, distinct, waits, names, (timeout, until))| {
            let waits = waits.iter().map(|text| text.parse().unwrap()).collect();
            Condition::Count { n, distinct, waits, names, timeout, until }
        },
    );
    let both = (wait(), wait())
        .prop_map(|(a, b)| Condition::All { of: [a, b].map(|text| Condition::wait(text.parse().unwrap())).to_vec() });
    let leaf =
        prop_oneof![6 => one, 2 => both, 3 => count, 1 => Just(Condition::Operator), 1 => Just(Condition::Timeout)];
    leaf.prop_recursive(5, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(|of| Condition::All { of }),
            prop::collection::vec(inner, 0..3).prop_map(|of| Condition::Any { of }),
        ]
    })
}

fn suspension() -> impl Strategy<Value = Box<NewSuspension>> {
    let timeout = prop_oneof![
        2 => Just((None, None)),
        2 => (0_u64..20_000).prop_map(|ms| (Some(Span(ms)), None)),
        1 => (900_000_u64..1_100_000).prop_map(|ms| (None, Some(Millis(ms)))),
    ];
    let then = prop::sample::select(OnTimeout::ALL);
    let delay = prop_oneof![3 => Just(None), 1 => (0_u64..5_000).prop_map(|ms| Some(Span(ms)))];
    (condition(), timeout, then, delay).prop_map(|(condition, (timeout, timeout_at), on_timeout, resume_delay)| {
        let times_out = timeout.is_some() || timeout_at.is_some();
        Box::new(NewSuspension {
            timeout,
            timeout_at,
            on_timeout: if times_out { on_timeout } else { OnTimeout::default() },
            resume_delay,
            ..NewSuspension::new(condition)
        })
    })
}

fn sent() -> impl Strategy<Value = Sent> {
    let small = |of: u8| prop_oneof![1 => Just(None), 1 => (0..of).prop_map(Some)];
    let how = (prop::bool::weighted(0.03), any_bool());
    (0..SLOTS, wait(), small(2), small(3), small(4), how, payload()).prop_map(
        |(slot, wait, name, actor, key, (elsewhere, token), payload)| Sent {
            slot,
            elsewhere,
            wait,
            name,
            actor,
            key,
            token,
            payload,
        },
    )
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
        2 => (0_u64..5_000).prop_map(|ms| When::After(Span(ms))),
        1 => (900_000_u64..1_100_000).prop_map(|ms| When::At(Millis(ms))),
    ]
}

fn deadline() -> impl Strategy<Value = Option<When>> {
    prop_oneof![
        9 => Just(None),
        2 => (0_u64..60_000).prop_map(|ms| Some(When::After(Span(ms)))),
        1 => (900_000_u64..1_100_000).prop_map(|ms| Some(When::At(Millis(ms)))),
    ]
}

fn policy() -> impl Strategy<Value = Policy> {
    let pauses = prop_oneof![Just((Span(0), Span(0), false)), Just((Span(500), Span(2_000), true))];
    let categories = prop_oneof![3 => Just(Vec::new()), 1 => Just(vec![Category::panic()])];
    let retry =
        (0_u32..4, pauses, categories).prop_map(|(max_retries, (first_pause, longest_pause, jitter), categories)| {
            RetryPolicy { max_retries, first_pause, longest_pause, jitter, categories }
        });
    let timeout = prop_oneof![3 => Just(None), 1 => (1_000_u64..40_000).prop_map(|ms| Some(Span(ms)))];
    let kept = || prop_oneof![Just(None), Just(Some(Span::minutes(10)))];
    let cap = || prop_oneof![2 => Just(None), 1 => (0_u32..3).prop_map(Some)];
    let retry = prop_oneof![1 => Just(None), 4 => retry.prop_map(Some)];
    let exhausted = prop_oneof![2 => Just(None), 1 => Just(Some(OnExhausted::Pause))];
    (retry, timeout, cap(), cap(), kept(), (kept(), exhausted)).prop_map(
        |(retry, attempt_timeout, max_reclaims, max_replays, retention, (dedup_window, on_exhausted))| Policy {
            on_exhausted,
            retry,
            attempt_timeout,
            max_reclaims,
            max_replays,
            retention,
            dedup_window,
        },
    )
}

fn ttl() -> impl Strategy<Value = Span> {
    prop_oneof![4 => Just(Span::seconds(30)), 1 => Just(Span::seconds(1)), 1 => Just(Span(999))]
}

fn verb() -> impl Strategy<Value = Verb> {
    let category =
        prop_oneof![4 => Just(Category::transient()), 1 => Just(Category::panic()), 1 => Just(Category::permanent())];
    let percent = prop_oneof![Just(None), (0_u8..=101).prop_map(Some)];
    let message = prop_oneof![Just(None), "[a-z]{0,3}".prop_map(Some)];
    prop_oneof![
        4 => ttl().prop_map(Verb::Renew),
        2 => (percent, message).prop_map(|(percent, message)| Verb::Progress(percent, message)),
        2 => payload().prop_map(Verb::Complete),
        6 => category.prop_map(Verb::Fail),
        4 => Just(Verb::Unclaim),
        4 => when().prop_map(Verb::Delay),
        1 => Just(Verb::Cancel),
        8 => suspension().prop_map(Verb::Suspend),
    ]
}

fn act() -> impl Strategy<Value = Act> {
    let grace = prop_oneof![
        3 => Just(None),
        4 => (0_u64..20_000).prop_map(|ms| Some(Span(ms))),
        1 => Just(Some(Span::days(2))),
    ];
    let priority = prop_oneof![5 => 0_u16..3, 1 => Just(9_001_u16)];
    let key = || (0_u8..4).prop_map(|n| format!("tag-{n}").parse::<TagKey>().unwrap());
    let set = prop::collection::btree_map(key(), (0_u8..3).prop_map(|n| format!("{n}").parse().unwrap()), 0..3);
    let remove = prop::collection::btree_set(key(), 0..2);
    let lease = prop_oneof![4 => Just(None), 1 => Just(Some(LeaseId(1)))];
    let later = prop_oneof![2 => Just(None), 1 => (0_u64..5_000).prop_map(|ms| Some(Span(ms)))];
    prop_oneof![
        2 => Just(Act::Pause(act::Pause { reason: "look".into() })),
        6 => later.prop_map(|delay| Act::Resume(act::Resume { delay })),
        6 => wait().prop_map(|text| Act::CloseWait(act::CloseWait { wait: text.parse().unwrap() })),
        4 => grace.prop_map(|grace| Act::Cancel(act::Cancel { reason: "unwanted".into(), grace })),
        4 => when().prop_map(|when| Act::Reschedule(act::Reschedule::from(when))),
        1 => priority.prop_map(|priority| Act::Prioritise(act::Prioritise { priority })),
        2 => (set, remove).prop_map(|(set, remove): (BTreeMap<_, _>, BTreeSet<_>)| Act::Tag(act::Tag { set, remove })),
        1 => (0_usize..1_100).prop_map(|bytes| Act::Annotate(act::Annotate { note: "n".repeat(bytes).into() })),
        2 => lease.prop_map(|lease| Act::Revoke(act::Revoke { lease, reason: "stuck".into() })),
        4 => deadline().prop_map(|deadline| Act::Replay(act::Replay::new("again".into(), deadline))),
        2 => Just(Act::Purge(act::Purge {})),
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

fn new() -> impl Strategy<Value = Box<New>> {
    let key = prop_oneof![4 => Just(None), 1 => (0_u8..2).prop_map(Some)];
    let unique = prop_oneof![1 => Just(None), 1 => Just(Some(0_u8))];
    let what = (0_u16..3, policy(), payload(), any_bool());
    let signal = prop_oneof![4 => Just(None), 1 => wait().prop_map(Some)];
    (0..SLOTS, key, unique, when(), deadline(), what, signal).prop_map(
        |(slot, key, unique, when, deadline, (priority, policy, input, gpu), signal)| {
            let signal = signal.filter(|_| unique.is_some());
            Box::new(New { slot, key, unique, when, deadline, priority, policy, input, gpu, signal })
        },
    )
}

/// A whole run: something in every slot, then anything.
pub(crate) fn run() -> impl Strategy<Value = Vec<Move>> {
    let first = prop::collection::vec(new(), SLOTS);
    (first, prop::collection::vec(any_move(), 1..120)).prop_map(|(first, moves)| {
        let placed = first.into_iter().enumerate().map(|(slot, new)| Move::Submit(Box::new(New { slot, ..*new })));
        placed.chain(moves).collect()
    })
}

/// Any move, with those that keep executions moving more likely than those that disturb them.
fn any_move() -> impl Strategy<Value = Move> {
    let slot = || 0..SLOTS;
    let partition = || 0..PARTITIONS;
    let defaults = prop_oneof![2 => Just(None), 1 => policy().prop_map(Some)];
    prop_oneof![
        12 => new().prop_map(Move::Submit),
        36 => (slot(), any_bool(), ttl()).prop_map(|(slot, gpu, ttl)| Move::Claim { slot, gpu: !gpu, ttl }),
        36 => (slot(), which(), verb()).prop_map(|(slot, which, verb)| Move::Hold { slot, which, verb }),
        24 => (slot(), prop::bool::weighted(0.05), act())
            .prop_map(|(slot, elsewhere, act)| Move::Operate { slot, elsewhere, act }),
        24 => sent().prop_map(Move::Signal),
        18 => slot().prop_map(|slot| Move::Due { slot }),
        24 => slot().prop_map(|slot| Move::WaitUntilDue { slot }),
        1 => (slot(), any::<bool>()).prop_map(|(slot, purge)| Move::Wear { slot, purge }),
        3 => (0_u8..2).prop_map(|key| Move::DueKey { key }),
        12 => (0_u64..20_000).prop_map(|ms| Move::Pass(Span(ms))),
        2 => (0_u64..90_000_000).prop_map(|ms| Move::Pass(Span(ms))),
        6 => (0_u64..60_000).prop_map(|ms| Move::Back(Span(ms))),
        3 => (lane_state(), defaults).prop_map(|(state, defaults)| Move::SetLane(state, defaults)),
        2 => (0_u8..3).prop_map(|key| Move::IssueKey { key }),
        2 => (0_u8..3).prop_map(|key| Move::RevokeKey { key }),
        1 => prop::option::of((0_u64..100_000).prop_map(Span)).prop_map(|grace| Move::RotateTokenKeys { grace }),
        12 => (partition(), partition()).prop_map(|(from, to)| Move::Deliver { from, to }),
        3 => any::<prop::sample::Index>().prop_map(Move::Redeliver),
        3 => partition().prop_map(|to| Move::Bury { to }),
        15 => any::<prop::sample::Index>().prop_map(Move::Repeat),
    ]
}

fn any_bool() -> impl Strategy<Value = bool> {
    prop::bool::weighted(0.2)
}
