//! How commits travel: while calls of a tag are on their way, all that arrive for it wait and go together in the next.

use super::commit::{self, Done};
use super::keys::Keys;
use super::net::{Net, Repeat, rest};
use super::{ValkeyState, fault, script, watch};
use crate::check::Plan;
use crate::pending_hints::{MERGED_OVER, PendingHints};
use crate::{Error, ErrorKind, Outcome, Result, Stats};
use futures_util::future::{MaybeDone, maybe_done};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use parking_lot::Mutex;
use redis::Value;
use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// How many callers' groups may wait for one tag before further callers wait to be taken.
pub(super) const WAITING_MAX: usize = 1024;
/// Calls of one tag on their way at the same time: while the server works on one, the next is packed and arrives. The
/// server takes them in the order in which they were sent; one that overtakes another after a failure meets versions that
/// it does not expect, and is refused.
const CALLS_MAX: usize = 3;
/// As long as a call is on its way, another one goes out only for this many records: fewer had better gather.
const SECOND_WRITES_MIN: usize = 12;
/// The most batches in one call, so that the server serves others between.
const CALL_BATCHES_MAX: usize = 256;
/// The bytes after which a call takes no further batch.
const CALL_BYTES_MAX: usize = 4 * 1024 * 1024;
/// What a key, place or event counts beside its payload: a call of nothing but names also keeps the server busy.
const VALUE_BYTES: usize = 200;
/// How long the server waits for its replicas, in milliseconds; well within the time a call may take.
const REPLICAS_WAIT_MS: u32 = 2_000;

/// One caller's batches of one tag.
pub(super) struct Request {
    pub(super) plans: Vec<Plan>,
    pub(super) reply: oneshot::Sender<Vec<Result<Outcome>>>,
}

/// Requests that wait for the next call.
#[derive(Default)]
struct RequestQueue {
    requests: VecDeque<Request>,
    batches: usize,
    writes: usize,
}

impl RequestQueue {
    fn has_room(&self) -> bool {
        self.batches < CALL_BATCHES_MAX
    }

    fn add(&mut self, request: Request) {
        self.batches += request.plans.len();
        self.writes += writes(&request);
        self.requests.push_back(request);
    }

    /// The first ones, as many as go well together.
    fn take(&mut self) -> Vec<Request> {
        let (mut batches, mut bytes, mut group) = (0, 0, Vec::new());
        while batches < CALL_BATCHES_MAX
            && bytes < CALL_BYTES_MAX
            && let Some(request) = self.requests.pop_front()
        {
            batches += request.plans.len();
            self.writes -= writes(&request);
            bytes += request.plans.iter().map(weight).sum::<usize>();
            group.push(request);
        }
        self.batches -= batches;
        group
    }
}

/// Commits for one tag.
pub(super) struct Committer {
    pub(super) net: Arc<Net>,
    pub(super) keys: Arc<Keys>,
    pub(super) tag: usize,
    pub(super) state: Arc<ValkeyState>,
    pub(super) hints: Mutex<HintState>,
}

/// The hints of a tag that are not sent yet, and whether one was sent less than [`MERGED_OVER`] ago.
#[derive(Debug, Default)]
pub(super) struct HintState {
    pending: PendingHints,
    is_resting: bool,
}

impl Committer {
    /// Serves until the store is closed or dropped, and then finishes what was accepted.
    pub(super) async fn serve(self, mut requests: mpsc::Receiver<Request>, closed: CancellationToken) {
        let (mut open, mut ended, mut queue) = (true, false, RequestQueue::default());
        let mut calls = FuturesUnordered::new();
        let mut resting = pin!(MaybeDone::Gone);
        loop {
            while queue.has_room()
                && let Ok(request) = requests.try_recv()
            {
                queue.add(request);
            }
            let least = if calls.is_empty() { 1 } else { SECOND_WRITES_MIN };
            if calls.len() < CALLS_MAX && queue.writes >= least {
                let mut call = Box::pin(self.group(queue.take()));
                // The first poll sends it.
                if call.as_mut().now_or_never().is_none() {
                    calls.push(call);
                }
                continue;
            }
            if calls.is_empty() {
                self.tell().await;
            }
            if self.hints.lock().is_resting && matches!(*resting, MaybeDone::Gone) {
                resting.set(maybe_done(rest(MERGED_OVER)));
            }
            tokio::select! {
                biased;
                Some(()) = calls.next(), if !calls.is_empty() => {}
                () = &mut resting, if matches!(*resting, MaybeDone::Future(_)) => {
                    resting.set(MaybeDone::Gone);
                    self.hints.lock().is_resting = false;
                }
                () = closed.cancelled(), if open && !ended => {
                    open = false;
                    requests.close();
                }
                request = requests.recv(), if !ended && queue.has_room() => match request {
                    Some(request) => queue.add(request),
                    None => ended = true,
                },
                // Nothing is on its way and nothing will come.
                else => return,
            }
        }
    }

    /// Commits a group and answers everybody in it.
    async fn group(&self, group: Vec<Request>) {
        let plans: Vec<&Plan> = group.iter().flat_map(|request| &request.plans).collect();
        let mut answers = Vec::with_capacity(plans.len());
        let mut rest = plans.as_slice();
        while !rest.is_empty() {
            let (part, behind) = rest.split_at(one_call(rest));
            answers.extend(self.part(part).await);
            rest = behind;
        }
        let mut answers = answers.into_iter();
        for request in group {
            let own = answers.by_ref().take(request.plans.len()).collect();
            // A caller that went away has no use for the answer.
            let _ = request.reply.send(own);
        }
    }

    async fn part(&self, plans: &[&Plan]) -> Vec<Result<Outcome>> {
        match self.call(plans).await {
            Ok(done) => done,
            Err(error) if error.kind() == ErrorKind::Full && plans.iter().any(|plan| !commit::grows(&plan.batch)) => {
                self.without_growth(plans, &error).await
            }
            Err(error) => plans.iter().map(|_| Err(error.again())).collect(),
        }
    }

    /// When there is no room, what makes room or needs none still goes on.
    async fn without_growth(&self, plans: &[&Plan], full: &Error) -> Vec<Result<Outcome>> {
        let lean: Vec<&Plan> = plans.iter().copied().filter(|plan| !commit::grows(&plan.batch)).collect();
        let mut done = match self.call(&lean).await {
            Ok(done) => done.into_iter(),
            Err(error) => lean.iter().map(|_| Err(error.again())).collect::<Vec<_>>().into_iter(),
        };
        let answer = |plan: &&Plan| if commit::grows(&plan.batch) { Err(full.again()) } else { next(&mut done) };
        plans.iter().map(answer).collect()
    }

    async fn call(&self, plans: &[&Plan]) -> Result<Vec<Result<Outcome>>> {
        let tag = &self.keys.tags()[self.tag];
        let hint = self.hint(plans);
        let tells = !hint.is_empty();
        let wait = self.net.address().wait;
        // A batch that only checks answers by commits that others may have written, and those must not be lost either.
        let marks = wait > 0 && plans.iter().any(|plan| plan.batch.is_check_only());
        let command = commit::command(&self.keys, tag, plans, &self.state, (hint, marks));
        let mut commands = script::alone(command);
        if wait > 0 {
            commands.cmd("WAIT").arg(wait).arg(REPLICAS_WAIT_MS);
        }
        let answers = self.net.call(tag.slot, &commands, Repeat::Never).await;
        if answers.is_err() && tells {
            plans.iter().take(1).for_each(|plan| self.hints.lock().pending.blur(plan.batch.partition));
        }
        let mut answers = answers?.into_iter();
        let done = commit::outcomes(plans, answers.next().unwrap_or_default())?;
        if wait > 0 {
            replicated(wait, answers.next().as_ref())?;
        }
        Ok(self.count(done))
    }

    /// The hint that a call sends along, of its own batches and of those before it; empty when one was sent just now.
    fn hint(&self, plans: &[&Plan]) -> Vec<u8> {
        let mut hints = self.hints.lock();
        let writing = plans.iter().filter(|plan| !plan.batch.is_check_only());
        writing.for_each(|plan| hints.pending.add(&plan.batch));
        self.take_hint(&mut hints).unwrap_or_default()
    }

    fn take_hint(&self, hints: &mut HintState) -> Option<Vec<u8>> {
        if hints.is_resting || hints.pending.is_empty() {
            return None;
        }
        hints.is_resting = true;
        Some(watch::message(self.state.origin, &hints.pending.take()))
    }

    /// Sends the hint that no call took along.
    async fn tell(&self) {
        let hint = self.take_hint(&mut self.hints.lock());
        let Some(hint) = hint else { return };
        let tag = &self.keys.tags()[self.tag];
        let mut command = redis::cmd("SPUBLISH");
        command.arg(&tag.channel).arg(hint);
        // A hint that is lost costs time and nothing else.
        let _ = self.net.call(tag.slot, &script::alone(command), Repeat::Never).await;
    }

    fn count(&self, done: Vec<Done>) -> Vec<Result<Outcome>> {
        let mut group = Stats::default();
        for (outcome, cost) in done.iter().flatten() {
            match outcome {
                Outcome::Committed { .. } => group.batches += 1,
                Outcome::Conflict { .. } => group.conflicts += 1,
                Outcome::Outside { .. } => {}
            }
            cost.add_to(&mut group);
        }
        group.groups = u64::from(group.rows > 0);
        self.state.count(group);
        done.into_iter().map(|done| done.map(|(outcome, _)| outcome)).collect()
    }
}

fn writes(request: &Request) -> usize {
    request.plans.iter().map(Plan::writes).sum()
}

/// How many batches from the first on make one call.
fn one_call(plans: &[&Plan]) -> usize {
    let mut bytes = 0;
    let fits = |plan: &&&Plan| {
        bytes += weight(plan);
        bytes <= CALL_BYTES_MAX
    };
    plans.iter().take(CALL_BATCHES_MAX).take_while(fits).count().max(1)
}

/// What a batch adds to a call.
fn weight(plan: &Plan) -> usize {
    let batch = &plan.batch;
    let places: usize = batch.put.iter().map(|record| record.entries.len()).sum();
    let beside = batch.append.len() + batch.events.len() + batch.trim.len() + batch.mend.len();
    plan.bytes + VALUE_BYTES * (batch.expect.len() + places + beside)
}

/// Whether enough replicas have what was written; without them the outcome is unknown, since a failover may undo it.
fn replicated(wait: u32, answer: Option<&Value>) -> Result<()> {
    match answer {
        Some(Value::Int(acknowledged)) if *acknowledged >= i64::from(wait) => Ok(()),
        Some(Value::Int(acknowledged)) => {
            let message = format!("only {acknowledged} of {wait} replicas have the commit: bring the others back");
            Err(Error::new(ErrorKind::Unavailable, message))
        }
        _ => Err(Error::new(ErrorKind::Unavailable, "the server does not tell how many replicas have the commit")),
    }
}

fn next(done: &mut impl Iterator<Item = Result<Outcome>>) -> Result<Outcome> {
    done.next().unwrap_or_else(|| Err(fault::corrupt("an outcome is missing")))
}
