//! Trouble with the store: reports are repeated under the same id while the lease is held.

use async_trait::async_trait;
use onward::call::{Ask, Ending};
use onward::engine::clock::Clock;
use onward::store::memory::Memory;
use onward::store::{Batch, Error, ErrorKind, LayeredStore, Outcome, Result, Store, StoreLayer, system_clock};
use onward::testing::TestClock;
use onward::wire::KeyInfo;
use onward::{Client, ClientOptions, Context, EventFilter, ExecutionId, Failed, FindFilter, PublicState, Span, Worker};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;

/// A disk that can be full.
#[derive(Debug)]
struct Filling {
    /// Commits that still fail.
    full_for: AtomicU32,
}

#[async_trait]
impl StoreLayer for Filling {
    async fn commit(&self, inner: &dyn Store, group: Vec<Batch>) -> Result<Vec<Outcome>> {
        let left = self.full_for.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        if left.is_ok() {
            return Err(Error::new(ErrorKind::Full, "the disk is full").unwritten());
        }
        inner.commit(group).await
    }
}

/// A store that can be away to whoever reads.
#[derive(Debug, Default)]
struct Away {
    is_away: AtomicBool,
    /// How often it was when somebody came.
    found_away: AtomicU32,
}

#[async_trait]
impl StoreLayer for Away {
    async fn commit(&self, inner: &dyn Store, group: Vec<Batch>) -> Result<Vec<Outcome>> {
        inner.commit(group).await
    }

    async fn read(&self) -> Result<()> {
        if !self.is_away.load(Ordering::SeqCst) {
            return Ok(());
        }
        self.found_away.fetch_add(1, Ordering::SeqCst);
        Err(Error::new(ErrorKind::Unavailable, "the store is away").unwritten())
    }
}

/// Every way to look at one execution that waits; each answers whether it saw it.
async fn look(client: Client, id: ExecutionId, way: usize) -> std::result::Result<bool, onward::Error> {
    let filter = FindFilter { states: [PublicState::Waiting].into(), ..FindFilter::default() };
    Ok(match way {
        0 => client.get(id).await?.is_some(),
        1 => client.input(id).await?.is_some(),
        2 => client.attempts(id).await?.is_empty(),
        3 => client.history(id).await?.len() == 1,
        4 => client.why(id).await?.state == PublicState::Waiting,
        5 => client.find(&filter, None, 10).await?.executions.len() == 1,
        6 => client.counts().await?.total.n == 1,
        7 => client.lanes().await?[0].ready == 1,
        8 => client.ask::<Vec<KeyInfo>>(Ask::Keys).await?.is_empty(),
        9 => matches!(client.ending(id, Duration::ZERO).await?, Ending::None(PublicState::Waiting)),
        10 => matches!(client.ending(id, Duration::from_secs(1)).await?, Ending::None(PublicState::Waiting)),
        _ => client.events(EventFilter::default(), None).next_now().await?.is_some(),
    })
}

#[tokio::test]
async fn a_store_that_is_away_is_waited_for_by_whoever_looks() {
    for way in 0..=11 {
        let clock = TestClock::at(onward::Millis(1_800_000_000_000));
        let held = clock.clone();
        let inner = Memory::new(8, Arc::new(move || held.now().0), 1);
        let store = Arc::new(LayeredStore::new(Arc::new(inner), Away::default()));
        let options = ClientOptions { clock: Arc::new(clock.clone()), ..ClientOptions::default() };
        let client = Client::on_store(store.clone(), options).await.unwrap();
        let id = client.submit("rest", &()).await.unwrap().id;
        store.layer().is_away.store(true, Ordering::SeqCst);
        let mut call = tokio::spawn(look(client.clone(), id, way));
        while !call.is_finished() {
            clock.advance(Span(50));
            tokio::task::yield_now().await;
        }
        let error = (&mut call).await.unwrap().expect_err("its time is up");
        assert_eq!(error.code(), "store_unavailable", "way {way}");
        let tries = store.layer().found_away.load(Ordering::SeqCst);
        let error = look(client.clone().without_read_retries(), id, way)
            .await
            .expect_err("a server's callers repeat it themselves");
        assert_eq!(error.code(), "store_unavailable", "way {way}");
        let before = store.layer().found_away.load(Ordering::SeqCst);
        let call = tokio::spawn(look(client.clone(), id, way));
        crate::world::within(async {
            while store.layer().found_away.load(Ordering::SeqCst) < before + 2 {
                tokio::task::yield_now().await;
            }
            store.layer().is_away.store(false, Ordering::SeqCst);
            // A rest between tries takes its own time, whoever holds the clock.
            while !call.is_finished() {
                clock.advance(Span(u64::from(way == 10)));
                tokio::task::yield_now().await;
            }
            assert!(call.await.unwrap().unwrap(), "way {way}, once the store is back after {tries} tries");
        })
        .await;
        client.shutdown().await.unwrap();
    }
}

#[tokio::test]
async fn a_disk_that_fills_up_while_a_handler_ends_costs_no_second_attempt() {
    let store = Arc::new(LayeredStore::new(
        Arc::new(Memory::new(8, system_clock(), 1)),
        Filling { full_for: AtomicU32::new(0) },
    ));
    let client = Client::on_store(store.clone(), ClientOptions::default()).await.unwrap();
    for failing in [false, true] {
        let disk = store.clone();
        let fill = move |ctx: Context, (): ()| {
            disk.layer().full_for.store(3, Ordering::SeqCst);
            async move { if failing { Err(Failed::permanent("in vain")) } else { Ok(ctx.attempt()) } }
        };
        let worker = Worker::new(&client).on("fill", fill).start().unwrap();
        let id = client.submit("fill", &()).await.unwrap().id;
        let done = crate::world::within(async {
            loop {
                let found = client.get(id).await.unwrap().unwrap();
                if found.finished_at.is_some() {
                    return found;
                }
                tokio::task::yield_now().await;
            }
        })
        .await;
        let expected = if failing { PublicState::Failed } else { PublicState::Completed };
        assert_eq!((done.state, done.attempts, done.reclaims), (expected, 1, 0));
        assert_eq!(store.layer().full_for.load(Ordering::SeqCst), 0, "the disk was full three times");
        worker.drain().await.unwrap();
    }
}

#[tokio::test]
async fn a_handler_is_told_of_its_lost_lease_even_when_the_store_is_away() {
    let clock = TestClock::at(onward::Millis(1_800_000_000_000));
    let held = clock.clone();
    let inner = Memory::new(8, Arc::new(move || held.now().0), 1);
    let store = Arc::new(LayeredStore::new(Arc::new(inner), Filling { full_for: AtomicU32::new(0) }));
    let options = ClientOptions { clock: Arc::new(clock.clone()), ..ClientOptions::default() };
    let client = Client::on_store(store.clone(), options).await.unwrap();
    let (said, mut hears) = mpsc::unbounded_channel();
    let wait = move |ctx: Context, (): ()| {
        let said = said.clone();
        async move {
            said.send("started").unwrap();
            if ctx.attempt() == 1 {
                ctx.cancelled().await;
                said.send("cancelled").unwrap();
            }
            Ok::<_, Failed>(ctx.attempt())
        }
    };
    let worker = Worker::new(&client).on("wait", wait).start().unwrap();
    let id = client.submit("wait", &()).await.unwrap().id;
    crate::world::within(async {
        assert_eq!(hears.recv().await, Some("started"));
        store.layer().full_for.store(u32::MAX, Ordering::SeqCst);
        clock.advance(Span::seconds(30));
        assert_eq!(hears.recv().await, Some("cancelled"));
        assert_eq!(client.get(id).await.unwrap().unwrap().state, PublicState::Active, "the store knows nothing of it");
        store.layer().full_for.store(0, Ordering::SeqCst);
        // The engine looks at the lease again after a pause.
        while client.get(id).await.unwrap().unwrap().state == PublicState::Active {
            clock.advance(Span(100));
            tokio::task::yield_now().await;
        }
        assert_eq!(hears.recv().await, Some("started"));
        worker.drain().await.unwrap();
    })
    .await;
    assert_eq!(client.result::<u32>(id).await.unwrap(), Some(2));
}
