//! The answers to many commands of one call, gathered until the last is there.

use crate::Error;
use onward_core::Reply;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::oneshot;

/// The answers of one call; those that nobody gave are open.
pub(crate) type Answers = Vec<Option<Result<Reply, Error>>>;

/// Where the answers of one call meet.
#[derive(Debug)]
struct Collection {
    answers: Answers,
    left: usize,
    caller: Option<oneshot::Sender<Answers>>,
}

/// The right to give one of the answers. A ticket that is dropped leaves its answer open.
#[derive(Debug)]
pub(crate) struct Ticket {
    collection: Arc<Mutex<Collection>>,
    at: usize,
}

/// As many tickets as asked for, and where all answers arrive, in the order of the tickets.
pub(crate) fn tickets(count: usize) -> (Vec<Ticket>, oneshot::Receiver<Answers>) {
    let (caller, receiver) = oneshot::channel();
    let answers = (0..count).map(|_| None).collect();
    let collection = Arc::new(Mutex::new(Collection { answers, left: count, caller: Some(caller) }));
    let tickets = (0..count).map(|at| Ticket { collection: collection.clone(), at }).collect();
    (tickets, receiver)
}

impl Ticket {
    pub(crate) fn answer(self, answer: Result<Reply, Error>) {
        let mut collection = self.collection.lock().unwrap_or_else(PoisonError::into_inner);
        collection.answers[self.at] = Some(answer);
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut collection = self.collection.lock().unwrap_or_else(PoisonError::into_inner);
        collection.left -= 1;
        if collection.left == 0
            && let Some(caller) = collection.caller.take()
        {
            // A caller that has gone away has no use for the answers.
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
        tickets.remove(2).answer(Ok(Reply::Completed));
        drop(tickets.remove(1));
        assert!(receiver.try_recv().is_err(), "one is still missing");
        tickets.remove(0).answer(Err(Error::Contended));
        let answers = receiver.try_recv().unwrap();
        assert!(matches!(answers[..], [Some(Err(Error::Contended)), None, Some(Ok(Reply::Completed))]));
    }
}
