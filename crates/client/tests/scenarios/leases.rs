//! Leases: renewed while a handler runs, lost when time jumps, and never two ends.

use crate::world::on_every_store;
use onward::{AttemptKind, Context, Failed, PublicState, Span, Worker};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, mpsc};

const LEASE: Duration = Duration::from_secs(10);

/// What a handler tells the test, and what it waits for.
#[derive(Clone)]
struct Stage {
    started: mpsc::UnboundedSender<u32>,
    go_on: Arc<Notify>,
}

impl Stage {
    fn new() -> (Self, mpsc::UnboundedReceiver<u32>) {
        let (started, said) = mpsc::unbounded_channel();
        (Self { started, go_on: Arc::new(Notify::new()) }, said)
    }

    /// Waits for the test in each attempt.
    async fn wait(self, ctx: Context) -> Result<String, Failed> {
        self.started.send(ctx.attempt()).unwrap();
        self.go_on.notified().await;
        Ok(format!("attempt {}", ctx.attempt()))
    }

    /// The first attempt waits until it is cancelled, the second one succeeds.
    async fn wait_until_cancelled(self, ctx: Context) -> Result<String, Failed> {
        if ctx.attempt_kind() == AttemptKind::Initial {
            self.started.send(ctx.attempt()).unwrap();
            ctx.cancelled().await;
            assert!(ctx.is_cancelled());
            // Let the other attempt end first, then try to report.
            self.go_on.notified().await;
        }
        Ok(format!("attempt {}", ctx.attempt()))
    }
}

on_every_store! {
    async fn a_lease_is_renewed_at_half_its_time_while_the_handler_runs(world: held) {
        let client = &world.client;
        let (stage, mut said) = Stage::new();
        let (handler, go_on) = (stage.clone(), stage.go_on.clone());
        let worker =
            Worker::new(client).on("wait", move |ctx, (): ()| handler.clone().wait(ctx)).lease(LEASE).start().unwrap();
        let id = client.submit("wait", &()).await.unwrap().id;
        assert_eq!(said.recv().await, Some(1));
        let mut expires_at = world.get(id).await.lease_expires_at.unwrap();
        for renewals in 1..=10 {
            world.advance(Span::seconds(5));
            let renewed = world.until(id, |found| found.lease_expires_at > Some(expires_at)).await;
            assert_eq!(renewed.lease_expires_at, Some(expires_at + Span::seconds(5)));
            expires_at = expires_at + Span::seconds(5);
            // The heartbeat hears of the renewal that the store shows already.
            world.until_answered("renew", renewals).await;
        }
        go_on.notify_one();
        let done = world.until_state(id, PublicState::Completed).await;
        assert_eq!((done.attempts, done.reclaims), (1, 0), "50 s under leases of 10 s");
        worker.drain().await.unwrap();
    }

    async fn a_lost_lease_cancels_the_handler_and_its_end_is_not_reported(world: held) {
        let client = &world.client;
        let (stage, mut said) = Stage::new();
        let (handler, go_on) = (stage.clone(), stage.go_on.clone());
        let worker = Worker::new(client)
            .on("wait", move |ctx, (): ()| handler.clone().wait_until_cancelled(ctx))
            .lease(LEASE)
            .start()
            .unwrap();
        let id = client.submit("wait", &()).await.unwrap().id;
        assert_eq!(said.recv().await, Some(1));
        // The clock jumps over the whole lease, so that there is no time to renew it.
        world.advance(Span::seconds(11));
        let done = world.until_state(id, PublicState::Completed).await;
        assert_eq!((done.attempts, done.reclaims), (2, 1));
        assert_eq!(client.result::<String>(id).await.unwrap().unwrap(), "attempt 2");
        go_on.notify_one();
        worker.drain().await.unwrap();
        assert_eq!(world.get(id).await, done, "the first attempt came back and changed nothing");
    }
    async fn leases_are_renewed_beside_a_handler_that_has_lost_its_own(world: held) {
        let client = &world.client;
        let (stage, mut said) = Stage::new();
        let (handler, go_on) = (stage.clone(), stage.go_on.clone());
        let worker =
            Worker::new(client).on("wait", move |ctx, (): ()| handler.clone().wait(ctx)).lease(LEASE).start().unwrap();
        let id = client.submit("wait", &()).await.unwrap().id;
        assert_eq!(said.recv().await, Some(1));
        // The first attempt loses its lease and does not care.
        world.advance(Span::seconds(11));
        assert_eq!(said.recv().await, Some(2));
        let mut expires_at = world.get(id).await.lease_expires_at.unwrap();
        for renewals in 1..=4 {
            world.advance(Span::seconds(5));
            world.until(id, |found| found.lease_expires_at > Some(expires_at)).await;
            expires_at = expires_at + Span::seconds(5);
            // The heartbeat hears of the renewal that the store shows already.
            world.until_answered("renew", renewals).await;
        }
        go_on.notify_waiters();
        let done = world.until_state(id, PublicState::Completed).await;
        assert_eq!((done.attempts, done.reclaims), (2, 1), "20 s under a lease of 10 s");
        worker.drain().await.unwrap();
    }
}
