//! Suspension and signals on a real store: every order of the two, from two processes, and timeouts by the due index.

use crate::kit::{World, claim_now, eventually, submit, work, worker};
use async_trait::async_trait;
use onward_core::record::{HowOver, OnTimeout, PublicState, WaitAddress, WaitRef};
use onward_core::{
    Claim, Claimed, CommandId, Condition, ExecutionId, LeaseId, Namespace, NewSignal, NewSuspension, Payload,
    PayloadSlot, Rejection, Signal, Signalled, Span, Suspend, Suspended, Woken,
};
use onward_engine::clock::{Chance, Clock};
use onward_engine::{Engine, Error, Wants};
use onward_store::{Batch, LayeredStore, Outcome, Store, StoreLayer};
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio::task::{JoinSet, yield_now};

/// Executions that wait, each in an order of its own.
const ORDERS: usize = 1_000;
/// How many of them at the same time.
const AT_ONCE: usize = 50;

fn callback() -> WaitRef {
    "callback".parse().expect("a wait")
}

async fn suspend(engine: &Engine, claimed: &Claimed, command: u128) -> Result<Suspended, Error> {
    let new = Box::new(NewSuspension::new(Condition::wait(callback())));
    engine.run(Suspend { command: CommandId(command), fence: claimed.fence, new }).await
}

async fn signal(engine: &Engine, execution: ExecutionId, command: u128, payload: &Payload) -> Result<Signalled, Error> {
    let mut signal = NewSignal::new(WaitAddress::from(callback().name));
    signal.set_payload(payload.clone());
    let (command, namespace) = (CommandId(command), Namespace::default());
    engine.run(Signal { command, namespace, execution, by: None, proof: None, signal: Box::new(signal) }).await
}

/// Claims one execution by its id for an hour, once it is ready.
async fn claim(engine: &Engine, execution: ExecutionId, lease: u128) -> Box<Claimed> {
    claim_for(engine, execution, lease, Span::hours(1)).await
}

async fn claim_for(engine: &Engine, execution: ExecutionId, lease: u128, ttl: Span) -> Box<Claimed> {
    let Wants { worker, capabilities, .. } = worker("w");
    let lease = LeaseId::within(&Namespace::default(), lease);
    let claim = Claim { execution, lease, worker, build: None, capabilities, ttl };
    loop {
        match engine.run(claim.clone()).await {
            Ok(claimed) => return claimed,
            Err(error) => assert_eq!(error.code(), "execution_not_ready", "{error}"),
        }
        yield_now().await;
    }
}

fn payload_of(woken: &Woken) -> Payload {
    assert_eq!((woken.by, woken.waits.len(), woken.waits[0].signals.len()), (HowOver::Signals, 1, 1));
    woken.waits[0].signals[0].carried().expect("it came along")
}

/// One execution: its signal comes before, during or after its suspension, through the same engine or another, and perhaps
/// twice.
async fn one(n: usize, near: Engine, far: Engine, chance: u128) {
    let sent = Payload::of(&n).expect("a payload");
    let id = submit(&near, work("wait")).await;
    let first = claim(&near, id, chance).await;
    let signaller = if n.is_multiple_of(2) { &near } else { &far };
    let command = chance ^ 1;
    let answer = match n % 3 {
        0 => {
            signal(signaller, id, command, &sent).await.expect("kept");
            suspend(&near, &first, chance ^ 2).await
        }
        1 => {
            let (suspended, signalled) =
                tokio::join!(suspend(&near, &first, chance ^ 2), signal(signaller, id, command, &sent));
            signalled.expect("accepted");
            suspended
        }
        _ => {
            let suspended = suspend(&near, &first, chance ^ 2).await;
            signal(signaller, id, command, &sent).await.expect("accepted");
            suspended
        }
    };
    let (fence, got) = match answer.expect("accepted").met {
        Some(woken) => (first.fence, payload_of(&woken)),
        None => {
            let second = claim(&far, id, chance ^ 3).await;
            (second.fence, payload_of(second.woke.as_deref().expect("it was suspended")))
        }
    };
    far.complete(fence, got).await.expect("it ends once");
    let again = signal(&far, id, command, &sent).await.expect("a repeat gets its answer after the end");
    assert_eq!(again, signal(&near, id, command, &sent).await.expect("here, too"));
    let execution = near.get(id).await.expect("answered").expect("it exists");
    assert_eq!((execution.public_state(), execution.attempts), (PublicState::Completed, 1));
    let result = near.payload(&execution, PayloadSlot::Result).await.expect("answered");
    assert_eq!(result, Some(sent), "the payload of its own signal");
}

pub(crate) async fn every_order_of_signal_and_suspension_ends_each_execution_once(world: World) {
    let (near, far) = (world.engine().await, world.engine().await);
    let chance = Chance::seeded(11);
    let mut running = JoinSet::new();
    for n in 0..ORDERS {
        while running.len() >= AT_ONCE {
            // What met a conflict rests by the clock that the test holds.
            world.clock.advance(Span(1));
            yield_now().await;
            while let Some(ended) = running.try_join_next() {
                ended.expect("it came right");
            }
        }
        running.spawn(one(n, near.clone(), far.clone(), chance.id()));
    }
    while !running.is_empty() {
        world.clock.advance(Span(1));
        yield_now().await;
        while let Some(ended) = running.try_join_next() {
            ended.expect("it came right");
        }
    }
    near.shutdown().await;
    far.shutdown().await;
}

pub(crate) async fn a_wait_ends_at_its_time(world: World) {
    let engine = world.engine().await;
    let id = submit(&engine, work("wait")).await;
    let claimed = claim_now(&engine, &worker("w")).await;
    let condition = Condition::Wait { wait: callback(), names: Vec::new(), timeout: Some(Span::days(30)), until: None };
    let new = Box::new(NewSuspension::new(condition));
    let answer = engine.run(Suspend { command: CommandId(7), fence: claimed.fence, new }).await.expect("suspended");
    assert_eq!(answer.met, None);
    let found = engine.get(id).await.expect("answered").expect("it exists");
    assert_eq!((found.public_state(), found.due()), (PublicState::Suspended, Some(world.clock.now() + Span::days(30))));
    world.clock.advance(Span::days(30));
    eventually("the wait is over", async || engine.metrics().suspension_timeout == 1).await;
    let claimed = claim_now(&engine, &worker("w")).await;
    let woke = claimed.woke.expect("it was suspended");
    assert_eq!((woke.by, woke.waits[0].how, woke.waits[0].signals.len()), (HowOver::Timeout, HowOver::Timeout, 0));
    let waits = engine.waits(&engine.get(id).await.expect("answered").expect("it exists")).await.expect("answered");
    assert_eq!((waits.over.len(), waits.signals.len()), (1, 0));
    assert_eq!(engine.counts(&Namespace::default()).await.expect("counted").suspended.n, 0);
    engine.shutdown().await;
}

/// How often a worker dies between the signal and the first step of its handler.
const DEATHS: usize = 100;

pub(crate) async fn workers_that_die_before_their_first_step_leave_the_same_signals(world: World) {
    let (mut near, far) = (world.engine().await, world.engine().await);
    let ttl = Span::seconds(10);
    let mut lost = Vec::new();
    for n in 0..DEATHS {
        let sent = Payload::of(&n).expect("a payload");
        let id = submit(&far, work("wait")).await;
        let first = claim(&far, id, n as u128).await;
        assert_eq!(suspend(&far, &first, n as u128).await.expect("suspended").met, None);
        signal(&far, id, n as u128, &sent).await.expect("accepted");
        let claimed = claim_for(&near, id, (DEATHS + n) as u128, ttl).await;
        assert_eq!((claimed.fence.execution, claimed.fence.attempt), (id, 1));
        assert_eq!(payload_of(claimed.woke.as_deref().expect("it was suspended")), sent);
        lost.push((id, sent));
        if n % 20 == 19 {
            // The whole process of the worker, too.
            near.abort();
            near = world.engine().await;
        }
    }
    world.clock.advance(ttl);
    for (n, (id, sent)) in lost.into_iter().enumerate() {
        let again = eventually_claimed(&world, &far, id, (2 * DEATHS + n) as u128).await;
        assert_eq!((again.fence.attempt, &again.woke), (2, &None), "a new attempt begins at its start");
        let met = suspend(&far, &again, (DEATHS + n) as u128).await.expect("answered").met;
        assert_eq!(payload_of(&met.expect("the wait is over")), sent, "the same signals");
    }
    near.shutdown().await;
    far.shutdown().await;
}

/// Claims one execution once a lost lease has made it ready, which the clock of the test must let happen.
async fn eventually_claimed(world: &World, engine: &Engine, id: ExecutionId, lease: u128) -> Box<Claimed> {
    eventually("the lease ran out", async || {
        world.clock.advance(Span(1));
        engine.get(id).await.expect("answered").expect("it exists").public_state() == PublicState::Waiting
    })
    .await;
    claim(engine, id, lease).await
}

/// Holds commits back while it is closed, like a process that was stopped.
#[derive(Debug)]
struct Gate(Semaphore);

#[async_trait]
impl StoreLayer for Gate {
    async fn commit(&self, inner: &dyn Store, group: Vec<Batch>) -> onward_store::Result<Vec<Outcome>> {
        let _pass = self.0.acquire().await.expect("it is never closed for good");
        inner.commit(group).await
    }
}

pub(crate) async fn a_signal_through_a_process_that_stopped_over_the_timeout_does_not_resume(world: World) {
    let home = world.engine().await;
    let gate = Arc::new(LayeredStore::new(world.store().await, Gate(Semaphore::new(64))));
    let stopped = world.engine_on(gate.clone()).await;
    let id = submit(&home, work("wait")).await;
    let claimed = claim(&home, id, 1).await;
    let condition = Condition::wait(callback());
    let new =
        NewSuspension { timeout: Some(Span::minutes(1)), on_timeout: OnTimeout::Fail, ..NewSuspension::new(condition) };
    let suspend = Suspend { command: CommandId(1), fence: claimed.fence, new: Box::new(new) };
    assert_eq!(home.run(suspend).await.expect("suspended").met, None);

    // The signal is under way when the process stops; the home looks away, too, so that nothing else notices the timeout.
    let passes = gate.layer().0.acquire_many(64).await.expect("open");
    home.abort();
    let sent = Payload::of(&1).expect("a payload");
    let sending = tokio::spawn({
        let (stopped, sent) = (stopped.clone(), sent.clone());
        async move { signal(&stopped, id, 2, &sent).await }
    });
    // It is gathered and waits for its commit before the time is over.
    eventually("the commit is under way", async || gate.layer().0.available_permits() == 0 && !sending.is_finished())
        .await;
    for _ in 0..1_000 {
        yield_now().await;
    }
    world.clock.advance(Span::minutes(2));
    drop(passes);
    let answer = sending.await.expect("no panic");
    let ended = Rejection::Finished { execution: id, state: PublicState::Failed };
    assert_eq!(answer, Err(Error::Refused(ended)), "it failed at its timeout");
    let found = stopped.get(id).await.expect("answered").expect("it exists");
    assert_eq!(found.waits.map_or(0, |waits| waits.signals), 0, "nothing was recorded");
    stopped.shutdown().await;
}

/// Suspended executions beside which an engine idles.
const SUSPENDED: usize = 10_000;

pub(crate) async fn suspended_work_costs_an_idle_engine_nothing(world: World) {
    let engine = world.engine().await;
    let count = if world.is_served() { SUSPENDED / 10 } else { SUSPENDED };
    let idle = async |engine: &Engine| {
        let before = engine.store().stats();
        for _ in 0..60 {
            world.clock.advance(Span::seconds(1));
            for _ in 0..20 {
                yield_now().await;
            }
        }
        let after = engine.store().stats();
        (after.reads - before.reads, after.rows - before.rows)
    };
    let (reads, rows) = idle(&engine).await;
    let work: Vec<_> = (0..count).map(|_| work("wait")).collect();
    for batch in work.chunks(1_000) {
        engine.submit_many(batch.to_vec()).await.expect("accepted");
    }
    let wants = Wants { max: 500, lease: Span::hours(1), ..worker("w") };
    let (mut suspended, mut command) = (0, 0);
    while suspended < count {
        let claimed = engine.claim(&wants, Span::days(1)).await.expect("answered");
        let each = claimed.iter().map(|one| {
            command += 1;
            let new =
                NewSuspension { timeout: Some(Span::days(30)), ..NewSuspension::new(Condition::wait(callback())) };
            Suspend { command: CommandId(command), fence: one.fence, new: Box::new(new) }
        });
        let answers = engine.run_many(each.collect::<Vec<_>>().into_iter()).await;
        assert!(answers.into_iter().all(|answer| answer.is_ok_and(|answer| answer.met.is_none())));
        suspended += claimed.len();
    }
    // What the work itself left over settles first.
    idle(&engine).await;
    let (reads_beside, rows_beside) = idle(&engine).await;
    let figures = format!("{reads} reads and {rows} rows a minute became {reads_beside} and {rows_beside}");
    // Its heartbeats are more or fewer by the moment; that is little beside the suspended work.
    assert!(reads_beside <= reads + 100 && rows_beside <= rows + 100, "{figures}");
    assert_eq!(engine.counts(&Namespace::default()).await.expect("counted").suspended.n as usize, count);
    engine.shutdown().await;
}
