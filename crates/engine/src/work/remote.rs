//! Gives work in partitions of other processes to workers that find none in their own.
//!
//! Each process takes work from its own partitions first (see [`crate::work::affinity`]). What another process leaves
//! for a while is taken by any process with idle workers: work that was seen twice, some time apart. It is read when a
//! worker wants it, since its own process takes from it all the time, and kept in memory for a moment only.

use crate::Error;
use crate::shared::Shared;
use crate::work::board::{Origin, QueueKey};
use crate::work::claims;
use crate::work::patience::PATIENCE;
use crate::work::ready::Position;
use crate::work::waiters::Wants;
use onward_core::Span;
use onward_core::record::Execution;
use std::sync::Arc;

/// By how much the pause between two looks is longer at most, at random, to keep several processes apart.
const APART: u64 = 30;
/// By how much remote work must be older than local work before it is taken instead.
const OVERTAKEN: Span = Span::seconds(1);
/// Entries read at once.
const PAGE: usize = 256;

/// Serves workers parked here from partitions of other processes, with a pause behind each look.
pub(crate) async fn run(shared: Arc<Shared>) {
    loop {
        tokio::select! {
            biased;
            () = shared.stopped() => return,
            () = shared.board.remote_awaited.notified() => {}
        }
        let queues = shared.board.awaited_remote_queues();
        if queues.is_empty() {
            continue;
        }
        for queue in queues {
            match read(&shared, &queue).await {
                Ok(places) => shared.claim_matches(shared.board.match_remote(&queue, places, shared.clock.now())),
                Err(error) => {
                    tracing::warn!(%error, lane = %queue.lane, "remote work could not be read; trying again");
                }
            }
        }
        let pause = shared.clock.sleep(Span(PATIENCE.0 + shared.chance.word() % (APART + 1)));
        tokio::select! { biased; () = shared.stopped() => return, () = pause => {} }
    }
}

/// Finds remote work for a worker that does not wait: without a second look it takes what is there.
pub(crate) async fn look(shared: &Shared, wants: &Wants) -> Result<Vec<Origin>, Error> {
    for queue in shared.board.remote_for(wants) {
        let mut places = apart(shared, page(shared, &queue).await?);
        if !places.is_empty() {
            let rest = places.split_off(wants.max.min(places.len()));
            shared.board.leave_remote(&queue, rest, shared.clock.now());
            return Ok(places.into_iter().map(|place| (queue.clone(), place)).collect());
        }
    }
    Ok(Vec::new())
}

/// Adopts remote work that is more urgent than local work or has waited longer. Without it, work of a process whose
/// workers are stuck would wait until other processes are idle.
pub(crate) async fn help(shared: &Shared) {
    for (queue, first) in shared.board.perhaps_overtaken() {
        let is_overtaken = |place: &Position| {
            let since = |place: &Position| (urgency(place), Execution::ready_since(place.0));
            let (there, here) = (since(place), since(&first));
            there.0 < here.0 || (there.0 == here.0 && there.1 + OVERTAKEN < here.1)
        };
        match page(shared, &queue).await {
            Ok(mut places) => {
                places.retain(is_overtaken);
                shared.board.adopt(&queue, places);
            }
            Err(error) => tracing::debug!(%error, lane = %queue.lane, "remote work could not be read"),
        }
    }
}

fn urgency(place: &Position) -> u64 {
    Execution::ready_urgency(place.0)
}

/// Reads what other processes have left ready for long enough, the most urgent first.
async fn read(shared: &Shared, queue: &QueueKey) -> Result<Vec<Position>, Error> {
    let page = page(shared, queue).await?;
    Ok(apart(shared, shared.board.look_remote(queue, &page, shared.clock.now())))
}

/// Begins at a random one of the most urgent places, so that concurrent readers take different ones.
fn apart(shared: &Shared, mut places: Vec<Position>) -> Vec<Position> {
    let most_urgent = places.iter().take_while(|place| urgency(place) == urgency(&places[0])).count();
    if most_urgent > 0 {
        places[..most_urgent].rotate_left((shared.chance.word() % most_urgent as u64) as usize);
    }
    places
}

/// Reads what is ready in partitions of other processes.
async fn page(shared: &Shared, queue: &QueueKey) -> Result<Vec<Position>, Error> {
    shared.board.forget_remote(queue);
    let Some(elsewhere) = shared.board.near(queue).elsewhere(shared.partitions) else { return Ok(Vec::new()) };
    let pages = claims::pages_of(shared, vec![(queue.clone(), None)], &elsewhere, PAGE).await;
    let places = pages.map(|pages| pages.into_iter().flat_map(|(_, places, _)| places).collect::<Vec<_>>());
    if !matches!(&places, Ok(places) if places.is_empty()) {
        shared.board.note_remote(queue);
    }
    places
}
