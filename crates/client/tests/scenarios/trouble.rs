//! Trouble with the store: reports are repeated under the same id while the lease is held.

use async_trait::async_trait;
use onward::engine::clock::Clock;
use onward::store::memory::Memory;
use onward::store::{Around, Batch, Error, ErrorKind, Layer, Outcome, Result, Store, system_clock};
use onward::testing::TestClock;
use onward::{Client, ClientOptions, Context, Failed, PublicState, Span, Worker};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tokio::sync::mpsc;

/// A disk that can be full.
#[derive(Debug)]
struct Filling {
    /// Commits that still fail.
    full_for: AtomicU32,
}

#[async_trait]
impl Layer for Filling {
    async fn commit(&self, inner: &dyn Store, group: Vec<Batch>) -> Result<Vec<Outcome>> {
        let left = self.full_for.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        if left.is_ok() {
            return Err(Error::new(ErrorKind::Full, "the disk is full").unwritten());
        }
        inner.commit(group).await
    }
}

#[tokio::test]
async fn a_disk_that_fills_up_while_a_handler_ends_costs_no_second_attempt() {
    let store =
        Arc::new(Around::new(Arc::new(Memory::new(8, system_clock(), 1)), Filling { full_for: AtomicU32::new(0) }));
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
    let store = Arc::new(Around::new(Arc::new(inner), Filling { full_for: AtomicU32::new(0) }));
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
