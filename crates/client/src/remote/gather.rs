//! Calls that many tasks make at the same time, sent together: whoever comes while others are under way shares a request.

use crate::{Error, Result};
use futures_util::future::BoxFuture;
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use tokio::sync::{Semaphore, mpsc, oneshot};

/// Requests under way at the same time. More would be smaller and cost more each.
const REQUESTS_MAX: usize = 2;
/// The most that one request holds, and the most bytes.
const ITEMS_MAX: usize = 500;
const BYTES_MAX: usize = 1024 * 1024;

/// Something that can share a request with others.
pub(crate) trait Shareable: Send + 'static {
    /// What it is answered with.
    type Answer: Send + 'static;

    /// Whether it can share a request with another.
    fn goes_with(&self, other: &Self) -> bool;

    /// About how many bytes it takes.
    fn bytes(&self) -> usize;
}

type Waiting<I> = (I, oneshot::Sender<Result<<I as Shareable>::Answer>>);
type Send_<I> = Arc<dyn Fn(Vec<I>) -> BoxFuture<'static, Vec<Result<<I as Shareable>::Answer>>> + Send + Sync>;

/// Gathers calls of one kind.
pub(crate) struct Gather<I: Shareable>(mpsc::UnboundedSender<Waiting<I>>);

impl<I: Shareable> Clone for Gather<I> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<I: Shareable> fmt::Debug for Gather<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Gather(..)")
    }
}

impl<I: Shareable> Gather<I> {
    /// Sends with a function that answers one for each, in their order. Ends when the last clone is dropped.
    pub(crate) fn new<F>(send: F) -> Self
    where
        F: Fn(Vec<I>) -> BoxFuture<'static, Vec<Result<I::Answer>>> + Send + Sync + 'static,
    {
        let (sender, waiting) = mpsc::unbounded_channel();
        tokio::spawn(run(waiting, Arc::new(send)));
        Self(sender)
    }

    /// Has one sent, and waits for its answer.
    pub(crate) async fn call(&self, item: I) -> Result<I::Answer> {
        let (tell, told) = oneshot::channel();
        let gone = || Error::from(onward_engine::Error::ShuttingDown);
        self.0.send((item, tell)).map_err(|_| gone())?;
        told.await.map_err(|_| gone())?
    }
}

async fn run<I: Shareable>(mut waiting: mpsc::UnboundedReceiver<Waiting<I>>, send: Send_<I>) {
    let room = Arc::new(Semaphore::new(REQUESTS_MAX));
    let mut left: VecDeque<Waiting<I>> = VecDeque::new();
    loop {
        if left.is_empty() {
            match waiting.recv().await {
                Some(first) => left.push_back(first),
                None => return,
            }
        }
        let Ok(permit) = room.clone().acquire_owned().await else { return };
        // Whoever an answer has just woken may have something more to send; it is next in line to run.
        tokio::task::yield_now().await;
        while let Ok(more) = waiting.try_recv() {
            left.push_back(more);
        }
        let (items, tell): (Vec<I>, Vec<_>) = together(&mut left).into_iter().unzip();
        let send = send.clone();
        tokio::spawn(async move {
            let mut answers = send(items).await.into_iter();
            drop(permit);
            for tell in tell {
                let missing = || Err(Error::Unintelligible { why: "not all were answered".to_owned() });
                // Whoever does not wait any more misses nothing.
                let _gone = tell.send(answers.next().unwrap_or_else(missing)).is_err();
            }
        });
    }
}

/// The first in line, and those that can share a request with it.
fn together<I: Shareable>(left: &mut VecDeque<Waiting<I>>) -> Vec<Waiting<I>> {
    let mut taken: Vec<Waiting<I>> = Vec::new();
    let (mut bytes, mut rest) = (0, VecDeque::new());
    for item in left.drain(..) {
        let fits = match taken.first() {
            None => true,
            Some((first, _)) => {
                taken.len() < ITEMS_MAX && bytes + item.0.bytes() <= BYTES_MAX && item.0.goes_with(first)
            }
        };
        if fits {
            bytes += item.0.bytes();
            taken.push(item);
        } else {
            rest.push_back(item);
        }
    }
    *left = rest;
    taken
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[derive(Debug, PartialEq)]
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
        let gather = Gather::new(move |letters: Vec<Letter>| {
            let together: String = letters.iter().map(|letter| letter.0).collect();
            note.lock().unwrap().push(together.clone());
            Box::pin(async move { together.chars().map(Ok).collect() })
        });
        let calls = "aBcDe".chars().map(|letter| gather.call(Letter(letter, 1)));
        let answers = futures_util::future::join_all(calls).await;
        assert_eq!(answers.into_iter().map(Result::unwrap).collect::<String>(), "aBcDe");
        assert_eq!(*sent.lock().unwrap(), ["ace", "BD"]);
        let large = ['a', 'b'].map(|letter| gather.call(Letter(letter, BYTES_MAX)));
        futures_util::future::join_all(large).await;
        assert_eq!(sent.lock().unwrap()[2..], ["a", "b"], "large ones go alone");
    }

    #[tokio::test]
    async fn an_answer_that_is_missing_is_an_error() {
        let gather = Gather::new(|_: Vec<Letter>| Box::pin(async { Vec::new() }));
        assert_eq!(gather.call(Letter('a', 1)).await.unwrap_err().code(), "server_unintelligible");
    }
}
