//! How work in partitions of other processes reaches workers that wait here in vain.
//!
//! Each process takes work from its own partitions first (see [`crate::nearby`]). What another process does not take
//! for a while is taken by whoever has nothing better to do. What is far is never remembered, only that there may be some:
//! it is read when somebody wants it, since its own process takes from it all the time.

use crate::board::{Origin, QueueKey};
use crate::ready::Place;
use crate::shared::Shared;
use crate::waiters::Wants;
use crate::{Error, claims};
use onward_core::Span;
use onward_core::record::Execution;
use std::sync::Arc;

/// How long work is left to the process whose partition it is in; the same again, at random, keeps several others apart.
const PATIENCE: Span = Span(20);
/// By how much work elsewhere must be older than what is near before it is taken in its place.
const OVERTAKEN: Span = Span::seconds(1);
/// How much is read at once.
const PAGE: usize = 256;

/// Serves workers that are parked here from partitions of others.
pub(crate) async fn run(shared: Arc<Shared>) {
    loop {
        tokio::select! {
            biased;
            () = shared.stopped() => return,
            () = shared.board.hungry.notified() => {}
        }
        if shared.board.hungry_queues().is_empty() {
            continue;
        }
        let pause = shared.clock.sleep(Span(PATIENCE.0 + shared.chance.jittered(PATIENCE).0));
        tokio::select! { biased; () = shared.stopped() => return, () = pause => {} }
        for queue in shared.board.hungry_queues() {
            match read(&shared, &queue).await {
                Ok(places) => shared.claim_matches(shared.board.match_far(&queue, places)),
                Err(error) => {
                    tracing::warn!(%error, lane = %queue.lane, "work elsewhere could not be read; trying again");
                }
            }
        }
    }
}

/// Work elsewhere for a worker that does not want to wait.
pub(crate) async fn look(shared: &Shared, wants: &Wants) -> Result<Vec<Origin>, Error> {
    for queue in shared.board.far_for(wants) {
        let places = read(shared, &queue).await?;
        if !places.is_empty() {
            return Ok(places.into_iter().take(wants.max).map(|place| (queue.clone(), place)).collect());
        }
    }
    Ok(Vec::new())
}

/// Takes over what waits elsewhere for longer than what is near. Without it, work of a process whose workers are stuck
/// would wait until others have nothing at all to do.
pub(crate) async fn help(shared: &Shared) {
    for (queue, first) in shared.board.perhaps_overtaken() {
        let is_overtaken = |place: &Place| {
            let since = |place: &Place| (urgency(place), Execution::ready_since(place.0));
            let (there, here) = (since(place), since(&first));
            there.0 < here.0 || (there.0 == here.0 && there.1 + OVERTAKEN < here.1)
        };
        match read(shared, &queue).await {
            Ok(mut places) => {
                places.retain(is_overtaken);
                shared.board.adopt(&queue, places);
            }
            Err(error) => tracing::debug!(%error, lane = %queue.lane, "work elsewhere could not be read"),
        }
    }
}

fn urgency(place: &Place) -> u64 {
    Execution::ready_urgency(place.0)
}

/// What other processes have left ready, the most urgent first; several who read it start at different places.
async fn read(shared: &Shared, queue: &QueueKey) -> Result<Vec<Place>, Error> {
    shared.board.forget_far(queue);
    let Some(elsewhere) = shared.board.near(queue).elsewhere(shared.partitions) else { return Ok(Vec::new()) };
    let page = claims::page(shared, queue, &elsewhere, None, PAGE).await;
    if !matches!(&page, Ok((places, _)) if places.is_empty()) {
        shared.board.note_far(queue);
    }
    let (mut places, _) = page?;
    let now = shared.time.now();
    places.retain(|(rank, _)| Execution::ready_since(*rank) + PATIENCE <= now);
    let most_urgent = places.iter().take_while(|place| urgency(place) == urgency(&places[0])).count();
    if most_urgent > 0 {
        places[..most_urgent].rotate_left((shared.chance.word() % most_urgent as u64) as usize);
    }
    Ok(places)
}
