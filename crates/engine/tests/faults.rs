//! What callers see when the store fails, loses its answers, fills up or stands still.

use async_trait::async_trait;
use onward_core::record::{LaneState, PublicState, SignalEffect, WaitAddress};
use onward_core::{
    Category, Class, CommandId, ExecutionId, Failure, Kind, Lane, LaneChange, Name, Namespace, NewExecution, NewToken,
    PartitionId, Payload, Policy, Reason, RetryPolicy, Span, TagKey, TagValue, TokenText, WorkerName, act, end, limits,
};
use onward_engine::clock::{Chance, Clock, TestClock};
use onward_engine::{Engine, Options, Scope, SignalContent, Wants};
use onward_store::{Batch, Cursor, Error, ErrorKind, LayeredStore, Outcome, Result, Store, StoreLayer, memory::Memory};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tokio::sync::{Semaphore, watch};

/// What the next commits meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Weather {
    Fine,
    /// The commit happens and its answer is lost.
    AnswerLost,
    /// Nothing happens and the store says so.
    Away,
    /// No room is left.
    Full,
    /// Commits happen, and nothing can be read.
    Blind,
    /// The next batch travels on after its sender was told that its outcome is unknown.
    Late,
}

/// Weather around a store, and gates that hold commits and reads back.
#[derive(Debug)]
struct Moody {
    weather: watch::Sender<Weather>,
    gate: Semaphore,
    /// The same for the answers of commits that have happened.
    answers: Semaphore,
    /// The same for reads.
    reads: Semaphore,
    /// Batches that travel on.
    late: Mutex<Vec<Batch>>,
    /// How many commits have happened.
    commits: AtomicUsize,
    /// How often something was to be read.
    asked: AtomicUsize,
}

#[async_trait]
impl StoreLayer for Moody {
    async fn commit(&self, inner: &dyn Store, group: Vec<Batch>) -> Result<Vec<Outcome>> {
        let _pass = self.gate.acquire().await;
        let weather = *self.weather.borrow();
        match weather {
            Weather::Fine | Weather::Blind => {
                let outcomes = inner.commit(group).await;
                self.commits.fetch_add(1, Ordering::Relaxed);
                let _pass = self.answers.acquire().await;
                outcomes
            }
            Weather::Late => {
                self.late.lock().expect("no panic").extend(group);
                self.weather.send_replace(Weather::Fine);
                Err(Error::new(ErrorKind::Unavailable, "the connection broke"))
            }
            Weather::AnswerLost => {
                inner.commit(group).await?;
                self.weather.send_replace(Weather::Fine);
                Err(Error::new(ErrorKind::Unavailable, "the connection broke"))
            }
            Weather::Away => Err(Error::new(ErrorKind::Unavailable, "the store is away").unwritten()),
            Weather::Full => Err(Error::new(ErrorKind::Full, "no room is left").unwritten()),
        }
    }

    async fn read(&self) -> Result<()> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let _pass = self.reads.acquire().await;
        let weather = *self.weather.borrow();
        match weather {
            Weather::Blind => Err(Error::new(ErrorKind::Unavailable, "the store cannot be read")),
            _ => Ok(()),
        }
    }
}

struct Stage {
    clock: TestClock,
    memory: Memory,
    store: Arc<LayeredStore<Moody>>,
    engine: Engine,
}

impl Stage {
    /// A second process on the same store, whose connection never fails.
    async fn second(&self) -> Engine {
        let options = Options { clock: Arc::new(self.clock.clone()), ..Options::default() };
        Engine::start(Arc::new(self.memory.handle()), options).await.expect("the engine starts")
    }
}

async fn stage(partitions: u16, scope: Option<Scope>) -> Stage {
    stage_of(partitions, Options { scope, ..Options::default() }).await
}

async fn stage_of(partitions: u16, options: Options) -> Stage {
    let clock = TestClock::at(onward_core::Millis(1_700_000_000_000));
    let store_clock = clock.clone();
    let memory = Memory::new(partitions, Arc::new(move || store_clock.now().0), 1);
    let inner = memory.handle();
    let moody = Moody {
        weather: watch::Sender::new(Weather::Fine),
        gate: Semaphore::new(1_000),
        answers: Semaphore::new(1_000),
        reads: Semaphore::new(1_000),
        late: Mutex::new(Vec::new()),
        commits: AtomicUsize::new(0),
        asked: AtomicUsize::new(0),
    };
    let store = Arc::new(LayeredStore::new(Arc::new(inner), moody));
    let options = Options { clock: Arc::new(clock.clone()), ..options };
    let engine = Engine::start(store.clone(), options).await.expect("the engine starts");
    Stage { clock, memory, store, engine }
}

fn work() -> NewExecution {
    NewExecution::new(Kind::parse("k").expect("a kind"), Payload::null())
}

fn worker() -> Wants {
    Wants {
        namespace: Namespace::default(),
        lanes: vec![Lane::default()],
        kinds: None,
        capabilities: Class::default(),
        worker: WorkerName::parse("w").expect("a name"),
        build: None,
        lease: Span::seconds(10),
        max: 10,
    }
}

/// Moves the clock until a call ends, so that pauses and deadlines pass.
async fn ends<T: Send + 'static>(stage: &Stage, call: impl Future<Output = T> + Send + 'static) -> T {
    let call = tokio::spawn(call);
    while !call.is_finished() {
        stage.clock.advance(Span(10));
        tokio::task::yield_now().await;
    }
    call.await.expect("the call ends")
}

#[tokio::test]
async fn a_lost_answer_is_asked_for_again_and_nothing_happens_twice() {
    let stage = stage(4, None).await;
    stage.store.layer().weather.send_replace(Weather::AnswerLost);
    let engine = stage.engine.clone();
    let submitted = ends(&stage, async move { engine.submit(work()).await }).await.expect("accepted");
    assert!(submitted.created, "the repeat finds itself");
    let claimed = stage.engine.claim(&worker(), Span(0)).await.expect("answered");
    assert_eq!(claimed.len(), 1, "one execution, not two");
    stage.store.layer().weather.send_replace(Weather::AnswerLost);
    let (engine, fence) = (stage.engine.clone(), claimed[0].fence);
    ends(&stage, async move { engine.complete(fence, Payload::null()).await }).await.expect("completed");
    assert_eq!(stage.engine.metrics().unknown_outcomes, 2);
    let feed = stage.store.read_feed(&Cursor::start(), 100).await.expect("answered");
    assert_eq!(feed.events.len(), 3, "submitted, claimed, completed, once each");
}

#[tokio::test]
async fn a_store_that_is_away_is_waited_for_until_the_deadline() {
    let stage = stage(4, None).await;
    stage.store.layer().weather.send_replace(Weather::Away);
    let engine = stage.engine.clone();
    let error = ends(&stage, async move { engine.submit(work()).await }).await.expect_err("given up");
    assert_eq!(error.code(), "store_unavailable");
    let engine = stage.engine.clone();
    let call = tokio::spawn(async move { engine.submit(work()).await });
    tokio::task::yield_now().await;
    stage.store.layer().weather.send_replace(Weather::Fine);
    ends(&stage, async move { call.await.expect("ends") }).await.expect("accepted once the store is back");
    assert_eq!(stage.engine.claim(&worker(), Span(0)).await.expect("answered").len(), 1);
}

#[tokio::test]
async fn whoever_waits_for_an_end_does_so_while_the_store_cannot_be_read() {
    let stage = stage(4, None).await;
    let id = stage.engine.submit(work()).await.expect("accepted").id;
    stage.store.layer().weather.send_replace(Weather::Blind);
    let waiting = |time| {
        let engine = stage.engine.clone();
        async move { engine.wait(id, time).await }
    };
    let error = ends(&stage, waiting(Span::seconds(5))).await.expect_err("given up when its time was up");
    assert_eq!(error.code(), "store_unavailable");
    let call = tokio::spawn(waiting(Span::seconds(5)));
    settle().await;
    stage.store.layer().weather.send_replace(Weather::Fine);
    let found = ends(&stage, async move { call.await.expect("ends") }).await.expect("answered once the store is back");
    assert_eq!(found.expect("it is there").public_state(), PublicState::Waiting);
}

/// Lets a task go on until it waits for something outside.
async fn settle() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_claim_that_finds_the_store_being_read_goes_on_when_it_was_read() {
    let stage = stage(4, None).await;
    stage.engine.submit_many(vec![work(), work()]).await.expect("accepted");
    // A second engine knows nothing of the work, so that its first claim has to read.
    let options = Options { clock: Arc::new(stage.clock.clone()), ..Options::default() };
    let engine = Engine::start(stage.store.clone(), options).await.expect("the engine starts");
    settle().await;
    let held = stage.store.layer().reads.acquire_many(1_000).await.expect("a gate");
    let (wants, asked) = (Wants { max: 1, ..worker() }, stage.store.layer().asked.load(Ordering::Relaxed));
    let claims = [0, 1].map(|_| {
        let (engine, wants) = (engine.clone(), wants.clone());
        tokio::spawn(async move { engine.claim(&wants, Span(0)).await })
    });
    settle().await;
    assert!(claims.iter().all(|claim| !claim.is_finished()));
    assert_eq!(stage.store.layer().asked.load(Ordering::Relaxed), asked + 1, "one reads and one waits for it");
    drop(held);
    for claim in claims {
        assert_eq!(claim.await.expect("ends").expect("answered").len(), 1);
    }
}

/// A unique key is absent, taken, and free again while a batch that expects it to be absent is in flight.
#[tokio::test]
async fn what_was_answered_as_a_duplicate_never_happens() {
    let stage = stage(1, None).await;
    let other = stage.second().await;
    let unique = NewExecution { unique_key: Some("only".parse().expect("a key")), ..work() };
    // From here on the queue is registered, so that the key is the only record to conflict on.
    stage.engine.submit(work()).await.expect("accepted");
    stage.store.layer().weather.send_replace(Weather::Late);
    let (engine, submit) = (stage.engine.clone(), stage.engine.address(unique.clone()));
    let own = submit.id;
    let call = tokio::spawn(async move { engine.run(submit).await });
    settle().await;
    let holder = other.submit(unique).await.expect("accepted");
    assert!(holder.created && !call.is_finished());
    let answer = ends(&stage, async move { call.await.expect("ends") }).await.expect("answered");
    assert_eq!((answer.id, answer.created), (holder.id, false), "the key is taken");
    other.operate(&Namespace::default(), holder.id, act::Cancel::default()).await.expect("cancelled");
    let late = std::mem::take(&mut *stage.store.layer().late.lock().expect("no panic"));
    assert_eq!(late.len(), 1);
    let outcomes = stage.memory.commit(late).await.expect("answered");
    assert!(matches!(outcomes[..], [Outcome::Conflict { .. }]), "{outcomes:?}");
    assert!(stage.engine.get(own).await.expect("answered").is_none(), "its caller was told of another");
}

/// A completion and a replay of the same execution share a batch whose answer is lost, and run again one after the other, in
/// an order that is chance. Whenever the replay is refused first, the lost batch must not be written any more.
#[tokio::test]
async fn what_was_refused_never_happens_although_its_batch_travels_on() {
    let mut refused_first = 0;
    for seed in 0..20 {
        let stage = stage_of(1, Options { chance: Arc::new(Chance::seeded(seed)), ..Options::default() }).await;
        let id = stage.engine.submit(work()).await.expect("accepted").id;
        let fence = stage.engine.claim(&worker(), Span(0)).await.expect("answered").remove(0).fence;
        stage.store.layer().weather.send_replace(Weather::Late);
        let (one, other) = (stage.engine.clone(), stage.engine.clone());
        let replay = act::Replay::new(Reason::new("once more"), None);
        let complete = tokio::spawn(async move { one.complete(fence, Payload::null()).await });
        let replay = tokio::spawn(async move { other.operate(&Namespace::default(), id, replay).await });
        while !replay.is_finished() {
            stage.clock.advance(Span(1));
            settle().await;
        }
        let is_first = !complete.is_finished();
        let late = std::mem::take(&mut *stage.store.layer().late.lock().expect("no panic"));
        assert_eq!((late.len(), late[0].put.len()), (1, 1), "both were in one batch");
        let outcomes = stage.memory.commit(late).await.expect("answered");
        assert!(matches!(outcomes[..], [Outcome::Conflict { .. }]), "{seed}: {outcomes:?}");
        if let Err(error) = replay.await.expect("ends") {
            assert_eq!(error.code(), "execution_not_finished");
            refused_first += u32::from(is_first);
        }
        ends(&stage, async move { complete.await.expect("ends") }).await.expect("completed");
    }
    assert!((1..20).contains(&refused_first), "{refused_first} of 20");
}

#[tokio::test]
async fn work_that_is_claimed_and_revoked_in_one_commit_is_offered_again() {
    let stage = stage(1, None).await;
    // From here on the queue is known, so that a claim need not read the store first.
    assert!(stage.engine.claim(&worker(), Span(0)).await.expect("answered").is_empty());
    let id = stage.engine.submit(work()).await.expect("accepted").id;
    let commits = stage.engine.metrics().commits;
    let (wants, namespace) = (worker(), Namespace::default());
    let revoke = act::Revoke { lease: None, reason: Reason::new("needed elsewhere") };
    let claim = stage.engine.claim(&wants, Span(0));
    let (claimed, revoked) = tokio::join!(claim, stage.engine.operate(&namespace, id, revoke));
    assert_eq!(claimed.expect("answered").len(), 1);
    revoked.expect("revoked");
    assert_eq!(stage.engine.metrics().commits, commits + 1, "both in one commit");
    let again = stage.engine.claim(&worker(), Span(0)).await.expect("answered");
    assert_eq!(again.len(), 1, "no sweep has passed");
    assert_eq!((again[0].fence.execution, again[0].fence.attempt), (id, 2));
}

/// The answer of a refused claim arrives behind the news, from another process, that the lane is open.
#[tokio::test]
async fn an_old_answer_does_not_put_an_opened_lane_to_sleep() {
    let stage = stage(1, None).await;
    let other = stage.second().await;
    let set = |engine: &Engine, state| {
        let (engine, change) = (engine.clone(), LaneChange { state: Some(state), ..LaneChange::default() });
        async move { engine.set_lane(&Namespace::default(), &Lane::default(), change).await }
    };
    ends(&stage, set(&other, LaneState::Paused)).await.expect("paused");
    let id = stage.engine.submit(work()).await.expect("accepted").id;
    let layer = stage.store.layer();
    let held = layer.answers.acquire_many(1_000).await.expect("a gate");
    let (engine, before) = (stage.engine.clone(), layer.commits.load(Ordering::Relaxed));
    // Shorter than the time between two sweeps.
    let claim = tokio::spawn(async move { engine.claim(&worker(), Span::seconds(5)).await });
    while layer.commits.load(Ordering::Relaxed) == before {
        tokio::task::yield_now().await;
    }
    ends(&stage, set(&other, LaneState::Open)).await.expect("open everywhere");
    for _ in 0..20 {
        stage.clock.advance(Span(1));
        settle().await;
    }
    drop(held);
    let claimed = ends(&stage, async move { claim.await.expect("ends") }).await.expect("answered");
    assert_eq!(claimed.iter().map(|work| work.fence.execution).collect::<Vec<_>>(), [id]);
}

#[tokio::test]
async fn a_lane_is_changed_everywhere_while_nothing_can_be_read() {
    let stage = stage(4, None).await;
    let change = |state: LaneState| {
        let engine = stage.engine.clone();
        let change = LaneChange { state: Some(state), ..LaneChange::default() };
        async move { engine.set_lane(&Namespace::default(), &Lane::default(), change).await }
    };
    let first = ends(&stage, change(LaneState::Paused)).await.expect("all records are at hand from here on");
    stage.store.layer().weather.send_replace(Weather::Blind);
    let committed = stage.engine.metrics().commits;
    // What was just written is delivered from memory, and the commit that clears the last debt tells the caller.
    let second = ends(&stage, change(LaneState::Open)).await.expect("changed");
    assert!(second > first && stage.engine.metrics().commits > committed);
}

#[tokio::test]
async fn a_full_store_refuses_at_once_and_heals() {
    let stage = stage(4, None).await;
    stage.store.layer().weather.send_replace(Weather::Full);
    assert_eq!(stage.engine.submit(work()).await.expect_err("refused").code(), "store_full");
    stage.store.layer().weather.send_replace(Weather::Fine);
    stage.engine.submit(work()).await.expect("accepted");
}

#[tokio::test]
async fn an_overloaded_partition_turns_new_work_away_but_takes_completions() {
    let stage = stage(1, None).await;
    stage.engine.submit(work()).await.expect("accepted");
    let held = stage.engine.claim(&worker(), Span(0)).await.expect("answered").remove(0);
    let closed = stage.store.layer().gate.acquire_many(1_000).await.expect("the gate closes");
    let calls: Vec<_> = (0..6_000)
        .map(|_| {
            let engine = stage.engine.clone();
            tokio::spawn(async move { engine.submit(work()).await })
        })
        .collect();
    while stage.engine.metrics().overloaded == 0 {
        tokio::task::yield_now().await;
    }
    let engine = stage.engine.clone();
    let complete = tokio::spawn(async move { engine.complete(held.fence, Payload::null()).await });
    tokio::task::yield_now().await;
    drop(closed);
    complete.await.expect("ends").expect("the reserve takes it");
    let (mut accepted, mut refused) = (0, 0);
    for call in calls {
        match call.await.expect("ends") {
            Ok(_) => accepted += 1,
            Err(error) => {
                assert_eq!(error.code(), "overloaded");
                refused += 1;
            }
        }
    }
    assert!(accepted >= 4_096 && refused > 0, "{accepted} accepted, {refused} refused");
}

#[tokio::test]
async fn large_commands_are_turned_away_by_their_bytes() {
    let stage = stage(1, None).await;
    stage.engine.submit(work()).await.expect("accepted");
    let held = stage.engine.claim(&worker(), Span(0)).await.expect("answered").remove(0);
    let closed = stage.store.layer().gate.acquire_many(1_000).await.expect("the gate closes");
    let payload = Payload::of(&"x".repeat(limits::PAYLOAD_BYTES_MAX - 2)).expect("a payload");
    let large = NewExecution::new(Kind::parse("k").expect("a kind"), payload.clone());
    let calls: Vec<_> = (0..100)
        .map(|_| {
            let (engine, large) = (stage.engine.clone(), large.clone());
            tokio::spawn(async move { engine.submit(large).await })
        })
        .collect();
    while stage.engine.metrics().overloaded == 0 {
        tokio::task::yield_now().await;
    }
    let engine = stage.engine.clone();
    let complete = tokio::spawn(async move { engine.complete(held.fence, payload).await });
    tokio::task::yield_now().await;
    drop(closed);
    complete.await.expect("ends").expect("the reserve takes it");
    let (mut accepted, mut refused) = (0, 0);
    for call in calls {
        match call.await.expect("ends") {
            Ok(_) => accepted += 1,
            Err(error) => {
                assert_eq!(error.code(), "overloaded");
                refused += 1;
            }
        }
    }
    assert!(accepted * limits::PAYLOAD_BYTES_MAX <= limits::QUEUE_BYTES_MAX && refused > 0, "{accepted}, {refused}");
    assert!(accepted * limits::PAYLOAD_BYTES_MAX * 2 > limits::QUEUE_BYTES_MAX, "{accepted} accepted");
    for _ in 0..2 {
        stage.engine.submit(large.clone()).await.expect("what was answered takes no room");
    }
}

#[tokio::test]
async fn a_scope_leaves_other_work_alone() {
    let tag = (TagKey::parse("team").expect("a key"), TagValue::parse("blue").expect("a value"));
    let scope = Scope { namespace: Some(Namespace::default()), tag: Some(tag.clone()) };
    let stage = stage(4, Some(scope)).await;
    let delayed = NewExecution { delay: Some(Span::seconds(5)), ..work() };
    let inside = NewExecution { tags: [tag].into(), ..delayed.clone() };
    let outside = stage.engine.submit(delayed).await.expect("accepted").id;
    let inside = stage.engine.submit(inside).await.expect("accepted").id;
    stage.clock.advance(Span::seconds(5));
    let claimed = stage.engine.claim(&worker(), Span::hours(1)).await.expect("answered");
    assert_eq!(claimed[0].fence.execution, inside);
    let other = stage.engine.get(outside).await.expect("answered").expect("exists");
    assert_eq!(other.public_state().as_str(), "delayed", "somebody else looks after it");
}

/// Keys have no tags: every process of their namespace looks after them, whatever its scope says about tags.
#[tokio::test]
async fn a_scope_covers_the_keys_of_its_namespace() {
    let tag = (TagKey::parse("team").expect("a key"), TagValue::parse("blue").expect("a value"));
    for (namespace, covered) in [("default", true), ("acme", false)] {
        let scope = Scope { namespace: Some(namespace.parse().expect("a name")), tag: Some(tag.clone()) };
        let stage = stage(1, Some(scope)).await;
        let policy = Policy { dedup_window: Some(limits::DEDUP_WINDOW_MIN), ..Policy::default() };
        let new = NewExecution { policy, ..work() };
        let unique = NewExecution { unique_key: Some("only".parse().expect("a key")), ..new.clone() };
        let keyed = NewExecution { idempotency_key: Some("order".parse().expect("a key")), ..new };
        let ends_now = stage.engine.submit(unique).await.expect("accepted").id;
        stage.engine.submit(keyed).await.expect("accepted");
        let cancel = act::Cancel::default();
        stage.engine.operate(&Namespace::default(), ends_now, cancel).await.expect("cancelled");
        let keys = || {
            let is_key =
                |key: &&onward_store::Key| ["unique/", "key/"].iter().any(|kind| key.as_str().starts_with(kind));
            stage.memory.snapshot().records.keys().filter(is_key).count()
        };
        assert_eq!(keys(), 2);
        stage.clock.advance(limits::DEDUP_WINDOW_MIN);
        stage.clock.advance(limits::REPEAT_WINDOW);
        for _ in 0..60 {
            stage.clock.advance(Span::seconds(1));
            settle().await;
        }
        assert_eq!(keys(), if covered { 0 } else { 2 }, "a process of {namespace}");
        let metrics = stage.engine.metrics();
        assert_eq!((metrics.unique_expiry, metrics.idempotency_expiry), if covered { (1, 1) } else { (0, 0) });
    }
}

/// The errand that removes what belongs to a purged execution is in scope with the execution, whose tags stay to the end.
#[tokio::test]
async fn a_scope_covers_the_errands_of_its_executions() {
    let tag = (TagKey::parse("team").expect("a key"), TagValue::parse("blue").expect("a value"));
    for covered in [true, false] {
        let scope = Scope { namespace: None, tag: Some(tag.clone()) };
        let stage = stage(1, Some(scope)).await;
        let tags = if covered { [tag.clone()].into() } else { BTreeMap::new() };
        let retry = Some(RetryPolicy::fixed(limits::RETRIES_MAX, Span(0)));
        let policy = Policy { retry, ..Policy::default() };
        let id = stage.engine.submit(NewExecution { tags, policy, ..work() }).await.expect("accepted").id;
        for _ in 0..2 * limits::PURGE_AT_ONCE {
            let held = stage.engine.claim(&worker(), Span(0)).await.expect("answered").remove(0);
            stage
                .engine
                .report(held.fence, end::Fail { failure: Failure::new(Category::transient(), "again") })
                .await
                .expect("failed");
        }
        stage.engine.operate(&Namespace::default(), id, act::Cancel::default()).await.expect("cancelled");
        stage.engine.operate(&Namespace::default(), id, act::Purge {}).await.expect("purged");
        let left = || {
            let name = format!("{id}/");
            stage.memory.snapshot().records.keys().filter(|key| key.as_str().starts_with(&name)).count()
        };
        for _ in 0..120 {
            stage.clock.advance(Span::seconds(1));
            settle().await;
        }
        assert_eq!(left() == 0, covered, "{} are left", left());
    }
}

#[tokio::test]
async fn a_clock_that_runs_ahead_expires_nothing_early() {
    let clock = TestClock::at(onward_core::Millis(1_700_000_000_000));
    let store_clock = clock.clone();
    let store = Arc::new(Memory::new(4, Arc::new(move || store_clock.now().0), 1));
    let ahead = TestClock::at(onward_core::Millis(1_700_000_000_000 + 3_600_000));
    let engine = |clock: &TestClock| {
        let options = Options { clock: Arc::new(clock.clone()), ..Options::default() };
        Engine::start(store.clone(), options)
    };
    let (right, wrong) = (engine(&clock).await.expect("starts"), engine(&ahead).await.expect("starts"));
    right.submit(work()).await.expect("accepted");
    let held = right.claim(&worker(), Span(0)).await.expect("answered").remove(0);
    for _ in 0..50 {
        ahead.advance(Span::seconds(20));
        tokio::task::yield_now().await;
    }
    wrong.renew(&[held.fence], Span::seconds(10)).await.remove(0).expect("the lease lives by the store's clock");
    right.complete(held.fence, Payload::null()).await.expect("completed");
}

/// An engine whose clock is wrong by an hour, either way, learns the store's time before it writes any.
#[tokio::test]
async fn a_clock_that_is_wrong_by_an_hour_writes_no_wrong_times() {
    let (right, hour) = (onward_core::Millis(1_700_000_000_000), Span::hours(1));
    for wrong in [right + hour, right - hour] {
        let store = Arc::new(Memory::new(4, Arc::new(move || right.0), 1));
        let options = Options { clock: Arc::new(TestClock::at(wrong)), ..Options::default() };
        let engine = Engine::start(store, options).await.expect("the engine starts");
        let later = NewExecution { delay: Some(Span::seconds(10)), ..work() };
        let id = engine.submit(later).await.expect("accepted").id;
        let execution = engine.get(id).await.expect("answered").expect("it exists");
        assert_eq!(execution.created_at, right);
        let Some(due) = onward_core::index::due(&onward_core::record::Record::Execution(execution.into())) else {
            panic!("a delay has an end")
        };
        assert_eq!(due, right + Span::seconds(10), "a delay counts from the store's time");
        assert!(engine.metrics().outside > 0, "the wrong time was tried first");
    }
}

/// Records for the next batch are read while the previous one is committed. Its callers do not wait for those records.
#[tokio::test]
async fn an_answer_does_not_wait_for_the_records_of_the_next_batch() {
    let Stage { store, engine, .. } = stage(1, None).await;
    engine.submit(work()).await.expect("the lane and the class are in the cache");
    let moody = store.layer();
    let held = moody.gate.acquire_many(1_000).await.expect("commits are held back");
    let first = tokio::spawn({
        let engine = engine.clone();
        async move { engine.submit(work()).await }
    });
    settle().await;
    let blind = moody.reads.acquire_many(1_000).await.expect("reads are held back");
    let asked = moody.asked.load(Ordering::Relaxed);
    let others = (0..32).map(|n| {
        let unknown = ExecutionId::new(uuid::Uuid::from_u128(n), PartitionId(0));
        let engine = engine.clone();
        tokio::spawn(async move { engine.operate(&Namespace::default(), unknown, act::Cancel::default()).await })
    });
    let others: Vec<_> = others.collect();
    while moody.asked.load(Ordering::Relaxed) == asked {
        tokio::task::yield_now().await;
    }
    drop(held);
    settle().await;
    assert!(first.is_finished(), "it is answered while the records of the others cannot be read");
    first.await.expect("no panic").expect("accepted");
    drop(blind);
    for other in others {
        assert_eq!(other.await.expect("no panic").expect_err("there is none").code(), "execution_not_found");
    }
}

/// An execution, and a token for a wait of it.
async fn minted(engine: &Engine) -> (ExecutionId, TokenText) {
    let id = engine.submit(work()).await.expect("accepted").id;
    let new = NewToken::new("approval".parse::<WaitAddress>().expect("a wait"), "ada".parse().expect("a name"));
    let minted = engine.mint_token(&Namespace::default(), id, &new, None).await.expect("made");
    (id, minted.token)
}

#[tokio::test]
async fn callers_that_leave_do_not_have_the_token_keys_read_again_and_again() {
    let stage = stage(4, None).await;
    let (_, token) = minted(&stage.engine).await;
    stage.clock.advance(Span::seconds(2));
    settle().await;
    let held = stage.store.layer().reads.acquire_many(1_000).await.expect("a gate");
    let asked = stage.store.layer().asked.load(Ordering::Relaxed);
    for _ in 0..100 {
        let (engine, token) = (stage.engine.clone(), token.clone());
        let caller = tokio::spawn(async move { engine.verify_token(&token).await });
        settle().await;
        caller.abort();
    }
    assert_eq!(stage.store.layer().asked.load(Ordering::Relaxed), asked + 1, "one read goes on for all of them");
    drop(held);
    stage.engine.verify_token(&token).await.expect("it is good");
    assert_eq!(stage.store.layer().asked.load(Ordering::Relaxed), asked + 1, "and serves the next");

    // A failure is an answer, too, for as long.
    stage.clock.advance(Span::seconds(2));
    settle().await;
    stage.store.layer().weather.send_replace(Weather::Blind);
    let asked = stage.store.layer().asked.load(Ordering::Relaxed);
    for _ in 0..100 {
        assert_eq!(stage.engine.verify_token(&token).await.expect_err("unread").code(), "store_unavailable");
    }
    assert_eq!(stage.store.layer().asked.load(Ordering::Relaxed), asked + 1);
}

#[tokio::test]
async fn a_process_that_stood_still_accepts_no_token_of_a_key_that_was_ended() {
    let stage = stage(4, None).await;
    let second = stage.second().await;
    let (id, token) = minted(&stage.engine).await;
    stage.engine.verify_token(&token).await.expect("it is good");
    let held = stage.store.layer().gate.acquire_many(1_000).await.expect("a gate");
    let engine = stage.engine.clone();
    let sending = tokio::spawn(async move { engine.signal_by_token(&token, &SignalContent::default()).await });
    settle().await;
    second.rotate_token_keys(CommandId(7), Span(0), None).await.expect("rotated");
    stage.clock.advance(limits::TOKEN_PROOF_AGE);
    drop(held);
    let answer = ends(&stage, async move { sending.await.expect("no panic") }).await;
    assert_eq!(answer.expect_err("its key was ended").code(), "token_expired");
    let execution = second.get(id).await.expect("answered").expect("it exists");
    assert_eq!(execution.waits, None, "nothing was accepted");
}

#[tokio::test]
async fn a_token_that_is_good_is_accepted_however_long_its_commit_takes() {
    let stage = stage(4, None).await;
    let (id, token) = minted(&stage.engine).await;
    let held = stage.store.layer().gate.acquire_many(1_000).await.expect("a gate");
    let engine = stage.engine.clone();
    let sending = tokio::spawn(async move { engine.signal_by_token(&token, &SignalContent::default()).await });
    settle().await;
    stage.clock.advance(limits::TOKEN_PROOF_AGE + Span::seconds(5));
    drop(held);
    let answer = ends(&stage, async move { sending.await.expect("no panic") }).await;
    assert_eq!(answer.expect("its key is good").effect, SignalEffect::Buffered);
    let execution = stage.engine.get(id).await.expect("answered").expect("it exists");
    assert_eq!(execution.waits.map_or(0, |waits| waits.signals), 1);
}
