//! Callers that wait for ends, and claims that wait for work, while another process brings both.

use crate::kit::{PARTITIONS, World, start, submit, submit_to, work, worker};
use onward_core::{Claimed, ExecutionId, Namespace, NewExecution, Payload, Span, act};
use onward_engine::{Engine, Options, Wants};
use onward_store::Home;
use std::collections::BTreeSet;

/// Longer than any scenario lasts.
const EVER: Span = Span::days(1_000);
/// Yields for each millisecond of the test's clock, so that a store keeps up with it.
const YIELDS: usize = 50;

/// An engine that relies on hints: it never looks for what they have not told it.
async fn trusting(world: &World) -> Engine {
    let options = Options { sweep_every: EVER, watched_every: EVER, ..world.options() };
    start(world.store().await, options).await
}

/// Lets everything go on for a moment.
async fn moment(world: &World) {
    for _ in 0..YIELDS {
        tokio::task::yield_now().await;
    }
    world.clock.advance(Span(1));
}

/// Waits for a call while the time moves on slowly.
async fn ended<T: Send + 'static>(world: &World, call: impl Future<Output = T> + Send + 'static) -> T {
    let call = tokio::spawn(call);
    while !call.is_finished() {
        moment(world).await;
    }
    call.await.expect("the call ends")
}

fn patient() -> Wants {
    Wants { lease: Span::hours(1), ..worker("w") }
}

/// Claims with one engine what another submits, by a hint alone.
async fn handed_over(world: &World, from: &Engine, to: &Engine) -> Claimed {
    let claim = {
        let to = to.clone();
        async move { to.claim(&patient(), EVER).await.expect("answered") }
    };
    let parked = tokio::spawn(claim);
    moment(world).await;
    let id = submit(from, work("x")).await;
    let mut claimed = ended(world, async move { parked.await.expect("the claim ends") }).await;
    assert_eq!((claimed.len(), claimed[0].fence.execution), (1, id));
    claimed.remove(0)
}

pub(crate) async fn a_parked_claim_is_woken_by_another_process(world: World) {
    let (one, two) = (trusting(&world).await, trusting(&world).await);
    for _ in 0..3 {
        let claimed = handed_over(&world, &one, &two).await;
        two.complete(claimed.fence, Payload::null()).await.expect("completed");
    }
}

pub(crate) async fn an_end_is_told_by_another_process(world: World) {
    let (one, two) = (trusting(&world).await, trusting(&world).await);
    for _ in 0..3 {
        // After this the first engine knows that there is another one.
        let claimed = handed_over(&world, &two, &one).await;
        let (id, fence) = (claimed.fence.execution, claimed.fence);
        let before = two.store().stats().reads;
        let waiter = two.clone();
        let waiting = tokio::spawn(async move { waiter.wait(id, EVER).await });
        while two.store().stats().reads == before {
            moment(&world).await;
        }
        moment(&world).await;
        assert!(!waiting.is_finished());
        one.complete(fence, Payload::null()).await.expect("completed");
        let found = ended(&world, async move { waiting.await.expect("the wait ends") }).await;
        assert!(found.expect("answered").is_some_and(|execution| execution.is_finished()));
    }
}

pub(crate) async fn many_waiters_cost_no_more_reads_than_one(world: World) {
    const SLACK: u64 = 200;
    let (one, two) = (world.engine().await, world.engine().await);
    let one_waiter = reads(&world, (&one, &two), 1, 1).await;
    let of_one = reads(&world, (&one, &two), 1, 1_000).await;
    let of_many = reads(&world, (&one, &two), 20, 50).await;
    // Hints, heartbeats and sweeps differ from run to run, by far less than one read for each waiter.
    assert!(of_one <= one_waiter + SLACK, "{of_one} reads for 1,000 waiters, {one_waiter} for one");
    assert!(of_many <= one_waiter + SLACK, "{of_many} reads for 1,000 waiters of 20 ends, {one_waiter} for one");
}

/// How much one engine reads while callers wait there, for a minute, for ends that another engine then causes.
async fn reads(world: &World, (one, two): (&Engine, &Engine), ends: usize, waiters: usize) -> u64 {
    let mut ids: Vec<ExecutionId> = Vec::new();
    for _ in 0..ends {
        ids.push(submit(one, work("x")).await);
    }
    let before = two.store().stats().reads;
    let wait = |id: &ExecutionId| {
        let (two, id) = (two.clone(), *id);
        tokio::spawn(async move { two.wait(id, EVER).await })
    };
    let waiting: Vec<_> = ids.iter().flat_map(|id| (0..waiters).map(move |_| id)).map(wait).collect();
    for _ in 0..60 {
        for _ in 0..20 {
            moment(world).await;
        }
        world.clock.advance(Span::seconds(1));
    }
    assert!(waiting.iter().all(|waiting| !waiting.is_finished()));
    for id in ids {
        one.operate(&Namespace::default(), id, act::Cancel::default()).await.expect("cancelled");
    }
    for waiting in waiting {
        while !waiting.is_finished() {
            moment(world).await;
        }
        let found = waiting.await.expect("the wait ends").expect("answered");
        assert!(found.is_some_and(|execution| execution.is_finished()));
    }
    two.store().stats().reads - before
}

pub(crate) async fn due_times_of_others_are_named(world: World) {
    const SUBMITS: usize = 100;
    let (one, two) = (trusting(&world).await, trusting(&world).await);
    if *one.store().home().borrow() != Home::ByMembership {
        // On a file the owner reads what others have set: there is nothing that could name it.
        return;
    }
    while one.homes().len() + two.homes().len() != usize::from(PARTITIONS) {
        moment(&world).await;
    }
    let (owner, other) = if one.homes().is_empty() { (two, one) } else { (one, two) };
    let home = owner.homes()[0];
    let delay = Some(Span::seconds(30));
    let mut ids = BTreeSet::new();
    let before = owner.store().stats().reads;
    for _ in 0..SUBMITS {
        let new = NewExecution { delay, ..work("later") };
        ids.insert(submit_to(&other, new, home).await);
        moment(&world).await;
    }
    let read = owner.store().stats().reads - before;
    assert!(read < SUBMITS as u64, "{read} reads for {SUBMITS} due times");
    world.clock.advance(Span::seconds(30));
    while !ids.is_empty() {
        moment(&world).await;
        let due = claim_ready(&other).await;
        assert!(due.iter().all(|id| ids.remove(id)));
    }
}

/// Claims what is ready.
async fn claim_ready(engine: &Engine) -> Vec<ExecutionId> {
    let wants = Wants { max: 10, ..patient() };
    let claimed = engine.claim(&wants, Span(0)).await.expect("answered");
    claimed.iter().map(|claimed| claimed.fence.execution).collect()
}
