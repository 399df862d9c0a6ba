//! What operators do with executions, end to end: cancel, ask to stop, reschedule, prioritise, tag, revoke, replay, purge.

use crate::world::on_every_store;
use onward::{Canceller, Context, Error, ExpiredBy, Failed, Policy, PublicState, RetryPolicy, Span, Worker};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, UNIX_EPOCH};
use tokio::sync::mpsc;

const HOUR: Duration = Duration::from_secs(3_600);

/// A handler that tells when it starts and then waits until it is asked to stop or loses its lease.
fn waiting() -> (impl Fn(Context, ()) -> futures_util::future::BoxFuture<'static, Result<(), Failed>> + Clone, Started)
{
    let (started, said) = mpsc::unbounded_channel();
    let handler = move |ctx: Context, (): ()| {
        let started = started.clone();
        let running: futures_util::future::BoxFuture<'static, _> = Box::pin(async move {
            started.send(ctx.attempt()).unwrap();
            tokio::select! {
                biased;
                () = ctx.cancelled() => Err(Failed::transient("lost")),
                () = ctx.stop_requested() => Err(Failed::cancelled("stopped in good order")),
            }
        });
        running
    };
    (handler, said)
}

type Started = mpsc::UnboundedReceiver<u32>;

on_every_store! {
    async fn cancelled_work_never_runs_and_says_why(world: held) {
        let client = &world.client;
        let id = client.submit("work", &()).await.unwrap().id;
        client.cancel(id, "ordered twice").await.unwrap();
        let done = world.get(id).await;
        let cancelled = done.cancelled.unwrap();
        assert_eq!((done.state, done.attempts, cancelled.by), (PublicState::Cancelled, 0, Canceller::Operator));
        assert_eq!(client.result::<()>(id).await.unwrap_err().code(), "execution_cancelled");
        assert_eq!(client.cancel(id, "again").await.unwrap_err().code(), "execution_finished");
        let other = client.in_namespace("somebody-else").unwrap();
        assert_eq!(other.cancel(id, "not mine").await.unwrap_err().code(), "execution_not_found");
    }

    async fn running_work_is_asked_to_stop_and_cancelled_when_it_does_not(world: held) {
        let client = &world.client;
        let (handler, mut started) = waiting();
        let worker = Worker::new(client).on("wait", handler).lease(Duration::from_secs(10)).start().unwrap();
        let polite = client.submit("wait", &()).await.unwrap().id;
        started.recv().await.unwrap();
        assert!(client.cancel_gently(polite, "not needed", HOUR).await.unwrap().is_some());
        world.advance(Span::seconds(5));
        let done = world.until_state(polite, PublicState::Cancelled).await;
        assert_eq!(done.cancelled.unwrap().by, Canceller::Owner, "it heard it with its renewal and ended itself");

        let stubborn = async |ctx: Context, (): ()| {
            ctx.cancelled().await;
            Ok::<_, Failed>(())
        };
        let deaf = Worker::new(client).on("deaf", stubborn).lanes(["deaf"]).start().unwrap();
        let id = client.submit("deaf", &()).lane("deaf").await.unwrap().id;
        world.until_state(id, PublicState::Active).await;
        client.cancel_gently(id, "not needed", Duration::from_secs(5)).await.unwrap();
        world.advance(Span::seconds(5));
        let done = world.until_state(id, PublicState::Cancelled).await;
        assert_eq!(done.cancelled.unwrap().by, Canceller::Operator, "its time was up");
        world.advance(Span::seconds(15));
        deaf.drain().await.unwrap();
        worker.drain().await.unwrap();
    }

    async fn delayed_work_runs_now_or_later_as_wanted(world: held) {
        let client = &world.client;
        let soon = client.submit("work", &()).delay(HOUR).await.unwrap().id;
        let late = client.submit("work", &()).await.unwrap().id;
        client.run_now(soon).await.unwrap();
        let in_an_hour = UNIX_EPOCH + Duration::from_millis(client.store_time().0) + HOUR;
        client.reschedule(late, in_an_hour).await.unwrap();
        let worker = Worker::new(client).on("work", async |_: Context, (): ()| Ok::<_, Failed>(())).start().unwrap();
        world.until_state(soon, PublicState::Completed).await;
        assert_eq!(world.get(late).await.state, PublicState::Delayed);
        world.advance(Span::hours(1));
        world.until_state(late, PublicState::Completed).await;
        assert_eq!(client.run_now(late).await.unwrap_err().code(), "execution_not_waiting");
        worker.drain().await.unwrap();
    }

    async fn priority_and_tags_can_be_changed_afterwards(world: held) {
        let client = &world.client;
        let first = client.submit("work", &1).await.unwrap().id;
        let second = client.submit("work", &2).tag("customer", "7").await.unwrap().id;
        assert_eq!(client.set_priority(second, 9).await.unwrap(), 0);
        client.set_tags(second, [("vip", "yes")], ["customer"]).await.unwrap();
        client.annotate(second, "for the demo").await.unwrap();
        assert_eq!(client.get(second).await.unwrap().unwrap().note.as_deref(), Some("for the demo"));
        assert_eq!(client.annotate(second, &"x".repeat(1_025)).await.unwrap_err().code(), "invalid_argument");
        let (order, mut ran) = mpsc::unbounded_channel();
        let worker = Worker::new(client)
            .on("work", move |ctx: Context, _: u32| {
                order.send((ctx.id(), ctx.tag("vip").map(str::to_owned))).unwrap();
                std::future::ready(Ok::<_, Failed>(()))
            })
            .concurrency(1)
            .start()
            .unwrap();
        assert_eq!(ran.recv().await.unwrap(), (second, Some("yes".to_owned())));
        assert_eq!(ran.recv().await.unwrap(), (first, None));
        worker.drain().await.unwrap();
    }

    async fn revoked_work_goes_to_the_next_worker_at_once(world: held) {
        let client = &world.client;
        let (handler, mut started) = waiting();
        let worker = Worker::new(client).on("wait", handler).lease(Duration::from_secs(10)).start().unwrap();
        let id = client.submit("wait", &()).await.unwrap().id;
        assert_eq!(started.recv().await, Some(1));
        client.revoke(id, "this worker is stuck").await.unwrap();
        assert_eq!(started.recv().await, Some(2), "nobody waited for the lease");
        assert_eq!(world.get(id).await.reclaims, 1);
        client.cancel(id, "enough").await.unwrap();
        world.advance(Span::seconds(10));
        worker.drain().await.unwrap();
    }

    async fn ended_work_is_replayed_with_fresh_retries_and_purged(world: held) {
        let client = &world.client;
        let runs = Arc::new(AtomicU32::new(0));
        let counted = runs.clone();
        let handler = move |_: Context, (): ()| {
            let run = counted.fetch_add(1, Ordering::SeqCst);
            async move { if run == 0 { Err(Failed::permanent("broken")) } else { Ok("mended") } }
        };
        let worker = Worker::new(client).on("mend", handler).start().unwrap();
        let id = client.submit("mend", &()).retry(RetryPolicy::never()).max_replays(1).await.unwrap().id;
        world.until_state(id, PublicState::Failed).await;
        assert_eq!(client.replay(id, "mended the cause").await.unwrap(), 1);
        let done = world.until_state(id, PublicState::Completed).await;
        assert_eq!((done.attempts, done.replays, done.failure), (2, 1, None));
        assert_eq!(client.result::<String>(id).await.unwrap().unwrap(), "mended");
        assert_eq!(client.replay(id, "once more").await.unwrap_err().code(), "replays_exhausted");
        client.purge(id).await.unwrap();
        client.purge(id).await.unwrap();
        assert!(client.get(id).await.unwrap().is_none());
        assert!(client.list(None, 10).await.unwrap().executions.is_empty());
        worker.drain().await.unwrap();
    }

    async fn time_ends_attempts_executions_and_what_is_left_of_them(world: held) {
        let client = &world.client;
        let (handler, mut started) = waiting();
        let worker = Worker::new(client).on("wait", handler).start().unwrap();
        let slow = client
            .submit("wait", &())
            .attempt_timeout(Duration::from_secs(20))
            .retry(RetryPolicy::never())
            .retention(HOUR)
            .await
            .unwrap()
            .id;
        started.recv().await.unwrap();
        world.advance(Span::seconds(20));
        let done = world.until_state(slow, PublicState::Expired).await;
        assert_eq!(done.failure.unwrap().category.as_str(), "timeout");
        let expired = client.result::<()>(slow).await.unwrap_err();
        let by_timeout = matches!(&expired, Error::ExecutionExpired { expired_by: Some(ExpiredBy::AttemptTimeout), .. });
        assert!(expired.code() == "execution_expired" && by_timeout, "{expired:?}");

        let late = client.submit("wait", &()).delay(HOUR).deadline(Duration::from_secs(60)).await.unwrap().id;
        world.advance(Span::seconds(60));
        let done = world.until_state(late, PublicState::Expired).await;
        assert_eq!(done.attempts, 0);

        world.advance(Span::hours(1));
        while client.get(slow).await.unwrap().is_some() {
            tokio::task::yield_now().await;
        }
        assert!(client.get(late).await.unwrap().is_some(), "its retention is a week");
        worker.drain().await.unwrap();
    }

    async fn a_handler_goes_on_later_as_the_same_attempt(world: held) {
        let client = &world.client;
        let handler = async |ctx: Context, (): ()| {
            ctx.progress(50, "half done").await?;
            if ctx.is_resumed() { Ok(ctx.attempt()) } else { Err(Failed::later(HOUR)) }
        };
        let worker = Worker::new(client).on("poll", handler).start().unwrap();
        let id = client.submit("poll", &()).retry(RetryPolicy::never()).await.unwrap().id;
        let waiting = world.until_state(id, PublicState::Delayed).await;
        let progress = waiting.progress.unwrap();
        assert_eq!((progress.percent, progress.message.as_str()), (Some(50), "half done"));
        world.advance(Span::hours(1));
        world.until_state(id, PublicState::Completed).await;
        assert_eq!(client.result::<u32>(id).await.unwrap(), Some(1), "it is still the first attempt");
        worker.drain().await.unwrap();
    }

    async fn a_unique_key_stands_for_one_unfinished_execution(world: held) {
        let client = &world.client;
        let first = client.submit("sync", &1).unique_key("customer-7").await.unwrap();
        let second = client.submit("sync", &2).unique_key("customer-7").await.unwrap();
        assert_eq!((first.created, second.created, second.id), (true, false, first.id));
        client.cancel(first.id, "").await.unwrap();
        let third = client.submit("sync", &3).unique_key("customer-7").await.unwrap();
        assert!(third.created && third.id != first.id);
        assert_eq!(client.replay(first.id, "").await.unwrap_err().code(), "unique_key_taken");
        let both = client.submit("sync", &4).unique_key("a").idempotency_key("b").await.unwrap_err();
        assert_eq!(both.code(), "two_keys");
    }

    async fn a_lane_decides_what_submissions_leave_open(world: held) {
        let client = &world.client;
        let defaults = Policy { retention: Some(Span::minutes(20)), retry: Some(RetryPolicy::never()), ..Policy::default() };
        client.set_lane_defaults("mails", defaults.clone()).await.unwrap();
        let own = client.submit("mail", &()).lane("mails").retention(HOUR).await.unwrap().id;
        let policy = world.get(own).await.policy;
        assert_eq!((policy.retention, policy.retry), (Some(Span::hours(1)), defaults.retry));
        client.pause_lane("mails").await.unwrap();
        let later = client.submit("mail", &()).lane("mails").await.unwrap().id;
        assert_eq!(world.get(later).await.policy.retention, Some(Span::minutes(20)), "pausing keeps the defaults");
    }
}
