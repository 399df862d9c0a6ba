//! Who runs what, and when: priority, concurrency, capabilities, lanes that are held.

use crate::world::on_every_store;
use onward::{Context, Failed, LaneState, PublicState, Worker};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

on_every_store! {
    async fn higher_priority_runs_first_then_who_came_first(world: held) {
        let client = &world.client;
        for (name, priority) in [("a", 0), ("b", 5), ("c", 9_000), ("d", 5), ("e", 0)] {
            client.submit("note", name).priority(priority).await.unwrap();
            world.advance(onward::Span(1));
        }
        let order = Arc::new(Mutex::new(Vec::new()));
        let noted = order.clone();
        let note = move |_: Context, name: String| {
            noted.lock().push(name);
            async { Ok::<_, Failed>(()) }
        };
        let worker = Worker::new(client).on("note", note).concurrency(1).start().unwrap();
        let last = client.submit("note", "f").await.unwrap().id;
        world.until_state(last, PublicState::Completed).await;
        worker.drain().await.unwrap();
        assert_eq!(*order.lock(), ["c", "b", "d", "a", "e", "f"]);
    }

    async fn no_more_run_at_once_than_there_are_slots(world: held) {
        let client = &world.client;
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (now, top) = (running.clone(), most.clone());
        let count = move |_: Context, _: u32| {
            let (now, top) = (now.clone(), top.clone());
            async move {
                top.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                for _ in 0..20 {
                    tokio::task::yield_now().await;
                }
                now.fetch_sub(1, Ordering::SeqCst);
                Ok::<_, Failed>(())
            }
        };
        let answers = client.submit_many((0..60).map(|n| client.submit("count", &n))).await.unwrap();
        let worker = Worker::new(client).on("count", count).concurrency(3).start().unwrap();
        for answer in answers {
            let done = world.until_state(answer.unwrap().id, PublicState::Completed).await;
            assert_eq!(done.attempts, 1, "filling slots early loses no work");
        }
        worker.drain().await.unwrap();
        assert_eq!(most.load(Ordering::SeqCst), 3);
        assert_eq!(running.load(Ordering::SeqCst), 0);
    }

    async fn work_goes_to_workers_that_are_capable_of_it(world: held) {
        let client = &world.client;
        let who = |name: &'static str| move |_: Context, (): ()| async move { Ok::<_, Failed>(name) };
        let plain = Worker::new(client).on("train", who("plain")).start().unwrap();
        let needy = client.submit("train", &()).requires(["gpu", "linux"]).await.unwrap().id;
        let easy = client.submit("train", &()).await.unwrap().id;
        world.until_state(easy, PublicState::Completed).await;
        assert_eq!(client.result::<String>(easy).await.unwrap().unwrap(), "plain");
        assert_eq!(world.get(needy).await.state, PublicState::Waiting, "nobody can run it yet");
        let half = Worker::new(client).on("train", who("half")).capabilities(["gpu"]).start().unwrap();
        let able = Worker::new(client).on("train", who("able")).capabilities(["linux", "gpu", "tpu"]).start().unwrap();
        world.until_state(needy, PublicState::Completed).await;
        assert_eq!(client.result::<String>(needy).await.unwrap().unwrap(), "able");
        for worker in [plain, half, able] {
            worker.drain().await.unwrap();
        }
    }

    async fn lanes_are_held_opened_and_emptied(world: held) {
        let client = &world.client;
        let work = async |_: Context, (): ()| Ok::<_, Failed>(());
        let worker = Worker::new(client).on("work", work).lanes(["slow", "fast"]).start().unwrap();
        assert_eq!(client.lane("slow").await.unwrap(), LaneState::Open);
        client.pause_lane("slow").await.unwrap();
        assert_eq!(client.lane("slow").await.unwrap(), LaneState::Paused);
        let held = client.submit("work", &()).lane("slow").await.unwrap().id;
        let free = client.submit("work", &()).lane("fast").await.unwrap().id;
        world.until_state(free, PublicState::Completed).await;
        assert_eq!(world.get(held).await.state, PublicState::Waiting);
        client.open_lane("slow").await.unwrap();
        world.until_state(held, PublicState::Completed).await;
        client.drain_lane("slow").await.unwrap();
        let refused = client.submit("work", &()).lane("slow").await.unwrap_err();
        assert_eq!(refused.code(), "lane_draining");
        assert_eq!(client.pause_lane("no lane").await.unwrap_err().code(), "invalid_name");
        worker.drain().await.unwrap();
    }
}
