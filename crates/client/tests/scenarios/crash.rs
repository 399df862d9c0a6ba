//! Crashes: a worker or a whole client ends where it stands, and the work goes on.

use crate::world::{Kind, PATIENCE, Way, World, on_every_store};
use onward::{AttemptKind, Client, Context, Failed, PublicState, Span, Worker};
use tokio::sync::mpsc;

on_every_store! {
    async fn the_work_of_a_lost_worker_goes_to_another(world: held) {
        let client = &world.client;
        let (started, mut said) = mpsc::unbounded_channel();
        let hang = move |_: Context, (): ()| {
            started.send(()).unwrap();
            std::future::pending::<Result<(), Failed>>()
        };
        let lost = Worker::new(client).on("work", hang).name("lost").start().unwrap();
        let id = client.submit("work", &()).await.unwrap().id;
        said.recv().await.unwrap();
        lost.abort();
        let kind = async |ctx: Context, (): ()| Ok::<_, Failed>(ctx.attempt_kind());
        let next = Worker::new(client).on("work", kind).name("next").start().unwrap();
        assert_eq!(world.get(id).await.worker.unwrap().as_str(), "lost");
        world.advance(Span::seconds(30));
        let done = world.until_state(id, PublicState::Completed).await;
        assert_eq!((done.attempts, done.reclaims, done.retries), (2, 1, 0));
        assert_eq!(done.worker.unwrap().as_str(), "next");
        assert_eq!(client.result::<AttemptKind>(id).await.unwrap(), Some(AttemptKind::Reclaim));
        next.drain().await.unwrap();
    }
}

#[tokio::test]
async fn a_client_that_is_dropped_leaves_everything_it_acknowledged() {
    let world = World::new(Kind::Sqlite, Way::Embedded).await;
    let ids = {
        let client = Client::open(world.address()).await.unwrap();
        let answers = client.submit_many((0..100).map(|n| client.submit("n", &n))).await.unwrap();
        answers.into_iter().map(|answer| answer.unwrap().id).collect::<Vec<_>>()
    };
    let double = async |_: Context, n: u32| Ok::<_, Failed>(n * 2);
    let worker = Worker::new(&world.client).on("n", double).start().unwrap();
    for (n, id) in ids.into_iter().enumerate() {
        assert_eq!(world.client.wait::<usize>(id, PATIENCE).await.unwrap(), n * 2);
    }
    worker.drain().await.unwrap();
    world.client.shutdown().await.unwrap();
}
