//! Collects the answers to the commands of one call until the last one is there.

use crate::Error;
use onward_core::Reply;
use parking_lot::Mutex;
use std::sync::Arc;
use tokio::sync::oneshot;

/// The answers of one call; `None` where a ticket was dropped.
pub(crate) type Answers = Vec<Option<Result<Reply, Error>>>;

/// Collects the answers of one call.
#[derive(Debug)]
struct Collection {
    answers: Answers,
    left: usize,
    caller: Option<oneshot::Sender<Answers>>,
}

/// The right to give one of the answers. A dropped ticket leaves its answer open.
#[derive(Debug)]
pub(crate) struct Ticket {
    collection: Arc<Mutex<Collection>>,
    at: usize,
}

/// Returns `count` tickets and the receiver of all answers, in the order of the tickets.
pub(crate) fn tickets(count: usize) -> (Vec<Ticket>, oneshot::Receiver<Answers>) {
    let (caller, receiver) = oneshot::channel();
    let answers = (0..count).map(|_| None).collect();
    let collection = Arc::new(Mutex::new(Collection { answers, left: count, caller: Some(caller) }));
    let tickets = (0..count).map(|at| Ticket { collection: collection.clone(), at }).collect();
    (tickets, receiver)
}

impl Ticket {
    pub(crate) fn answer(self, answer: Result<Reply, Error>) {
        let mut collection = self.collection.lock();
        collection.answers[self.at] = Some(answer);
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut collection = self.collection.lock();
        collection.left -= 1;
        if collection.left == 0
            && let Some(caller) = collection.caller.take()
        {
            // A caller that has gone does not need the answers.
            let _ = caller.send(std::mem::take(&mut collection.answers));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_keep_their_places_and_a_lost_ticket_holds_nobody_up() {
        let (mut tickets, mut receiver) = tickets(3);
        tickets.remove(2).answer(Ok(Reply::Forget(())));
        drop(tickets.remove(1));
        assert!(receiver.try_recv().is_err(), "one is still missing");
        tickets.remove(0).answer(Err(Error::Contended));
        let answers = receiver.try_recv().unwrap();
        assert!(matches!(answers[..], [Some(Err(Error::Contended)), None, Some(Ok(Reply::Forget(())))]));
    }
}
