//! Batches concurrent calls of many tasks into few requests.

use super::room::{Place, Room};
use crate::{Error, Result};
use futures_util::future::{BoxFuture, join_all};
use onward_core::Span;
use onward_engine::clock::{Clock, SystemClock};
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::{Semaphore, mpsc, oneshot};

/// Requests under way at the same time while they are answered quickly. More would be smaller and cost more each.
const REQUESTS: usize = 2;
/// How long a call waits for one of those to be answered before it is sent beside them, and how many such there are.
const WAIT: Span = Span(3);
const REQUESTS_MORE: usize = 14;
/// The most that one request holds, and the most bytes.
const ITEMS_MAX: usize = 500;
const BYTES_MAX: usize = 1024 * 1024;
/// The most calls that are in memory, sent or not: twice as many as all requests under way can hold.
const CALLS_MAX: usize = 2 * (REQUESTS + REQUESTS_MORE) * ITEMS_MAX;
/// The most bytes of them: four times as many.
const CALLS_BYTES_MAX: usize = 4 * (REQUESTS + REQUESTS_MORE) * BYTES_MAX;

/// Something that can share a request with others.
pub(crate) trait Shareable: Clone + Send + 'static {
    /// What it is answered with.
    type Answer: Send + 'static;

    /// Whether it can share a request with another.
    fn goes_with(&self, other: &Self) -> bool;

    /// About how many bytes it takes.
    fn bytes(&self) -> usize;
}

/// A call that is not sent yet, where its answer goes, and the room that it takes until then.
struct QueuedCall<I: Shareable> {
    item: I,
    tell: oneshot::Sender<Result<I::Answer>>,
    place: Place,
}

type Answers<I> = Result<Vec<Result<<I as Shareable>::Answer>>>;
type Send_<I> = Arc<dyn Fn(Vec<I>) -> BoxFuture<'static, Answers<I>> + Send + Sync>;

/// Gathers calls of one kind.
pub(crate) struct Gather<I: Shareable> {
    queue: mpsc::UnboundedSender<QueuedCall<I>>,
    room: Room,
    /// How long a call waits for room.
    patience: Span,
    /// Requests that went out.
    turn: Arc<AtomicUsize>,
}

impl<I: Shareable> Clone for Gather<I> {
    fn clone(&self) -> Self {
        let (queue, room, turn) = (self.queue.clone(), self.room.clone(), self.turn.clone());
        Self { queue, room, patience: self.patience, turn }
    }
}

impl<I: Shareable> fmt::Debug for Gather<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Gather(..)")
    }
}

impl<I: Shareable> Gather<I> {
    /// Sends with a function that answers one for each, in their order, or that none was looked at. Ends when the last clone
    /// is dropped.
    pub(crate) fn new<F>(patience: Span, send: F) -> Self
    where
        F: Fn(Vec<I>) -> BoxFuture<'static, Answers<I>> + Send + Sync + 'static,
    {
        Self::within(Room::new(CALLS_MAX, CALLS_BYTES_MAX), patience, send)
    }

    fn within<F>(room: Room, patience: Span, send: F) -> Self
    where
        F: Fn(Vec<I>) -> BoxFuture<'static, Answers<I>> + Send + Sync + 'static,
    {
        let (queue, calls) = mpsc::unbounded_channel();
        let turn = Arc::<AtomicUsize>::default();
        tokio::spawn(run(calls, Arc::new(send), turn.clone()));
        Self { queue, room, patience, turn }
    }

    /// A number that most of those have in common which will share a request.
    pub(crate) fn turn(&self) -> usize {
        self.turn.load(Ordering::Relaxed)
    }

    /// The same for a request of its own.
    pub(crate) fn next_turn(&self) -> usize {
        self.turn.fetch_add(1, Ordering::Relaxed)
    }

    /// Has one sent, once there is room for it, and waits for its answer.
    pub(crate) async fn call(&self, item: I) -> Result<I::Answer> {
        let place = self.room.enter(item.bytes(), self.patience).await?;
        let (tell, told) = oneshot::channel();
        let gone = || Error::from(onward_engine::Error::ShuttingDown);
        self.queue.send(QueuedCall { item, tell, place }).map_err(|_| gone())?;
        told.await.map_err(|_| gone())?
    }
}

async fn run<I: Shareable>(mut calls: mpsc::UnboundedReceiver<QueuedCall<I>>, send: Send_<I>, turn: Arc<AtomicUsize>) {
    let (room, more) = (Arc::new(Semaphore::new(REQUESTS)), Arc::new(Semaphore::new(REQUESTS_MORE)));
    let mut left: VecDeque<QueuedCall<I>> = VecDeque::new();
    loop {
        if left.is_empty() {
            match calls.recv().await {
                Some(first) => left.push_back(first),
                None => return,
            }
        }
        // A network is as slow as it is, whatever clock a test holds.
        let permit = tokio::select! {
            biased;
            permit = room.clone().acquire_owned() => permit,
            permit = async {
                SystemClock.sleep(WAIT).await;
                more.clone().acquire_owned().await
            } => permit,
        };
        let Ok(permit) = permit else { return };
        // Whoever an answer has just woken may have something more to send; it is next in line to run.
        tokio::task::yield_now().await;
        while let Ok(more) = calls.try_recv() {
            left.push_back(more);
        }
        // What nobody waits for any more was not sent, and so it stays.
        left.retain(|call| !call.tell.is_closed());
        let calls = together(&mut left).into_iter().map(|QueuedCall { item, tell, place }| (item, (tell, place)));
        let (items, waiting): (Vec<I>, Vec<_>) = calls.unzip();
        if items.is_empty() {
            continue;
        }
        turn.fetch_add(1, Ordering::Relaxed);
        let send = send.clone();
        tokio::spawn(async move {
            let mut answers = each(&send, items).await.into_iter();
            drop(permit);
            for (tell, place) in waiting {
                let missing = || Err(Error::Unintelligible { why: "not all were answered".to_owned() });
                // What nobody hears is dropped, which gives back what it holds.
                let _unheard = tell.send(answers.next().unwrap_or_else(missing)).is_err();
                drop(place);
            }
        });
    }
}

/// Sends several together. When the request is refused as a whole, each is sent alone: one may be at fault, or their sum.
async fn each<I: Shareable>(send: &Send_<I>, items: Vec<I>) -> Vec<Result<I::Answer>> {
    let alone = items.clone();
    match send(items).await {
        Ok(answers) => answers,
        Err(error) if alone.len() > 1 && error.is_argument() => {
            let sent = alone.into_iter().map(|item| send(vec![item]));
            let missing = || Error::Unintelligible { why: "nothing was answered".to_owned() };
            let one = |answers: Answers<I>| answers.and_then(|mut answers| answers.pop().ok_or_else(missing)?);
            join_all(sent).await.into_iter().map(one).collect()
        }
        Err(error) => alone.iter().map(|_| Err(error.clone())).collect(),
    }
}

/// The first in line, and those that can share a request with it.
fn together<I: Shareable>(left: &mut VecDeque<QueuedCall<I>>) -> Vec<QueuedCall<I>> {
    let mut taken: Vec<QueuedCall<I>> = Vec::new();
    let (mut bytes, mut rest) = (0, VecDeque::new());
    for call in left.drain(..) {
        let more = call.item.bytes();
        let fits = match taken.first() {
            None => true,
            Some(first) => taken.len() < ITEMS_MAX && bytes + more <= BYTES_MAX && call.item.goes_with(&first.item),
        };
        if fits {
            bytes += more;
            taken.push(call);
        } else {
            rest.push_back(call);
        }
    }
    *left = rest;
    taken
}

#[cfg(test)]
mod tests {
    use super::*;
    use parking_lot::Mutex;

    #[derive(Debug, Clone, PartialEq)]
    struct Letter(char, usize);

    impl Shareable for Letter {
        type Answer = char;

        fn goes_with(&self, other: &Self) -> bool {
            self.0.is_uppercase() == other.0.is_uppercase()
        }

        fn bytes(&self) -> usize {
            self.1
        }
    }

    #[tokio::test]
    async fn calls_of_one_moment_share_a_request_with_their_like() {
        let sent = Arc::new(Mutex::new(Vec::new()));
        let note = sent.clone();
        let gather = Gather::new(Span::days(1), move |letters: Vec<Letter>| {
            let together: String = letters.iter().map(|letter| letter.0).collect();
            note.lock().push(together.clone());
            Box::pin(async move { Ok(together.chars().map(Ok).collect()) })
        });
        let calls = "aBcDe".chars().map(|letter| gather.call(Letter(letter, 1)));
        let answers = join_all(calls).await;
        assert_eq!(answers.into_iter().map(Result::unwrap).collect::<String>(), "aBcDe");
        assert_eq!(*sent.lock(), ["ace", "BD"]);
        let large = ['a', 'b'].map(|letter| gather.call(Letter(letter, BYTES_MAX)));
        join_all(large).await;
        assert_eq!(sent.lock()[2..], ["a", "b"], "large ones go alone");
    }

    #[tokio::test]
    async fn a_request_that_is_refused_as_a_whole_is_sent_in_pieces() {
        let gather = Gather::new(Span::days(1), move |letters: Vec<Letter>| {
            Box::pin(async move {
                let refused = onward_core::Rejection::InvalidArgument { field: "all", why: "too much".to_owned() };
                if letters.len() > 1 || letters[0].0 == 'x' { Err(refused.into()) } else { Ok(vec![Ok(letters[0].0)]) }
            })
        });
        let calls = "axb".chars().map(|letter| gather.call(Letter(letter, 1)));
        let answers = join_all(calls).await;
        assert_eq!(answers.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, true]);
    }

    #[tokio::test]
    async fn so_many_calls_are_in_memory_and_more_wait_or_are_refused() {
        let (open, sent) = (Arc::new(Semaphore::new(0)), Arc::new(Mutex::new(0)));
        let within = |patience| {
            let (gate, count) = (open.clone(), sent.clone());
            Gather::within(Room::new(4, 64 * 1024), patience, move |letters: Vec<Letter>| {
                let (gate, count) = (gate.clone(), count.clone());
                Box::pin(async move {
                    *count.lock() += letters.len();
                    let _gone = gate.acquire().await.map(tokio::sync::SemaphorePermit::forget);
                    *count.lock() -= letters.len();
                    Ok(letters.iter().map(|letter| Ok(letter.0)).collect())
                })
            })
        };
        let patient = within(Span::days(1));
        let calls: Vec<_> = "abcdefghij"
            .chars()
            .map(|letter| {
                let gather = patient.clone();
                tokio::spawn(async move { gather.call(Letter(letter, 1)).await })
            })
            .collect();
        while *sent.lock() < 4 {
            tokio::task::yield_now().await;
        }
        for _ in 0..100 {
            tokio::task::yield_now().await;
            assert_eq!(*sent.lock(), 4, "the others are not in line yet");
        }
        open.add_permits(100);
        let answers = join_all(calls).await.into_iter().map(|call| call.unwrap().unwrap());
        assert_eq!(answers.collect::<String>(), "abcdefghij");

        let _closed = open.forget_permits(100);
        let hasty = within(Span(1));
        let held = [0, 1, 2, 3].map(|_| {
            let gather = hasty.clone();
            tokio::spawn(async move { gather.call(Letter('x', 1)).await })
        });
        while *sent.lock() < 4 {
            tokio::task::yield_now().await;
        }
        assert_eq!(hasty.call(Letter('y', 1)).await.unwrap_err().code(), "overloaded");
        open.add_permits(100);
        assert!(join_all(held).await.into_iter().all(|call| call.unwrap().is_ok()), "what was let in goes on");
    }

    #[tokio::test]
    async fn an_answer_that_is_missing_is_an_error() {
        let gather = Gather::new(Span::days(1), |_: Vec<Letter>| Box::pin(async { Ok(Vec::new()) }));
        assert_eq!(gather.call(Letter('a', 1)).await.unwrap_err().code(), "server_unintelligible");
    }
}
