//! Claims of one moment by the same worker, sent together; what comes is shared out, and who got nothing goes on waiting.

use super::exchange::{Exchange, Request};
use super::minimum_wait::MinimumWait;
use super::room::{Place, Room};
use super::undelivered::UndeliveredWork;
use super::{decode, encode};
use crate::wire::ClaimAnswer;
use crate::{Error, Result};
use futures_util::future::join_all;
use onward_core::{Claimed, Namespace, Span, limits};
use onward_engine::Wants;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// The most claims that wait at the same time, as many as calls may be under way.
const CLAIMS_MAX: usize = 100_000;
/// The most bytes of what they name: lanes, kinds and capabilities.
const CLAIMS_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Sends claims to a server.
#[derive(Debug, Clone)]
pub(super) struct Claims {
    queue: mpsc::UnboundedSender<QueuedClaim>,
    room: Room,
    /// How long a claim waits for room beyond what it waits for work.
    patience: Span,
}

/// A claim that is not answered yet, and where its answer goes.
#[derive(Debug)]
struct QueuedClaim {
    namespace: Namespace,
    wants: Wants,
    wait: Span,
    tell: oneshot::Sender<Result<UndeliveredWork>>,
    _place: Place,
}

/// About how many bytes a claim takes.
fn bytes(wants: &Wants) -> usize {
    const AROUND: usize = 512;
    let lanes: usize = wants.lanes.iter().map(|lane| lane.as_str().len()).sum();
    let kinds: usize = wants.kinds.iter().flat_map(|kinds| kinds.iter()).map(|kind| kind.as_str().len()).sum();
    let capabilities: usize = wants.capabilities.capabilities().map(|one| one.as_str().len()).sum();
    AROUND + lanes + kinds + capabilities
}

impl QueuedClaim {
    /// Whether both can share a request. One that asks for nothing is left to the server, which refuses it.
    fn goes_with(&self, other: &Self) -> bool {
        let wants = &other.wants;
        self.wants.max > 0
            && wants.max > 0
            && self.wait == other.wait
            && self.namespace == other.namespace
            && Wants { max: wants.max, ..self.wants.clone() } == *wants
    }
}

impl Claims {
    pub(super) fn new(exchange: Arc<Exchange>) -> Self {
        let (queue, claims) = mpsc::unbounded_channel();
        let (room, patience) = (Room::new(CLAIMS_MAX, CLAIMS_BYTES_MAX), exchange.patience());
        tokio::spawn(run(exchange, claims));
        Self { queue, room, patience }
    }

    /// Claims work, and waits for the first if there is none.
    pub(super) async fn call(&self, namespace: Namespace, wants: Wants, wait: Span) -> Result<Vec<Claimed>> {
        let place = self.room.enter(bytes(&wants), wait + self.patience).await?;
        let (tell, told) = oneshot::channel();
        let gone = || Error::from(onward_engine::Error::ShuttingDown);
        self.queue.send(QueuedClaim { namespace, wants, wait, tell, _place: place }).map_err(|_| gone())?;
        Ok(told.await.map_err(|_| gone())??.accept())
    }
}

async fn run(exchange: Arc<Exchange>, mut claims: mpsc::UnboundedReceiver<QueuedClaim>) {
    while let Some(first) = claims.recv().await {
        let mut all = vec![first];
        // Whoever an answer has just woken may want something too; it is next in line to run.
        tokio::task::yield_now().await;
        while let Ok(more) = claims.try_recv() {
            all.push(more);
        }
        while let Some(first) = all.first() {
            let mut room = limits::CALL_ITEMS_MAX.saturating_sub(first.wants.max);
            let mut fits = |other: &QueuedClaim| {
                let fits = other.goes_with(first) && other.wants.max <= room;
                room -= if fits { other.wants.max } else { 0 };
                fits
            };
            let goes: Vec<bool> = all.iter().enumerate().map(|(at, other)| at == 0 || fits(other)).collect();
            let mut goes = goes.into_iter();
            let (group, rest) = all.into_iter().partition(|_| goes.next().unwrap_or(false));
            all = rest;
            tokio::spawn(together(exchange.clone(), group));
        }
    }
}

/// Asks until everybody of the group has something, or the time is up.
async fn together(exchange: Arc<Exchange>, mut group: Vec<QueuedClaim>) {
    let began = exchange.here();
    while let Some(first) = group.first() {
        let wait = first.wait - (exchange.here() - began);
        let wants = Wants { max: group.iter().map(|one| one.wants.max).sum(), ..first.wants.clone() };
        let (namespace, minimum) = (first.namespace.clone(), MinimumWait::start(wait));
        let answer = tokio::select! {
            biased;
            answer = ask(&exchange, &namespace, wants, wait) => answer,
            // A request that is dropped closes its connection, so that the server gives nothing out for it.
            _ = join_all(group.iter_mut().map(|one| one.tell.closed())) => return,
        };
        let claimed = match answer {
            Ok(claimed) => claimed,
            Err(error) => return group.into_iter().for_each(|one| tell(one, Err(error.clone()))),
        };
        let over = claimed.is_empty() || wait == Span(0);
        group = share_out(group, claimed, |claimed| UndeliveredWork::new(&exchange, &namespace, claimed));
        if over {
            minimum.elapsed().await;
            let nothing = || UndeliveredWork::new(&exchange, &namespace, Vec::new());
            group.drain(..).for_each(|one| tell(one, Ok(nothing())));
        }
    }
}

async fn ask(exchange: &Exchange, namespace: &Namespace, wants: Wants, wait: Span) -> Result<Vec<Claimed>> {
    let body = encode::claim(wants, wait);
    // A repeat would take more; whoever waits for work asks again.
    let request = Request::post(namespace, "/v1/work/claim", &body)?.waiting(wait).once();
    let answer: ClaimAnswer = exchange.ask(request).await?;
    answer.executions.into_iter().map(decode::claimed).collect()
}

/// Gives each as much as it wants, in order; the answer is who got nothing. What nobody wants any more is given back.
fn share_out(
    group: Vec<QueuedClaim>,
    claimed: Vec<Claimed>,
    wrap: impl Fn(Vec<Claimed>) -> UndeliveredWork,
) -> Vec<QueuedClaim> {
    let (mut without, mut left) = (Vec::new(), claimed.into_iter());
    for one in group {
        if one.tell.is_closed() {
            continue;
        }
        let share: Vec<Claimed> = left.by_ref().take(one.wants.max).collect();
        if share.is_empty() {
            without.push(one);
        } else {
            tell(one, Ok(wrap(share)));
        }
    }
    drop(wrap(left.collect()));
    without
}

/// Answers one; what it does not hear is dropped, and so given back.
fn tell(one: QueuedClaim, answer: Result<UndeliveredWork>) {
    let _unheard = one.tell.send(answer).is_err();
}
