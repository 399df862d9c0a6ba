//! Waiting: handlers wait for signals, answers and time without a worker, and go on with what has come.

use crate::world::on_every_store;
use onward::engine::FindFilter;
use onward::{Context, Failed, OnTimeout, PublicState, RetryPolicy, SignalEffect, Span, Worker};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::sync::{Notify, mpsc};

const DAY: Duration = Duration::from_secs(24 * 3_600);

/// Waits for one payment, a week at most.
async fn order(ctx: Context, (): ()) -> Result<String, Failed> {
    match ctx.wait_for::<u64>("paid").timeout(7 * DAY).because("the payment").await? {
        Some(cents) => Ok(format!("paid {cents}")),
        None => Ok("never paid".to_owned()),
    }
}

on_every_store! {
    async fn a_handler_waits_for_a_signal_and_holds_no_worker(world: held) {
        let client = &world.client;
        let worker = Worker::new(client).on("order", order).concurrency(1).start().unwrap();
        let first = client.submit("order", &()).await.unwrap().id;
        world.until_state(first, PublicState::Suspended).await;
        // The only slot is free: another order can come so far, too.
        world.advance(Span(1));
        let second = client.submit("order", &()).await.unwrap().id;
        let waiting = world.until_state(second, PublicState::Suspended).await;
        assert_eq!((waiting.attempts, waiting.lease_expires_at), (1, None));
        assert_eq!(client.counts().await.unwrap().suspended.n, 2);
        let filter = FindFilter { states: [PublicState::Suspended].into(), ..FindFilter::default() };
        let found = client.find(&filter, None, 10).await.unwrap().executions;
        assert_eq!(found.iter().map(|found| found.id).collect::<Vec<_>>(), [first, second], "in order of their suspension");
        let why = client.why(first).await.unwrap().reason.to_string();
        assert!(why.contains("a signal for paid#1 until ") && why.ends_with("(the payment)"), "{why}");

        let sent = client.signal(first, "paid").payload(&1_200_u64).key("event-1").await.unwrap();
        assert_eq!(sent.effect, SignalEffect::Resumed);
        let done = world.until_state(first, PublicState::Completed).await;
        assert_eq!((done.attempts, done.retries), (1, 0), "the same attempt went on");
        assert_eq!(client.result::<String>(first).await.unwrap().unwrap(), "paid 1200");
        // The webhook comes again after all is over, and hears what the first one heard.
        assert_eq!(client.signal(first, "paid").payload(&1_200_u64).key("event-1").await.unwrap(), sent);
        let late = client.signal(first, "paid").await.unwrap_err();
        assert_eq!(late.code(), "execution_finished");

        world.advance(Span::days(7));
        world.until_state(second, PublicState::Completed).await;
        assert_eq!(client.result::<String>(second).await.unwrap().unwrap(), "never paid");
        worker.drain().await.unwrap();
    }

    async fn what_comes_early_is_kept_and_costs_no_suspension(world: held) {
        let client = &world.client;
        let id = client.submit("order", &()).await.unwrap().id;
        assert_eq!(client.signal(id, "paid").payload(&7_u64).await.unwrap().effect, SignalEffect::Buffered);
        let worker = Worker::new(client).on("order", order).start().unwrap();
        world.until_state(id, PublicState::Completed).await;
        assert_eq!(client.result::<String>(id).await.unwrap().unwrap(), "paid 7");
        let history = client.history(id).await.unwrap();
        let names: Vec<_> = history.iter().map(|line| line.what.name()).collect();
        assert_eq!(names, ["submitted", "claimed", "completed"]);
        worker.drain().await.unwrap();
    }

    async fn a_loop_over_one_name_gets_every_signal_once_and_in_order(world: held) {
        let client = &world.client;
        let collect = async |ctx: Context, count: usize| {
            let mut got = Vec::new();
            while got.len() < count {
                got.extend(ctx.wait_for::<u32>("event").await?);
            }
            Ok::<_, Failed>(got)
        };
        let id = client.submit("collect", &5).await.unwrap().id;
        for n in 0..2_u32 {
            client.signal(id, "event").payload(&n).await.unwrap();
        }
        let worker = Worker::new(client).on("collect", collect).start().unwrap();
        for n in 2..5_u32 {
            world.until_state(id, PublicState::Suspended).await;
            assert_eq!(client.signal(id, "event").payload(&n).await.unwrap().effect, SignalEffect::Resumed);
            // It goes on, and comes to its next wait or its end.
            let last = n == 4;
            world.until(id, |found| found.state == PublicState::Completed || (!last && found.state == PublicState::Suspended)).await;
        }
        world.until_state(id, PublicState::Completed).await;
        assert_eq!(client.result::<Vec<u32>>(id).await.unwrap().unwrap(), [0, 1, 2, 3, 4]);
        worker.drain().await.unwrap();
    }

    async fn all_any_and_several_waits_beside_each_other(world: held) {
        let client = &world.client;
        let many = async |ctx: Context, (): ()| {
            let all = ctx.wait_all(["a", "b"]).await?.map(|all| all.len());
            let any = ctx.wait_any(["c", "d"]).await?.map(|one| one.wait.to_string());
            let (one, other) = tokio::join!(ctx.wait_for::<u32>("e").into_future(), ctx.wait_for::<u32>("f").into_future());
            let late = ctx.wait_for::<u32>("never").timeout(DAY).await?;
            Ok::<_, Failed>((all, any, one?, other?, late))
        };
        let worker = Worker::new(client).on("many", many).start().unwrap();
        let id = client.submit("many", &()).await.unwrap().id;
        for (wait, value) in [("b", 1), ("a", 2), ("d", 3), ("f", 4), ("e", 5)] {
            world.until_state(id, PublicState::Suspended).await;
            client.signal(id, wait).payload(&value).await.unwrap();
            world.until(id, |found| matches!(found.state, PublicState::Suspended)).await;
        }
        world.advance(Span::days(1));
        world.until_state(id, PublicState::Completed).await;
        type Many = (Option<usize>, Option<String>, Option<u32>, Option<u32>, Option<u32>);
        let result = client.result::<Many>(id).await.unwrap().unwrap();
        assert_eq!(result, (Some(2), Some("d".to_owned()), Some(5), Some(4), None));
        assert_eq!(world.get(id).await.attempts, 1);
        worker.drain().await.unwrap();
    }

    async fn a_subscription_sleeps_for_a_month_and_a_signal_ends_it(world: held) {
        let client = &world.client;
        let subscription = async |ctx: Context, months: u32| {
            for month in 0..months {
                tokio::select! {
                    biased;
                    cancelled = ctx.wait_for::<String>("cancel").into_future() => {
                        return Ok::<_, Failed>(format!("{} after {month} months", cancelled?.unwrap_or_default()));
                    }
                    slept = ctx.sleep(30 * DAY) => slept?,
                }
            }
            Ok("over".to_owned())
        };
        let worker = Worker::new(client).on("subscription", subscription).start().unwrap();
        let id = client.submit("subscription", &12).await.unwrap().id;
        for month in 1..=2 {
            world.until_answered("suspend", month).await;
            world.advance(Span::days(30));
            world.until_answered("suspend", month + 1).await;
        }
        world.advance(Span::days(10));
        client.signal(id, "cancel").payload("moved away").await.unwrap();
        world.until_state(id, PublicState::Completed).await;
        assert_eq!(client.result::<String>(id).await.unwrap().unwrap(), "moved away after 2 months");
        worker.drain().await.unwrap();
    }

    async fn a_question_takes_one_of_its_choices(world: held) {
        let client = &world.client;
        let release = async |ctx: Context, (): ()| {
            let chosen = ctx.ask("Release 1.4?", ["yes", "no"]).on_timeout(OnTimeout::Fail).timeout(DAY).await?;
            Ok::<_, Failed>(chosen.map(|chosen| chosen.choice))
        };
        let worker = Worker::new(client).on("release", release).start().unwrap();
        let id = client.submit("release", &()).await.unwrap().id;
        world.until_state(id, PublicState::Suspended).await;
        let maybe = client.signal(id, "ask").name("maybe").await.unwrap();
        assert_eq!(maybe.effect, SignalEffect::Buffered);
        client.signal(id, "ask").name("yes").await.unwrap();
        world.until_state(id, PublicState::Completed).await;
        assert_eq!(client.result::<Option<String>>(id).await.unwrap().flatten().as_deref(), Some("yes"));
        let late = client.submit("release", &()).await.unwrap().id;
        let waiting = world.until_state(late, PublicState::Suspended).await;
        let why = client.why(waiting.id).await.unwrap().reason.to_string();
        assert!(why.contains("named yes or no") && why.contains("then it fails"), "{why}");
        world.advance(Span::days(1));
        let failed = world.until_state(late, PublicState::Failed).await;
        assert_eq!(failed.failure.unwrap().category.as_str(), "timeout");
        worker.drain().await.unwrap();
    }

    async fn operators_hold_resume_and_close_waits(world: held) {
        let client = &world.client;
        let worker = Worker::new(client).on("order", order).start().unwrap();
        let id = client.submit("order", &()).await.unwrap().id;
        world.until_state(id, PublicState::Suspended).await;
        client.pause(id, "audit").await.unwrap();
        client.signal(id, "paid").payload(&5_u64).await.unwrap();
        let held = world.get(id).await;
        assert_eq!(held.state, PublicState::Suspended, "the signal came, and an operator holds it");
        assert_eq!(client.why(id).await.unwrap().reason.to_string(), "an operator paused it (audit)");
        client.resume(id).await.unwrap();
        world.until_state(id, PublicState::Completed).await;
        assert_eq!(client.result::<String>(id).await.unwrap().unwrap(), "paid 5");
        assert_eq!(client.resume(id).await.unwrap_err().code(), "execution_not_suspended");

        let id = client.submit("order", &()).await.unwrap().id;
        world.until_state(id, PublicState::Suspended).await;
        assert_eq!(client.close_wait(id, "other").await.unwrap_err().code(), "waitpoint_closed");
        assert!(client.close_wait(id, "paid").await.unwrap());
        world.until_state(id, PublicState::Completed).await;
        assert_eq!(client.result::<String>(id).await.unwrap().unwrap(), "never paid");
        let waits = client.waits(id).await.unwrap();
        assert_eq!((waits.over.len(), waits.suspension), (1, None));
        assert_eq!(waits.over[0].how.as_str(), "operator");
        worker.drain().await.unwrap();
    }

    async fn without_a_retry_left_an_operator_decides(world: held) {
        let client = &world.client;
        let repaired = Arc::new(AtomicU32::new(0));
        let flag = repaired.clone();
        let fragile = move |_: Context, (): ()| {
            let repaired = flag.load(Ordering::Relaxed);
            async move { if repaired > 0 { Ok(()) } else { Err(Failed::transient("it is broken")) } }
        };
        let worker = Worker::new(client).on("fragile", fragile).start().unwrap();
        let id = client.submit("fragile", &()).retry(RetryPolicy::never()).pause_when_exhausted().await.unwrap().id;
        let held = world.until_state(id, PublicState::Suspended).await;
        assert_eq!((held.attempts, held.failure.unwrap().message.to_string()), (1, "it is broken".to_owned()));
        let why = client.why(id).await.unwrap().reason.to_string();
        assert_eq!(why, "no retry is left and an operator decides (it is broken)");
        repaired.store(1, Ordering::Relaxed);
        client.resume(id).await.unwrap();
        assert_eq!(world.until_state(id, PublicState::Completed).await.attempts, 2);
        worker.drain().await.unwrap();
    }

    async fn a_submit_with_a_signal_reaches_the_running_execution_or_the_new_one(world: held) {
        let client = &world.client;
        let cart = async |ctx: Context, (): ()| {
            let mut items = Vec::new();
            while items.len() < 3 {
                items.extend(ctx.wait_for::<String>("item").await?);
            }
            Ok::<_, Failed>(items)
        };
        let worker = Worker::new(client).on("cart", cart).start().unwrap();
        let add = async |item: &str| {
            client.submit("cart", &()).unique_key("customer-7").signal("item", item).await.unwrap()
        };
        let first = add("tea").await;
        assert_eq!((first.created, first.signalled), (true, Some(SignalEffect::Buffered)));
        for item in ["milk", "salt"] {
            world.until_state(first.id, PublicState::Suspended).await;
            let next = add(item).await;
            assert_eq!((next.id, next.created, next.signalled), (first.id, false, Some(SignalEffect::Resumed)));
            world.until(first.id, |found| found.state != PublicState::Active && found.state != PublicState::Waiting).await;
        }
        world.until_state(first.id, PublicState::Completed).await;
        assert_eq!(client.result::<Vec<String>>(first.id).await.unwrap().unwrap(), ["tea", "milk", "salt"]);
        worker.drain().await.unwrap();
    }

    async fn a_handler_is_stopped_when_its_attempt_may_not_go_on(world: held) {
        let client = &world.client;
        let (started, mut said) = mpsc::unbounded_channel();
        let (dropped, mut gone) = mpsc::unbounded_channel();
        let handler = move |ctx: Context, (): ()| {
            let (started, guard) = (started.clone(), Dropped(dropped.clone(), ctx.attempt()));
            async move {
                let _guard = guard;
                started.send(ctx.attempt()).unwrap();
                std::future::pending::<Result<(), Failed>>().await
            }
        };
        // Only one handler runs at a time, so the next starts only once the one before is gone.
        let worker = Worker::new(client).on("stuck", handler).concurrency(1).start().unwrap();
        let timeout = Duration::from_secs(5);
        let retry = RetryPolicy::fixed(1, Span(0));
        let id = client.submit("stuck", &()).attempt_timeout(timeout).retry(retry).await.unwrap().id;
        for attempt in 1..=2 {
            assert_eq!(said.recv().await, Some(attempt));
            world.advance(Span::seconds(5));
            assert_eq!(gone.recv().await, Some(attempt), "its time was over");
        }
        world.until_state(id, PublicState::Expired).await;

        let id = client.submit("stuck", &()).await.unwrap().id;
        assert_eq!(said.recv().await, Some(1));
        client.cancel_gently(id, "not needed", timeout).await.unwrap();
        // It is told with the next renewal, and is gone when its grace is over.
        world.advance(Span::seconds(15));
        assert_eq!(gone.recv().await, Some(1), "it was asked to stop and did not");
        world.until_state(id, PublicState::Cancelled).await;
        let id = client.submit("stuck", &()).await.unwrap().id;
        assert_eq!(said.recv().await, Some(1));
        client.revoke(id, "stuck").await.unwrap();
        world.advance(Span::seconds(15));
        assert_eq!(gone.recv().await, Some(1), "its lease was lost");
        assert_eq!(said.recv().await, Some(2), "and its slot is free");
        client.cancel(id, "enough").await.unwrap();
        world.advance(Span::seconds(15));
        assert_eq!(gone.recv().await, Some(2));
        worker.drain().await.unwrap();
    }
}

/// Tells that a handler was dropped.
struct Dropped(mpsc::UnboundedSender<u32>, u32);

impl Drop for Dropped {
    fn drop(&mut self) {
        let _heard = self.0.send(self.1).is_ok();
    }
}

/// The worker dies between the signal and the first step of its handler: whoever comes next gets the same signals.
#[tokio::test]
async fn whoever_goes_on_gets_the_same_signals() {
    use crate::world::{Kind, Way, World};
    let world = World::held(Kind::Sqlite, Way::Embedded).await;
    let client = &world.client;
    let (seen, mut told) = mpsc::unbounded_channel();
    let go_on = Arc::new(Notify::new());
    let gate = go_on.clone();
    let handler = move |ctx: Context, (): ()| {
        let (seen, gate) = (seen.clone(), gate.clone());
        async move {
            let paid = ctx.wait_for::<u64>("paid").await?;
            seen.send((ctx.attempt(), paid)).unwrap();
            gate.notified().await;
            Ok::<_, Failed>(paid)
        }
    };
    let start = || Worker::new(client).on("order", handler.clone()).start().unwrap();
    let worker = start();
    let id = client.submit("order", &()).await.unwrap().id;
    world.until_state(id, PublicState::Suspended).await;
    client.signal(id, "paid").payload(&9_u64).await.unwrap();
    assert_eq!(told.recv().await, Some((1, Some(9))));
    worker.abort();
    for attempt in 2..=3 {
        world.advance(Span::minutes(6));
        let worker = start();
        assert_eq!(told.recv().await, Some((attempt, Some(9))), "after the worker was lost");
        if attempt < 3 {
            worker.abort();
        } else {
            go_on.notify_one();
            world.until_state(id, PublicState::Completed).await;
            worker.drain().await.unwrap();
        }
    }
}
