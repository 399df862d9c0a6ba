//! Stopping: a worker drains, stops what does not end in time, and gives back what it has not begun.

use crate::world::on_every_store;
use onward::{Context, Failed, PublicState, RetryPolicy, Span, Worker};
use std::future::IntoFuture;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, mpsc};

/// A handler that tells when it has started and waits to be let go.
fn gated() -> (impl Fn(Context, ()) -> futures_util::future::BoxFuture<'static, Result<u32, Failed>> + Clone, Gate) {
    let (started, said) = mpsc::unbounded_channel();
    let go_on = Arc::new(Notify::new());
    let gate = Gate { said, go_on: go_on.clone() };
    let handler = move |ctx: Context, (): ()| {
        let (started, go_on) = (started.clone(), go_on.clone());
        let running: futures_util::future::BoxFuture<'static, _> = Box::pin(async move {
            started.send(()).unwrap();
            go_on.notified().await;
            Ok(ctx.attempt())
        });
        running
    };
    (handler, gate)
}

struct Gate {
    said: mpsc::UnboundedReceiver<()>,
    go_on: Arc<Notify>,
}

on_every_store! {
    async fn a_draining_worker_ends_what_it_has_and_takes_no_more(world: held) {
        let client = &world.client;
        let (handler, mut gate) = gated();
        let worker = Worker::new(client).on("wait", handler).start().unwrap();
        let running = client.submit("wait", &()).await.unwrap().id;
        gate.said.recv().await.unwrap();
        assert!(!worker.is_finished());
        let draining = tokio::spawn(worker.drain());
        // Its claim is withdrawn before anything else, so what comes now stays.
        turns().await;
        let left = client.submit("wait", &()).await.unwrap().id;
        gate.go_on.notify_one();
        draining.await.unwrap().unwrap();
        assert_eq!(world.get(running).await.state, PublicState::Completed);
        let left = world.get(left).await;
        assert_eq!((left.state, left.attempts), (PublicState::Waiting, 0));
    }

    async fn a_handler_that_outlasts_the_grace_is_stopped_and_run_again_elsewhere(world: held) {
        let client = &world.client;
        let (handler, mut gate) = gated();
        let first = Worker::new(client).on("wait", handler.clone()).grace(Duration::from_secs(5)).start().unwrap();
        let id = client.submit("wait", &()).retry(RetryPolicy::never()).await.unwrap().id;
        gate.said.recv().await.unwrap();
        let draining = tokio::spawn(first.drain());
        turns().await;
        world.advance(Span::seconds(5));
        draining.await.unwrap().unwrap();
        let found = world.get(id).await;
        assert_eq!((found.state, found.attempts), (PublicState::Waiting, 1), "a stop costs no retry");
        assert_eq!((found.failure, found.reclaims), (None, 0), "nobody waits for its lease");
        let second = Worker::new(client).on("wait", handler).start().unwrap();
        gate.said.recv().await.unwrap();
        gate.go_on.notify_waiters();
        world.until_state(id, PublicState::Completed).await;
        assert_eq!(client.result::<u32>(id).await.unwrap(), Some(2));
        second.drain().await.unwrap();
    }

    async fn a_handler_hears_that_its_worker_drains(world: held) {
        let client = &world.client;
        let (started, mut said) = mpsc::unbounded_channel();
        let handler = move |ctx: Context, (): ()| {
            let started = started.clone();
            async move {
                started.send(ctx.is_draining()).unwrap();
                ctx.draining().await;
                Ok::<_, Failed>(ctx.is_draining())
            }
        };
        let worker = Worker::new(client).on("long", handler).start().unwrap();
        let id = client.submit("long", &()).await.unwrap().id;
        assert_eq!(said.recv().await, Some(false));
        worker.drain().await.unwrap();
        assert_eq!(client.result::<bool>(id).await.unwrap(), Some(true), "it broke off in good order");
    }

    async fn everybody_who_shuts_down_waits_for_the_same_end(world: held) {
        let client = &world.client;
        let submits: Vec<_> = (0..20).map(|n| tokio::spawn(client.submit("work", &n).into_future())).collect();
        turns().await;
        let (one, other) = futures_util::future::join(client.shutdown(), client.shutdown()).await;
        assert!(one.is_ok() && other.is_ok(), "{one:?} {other:?}");
        for submit in submits {
            assert!(submit.await.unwrap().is_ok(), "what was accepted is answered");
        }
    }

    async fn an_idle_worker_drains_at_once_and_loses_nothing(world: held) {
        let client = &world.client;
        let work = async |ctx: Context, (): ()| Ok::<_, Failed>(ctx.attempt());
        for _ in 0..20 {
            let worker = Worker::new(client).on("work", work).start().unwrap();
            let id = client.submit("work", &()).await.unwrap().id;
            worker.drain().await.unwrap();
            let helper = Worker::new(client).on("work", work).start().unwrap();
            let done = world.until_state(id, PublicState::Completed).await;
            assert_eq!(done.reclaims, 0, "held time: a lease that was dropped would never come back");
            helper.drain().await.unwrap();
        }
        client.shutdown().await.unwrap();
    }

    async fn a_worker_ends_with_its_client(world: new) {
        let client = &world.client;
        let work = async |_: Context, (): ()| Ok::<_, Failed>(());
        let running = tokio::spawn(Worker::new(client).on("work", work).run());
        let id = client.submit("work", &()).await.unwrap().id;
        world.until_state(id, PublicState::Completed).await;
        client.shutdown().await.unwrap();
        running.await.unwrap().unwrap();
        assert_eq!(client.submit("work", &()).await.unwrap_err().code(), "shutting_down");
    }
}

/// Lets the other tasks of this one-threaded runtime have their turns, in which a worker hears that it should drain.
async fn turns() {
    for _ in 0..16 {
        tokio::task::yield_now().await;
    }
}
