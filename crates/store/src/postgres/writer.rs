//! How commits reach the server: each writer sends all that wait for it as one call, and more gather meanwhile.
//!
//! Partitions are divided among the writers, so that the server works on the commits of one while those of another become
//! durable; those of one partition go one after the other.

use super::Shared;
use super::group::{self, Arrays};
use super::link::Link;
use crate::check::{self, Plan};
use crate::cost::Cost;
use crate::{Error, ErrorKind, Key, Outcome, Result, Stats, Trim};
use futures_util::future::join_all;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// How many connections write.
pub(super) const WRITERS: usize = 2;
/// The most batches in one call, so that the first of them does not wait for a crowd.
const GROUP_BATCHES_MAX: usize = 256;
/// The most payload bytes after which a call takes no further batch.
const GROUP_BYTES_MAX: usize = 4 * 1024 * 1024;
/// How many callers' groups may wait for the writer before further callers wait to be taken.
pub(super) const REQUESTS_WAITING_MAX: usize = 4096;

/// What the writer is asked to do.
pub(super) enum Request {
    /// Commit these batches, in order, and answer.
    Commit(Vec<Plan>, oneshot::Sender<Result<Vec<Outcome>>>),
    /// Finish, and take no more.
    Close,
}

/// One caller's batches and what came of them so far.
struct Waiting {
    plans: VecDeque<Plan>,
    outcomes: Vec<Outcome>,
    is_written: bool,
    reply: oneshot::Sender<Result<Vec<Outcome>>>,
}

/// Batches that go out in one call, each with its caller's place in the queue.
#[derive(Default)]
struct Group {
    members: Vec<(usize, Plan)>,
    written: BTreeSet<Key>,
    bytes: usize,
    is_closed: bool,
}

/// Serves requests until the store is closed.
pub(super) async fn run(link: Link, mut requests: mpsc::Receiver<Request>, shared: Arc<Shared>) {
    let mut queue: VecDeque<Waiting> = VecDeque::new();
    loop {
        if queue.is_empty() {
            match requests.recv().await {
                None => break,
                Some(request) => take(request, &mut queue, &mut requests),
            }
        }
        while queue.len() < GROUP_BATCHES_MAX
            && let Ok(request) = requests.try_recv()
        {
            take(request, &mut queue, &mut requests);
        }
        if !queue.is_empty() {
            let group = gather(&mut queue);
            let result = send(&link, &group, &shared).await;
            answer(&mut queue, &group, result, &shared);
        }
    }
    link.close().await;
}

fn take(request: Request, queue: &mut VecDeque<Waiting>, requests: &mut mpsc::Receiver<Request>) {
    match request {
        Request::Commit(plans, reply) => {
            queue.push_back(Waiting { plans: plans.into(), outcomes: Vec::new(), is_written: false, reply });
        }
        Request::Close => requests.close(),
    }
}

/// Takes from each caller, first come first served, as many batches as can go out together.
fn gather(queue: &mut VecDeque<Waiting>) -> Group {
    let mut group = Group::default();
    for (at, waiting) in queue.iter_mut().enumerate() {
        while let Some(plan) = waiting.plans.pop_front() {
            if !group.takes(&plan) {
                waiting.plans.push_front(plan);
                break;
            }
            group.add(at, plan);
        }
    }
    group
}

impl Group {
    /// Whether a batch can join: the server checks all before it writes any, so nothing may build on an earlier one here.
    fn takes(&self, plan: &Plan) -> bool {
        if self.members.is_empty() {
            return true;
        }
        let has_room = self.members.len() < GROUP_BATCHES_MAX && self.bytes + plan.bytes <= GROUP_BYTES_MAX;
        let builds_on = |(key, _): &(Key, _)| self.written.contains(key);
        has_room && !self.is_closed && !moves_feed(plan) && !plan.batch.expect.iter().any(builds_on)
    }

    fn add(&mut self, at: usize, plan: Plan) {
        let batch = &plan.batch;
        self.written.extend(batch.put.iter().map(|record| record.key.clone()));
        self.written.extend(batch.delete.iter().cloned());
        self.written.extend(batch.append.iter().map(|append| append.log.clone()));
        self.written.extend(batch.mend.iter().map(|mend| mend.key.clone()));
        for trim in &batch.trim {
            if let Trim::Log { log, .. } = trim {
                self.written.insert(log.clone());
            }
        }
        self.bytes += plan.bytes;
        self.is_closed |= moves_feed(&plan);
        self.members.push((at, plan));
    }
}

/// Whether a batch trims or raises its feed, which is only right alone.
fn moves_feed(plan: &Plan) -> bool {
    plan.batch.feed_above > 0 || plan.batch.trim.iter().any(|trim| matches!(trim, Trim::Feed { .. }))
}

async fn send(link: &Link, group: &Group, shared: &Shared) -> Result<group::Answer> {
    let plans: Vec<&Plan> = group.members.iter().map(|(_, plan)| plan).collect();
    let held = shared.clock.as_ref().map(|clock| clock());
    let arrays = Arrays::of(shared.lock_id, held, &plans);
    let rows = link.commit(&arrays.values()).await?;
    group::answer(&plans, rows)
}

/// Tells every caller whose last batch went out what came of them all.
fn answer(queue: &mut VecDeque<Waiting>, group: &Group, result: Result<group::Answer>, shared: &Shared) {
    let mut failures: Vec<Option<Error>> = queue.iter().map(|_| None).collect();
    match result {
        Ok(answer) => {
            count(&answer.results, answer.cost, shared);
            for ((at, plan), result) in group.members.iter().zip(answer.results) {
                match result {
                    Ok(outcome) => {
                        if matches!(outcome, Outcome::Committed { .. }) && !plan.batch.is_check_only() {
                            queue[*at].is_written = true;
                            shared.wakes.committed(&plan.batch);
                        }
                        queue[*at].outcomes.push(outcome);
                    }
                    Err(error) => failures[*at] = failures[*at].take().or(Some(error)),
                }
            }
        }
        Err(error) => {
            for (at, _) in &group.members {
                let copy = Error::new(error.kind(), error.to_string());
                failures[*at] = Some(if error.is_unwritten() { copy.unwritten() } else { copy });
            }
        }
    }
    let callers = std::mem::take(queue).into_iter().zip(failures);
    for (waiting, failure) in callers {
        // A caller that went away has no use for the answer.
        match failure {
            Some(error) if waiting.is_written => drop(waiting.reply.send(Err(error.written()))),
            Some(error) => drop(waiting.reply.send(Err(error))),
            None if waiting.plans.is_empty() => drop(waiting.reply.send(Ok(waiting.outcomes))),
            None => queue.push_back(waiting),
        }
    }
}

fn count(results: &[Result<Outcome>], cost: Cost, shared: &Shared) {
    let mut stats = Stats { groups: u64::from(cost.rows > 0), ..Stats::default() };
    for outcome in results.iter().flatten() {
        match outcome {
            Outcome::Committed { .. } => stats.batches += 1,
            Outcome::Conflict { .. } => stats.conflicts += 1,
            Outcome::Outside { .. } => {}
        }
    }
    cost.add_to(&mut stats);
    shared.count(stats);
}

/// Commits a caller's batches, each by the writer of its partition; the answer comes when all are durable.
pub(super) async fn submit(writers: &[mpsc::Sender<Request>], plans: Vec<Plan>) -> Result<Vec<Outcome>> {
    let count = plans.len();
    let mut parts: Vec<(Vec<usize>, Vec<Plan>)> = writers.iter().map(|_| Default::default()).collect();
    for (at, plan) in plans.into_iter().enumerate() {
        let part = &mut parts[usize::from(plan.batch.partition.0) % writers.len()];
        part.0.push(at);
        part.1.push(plan);
    }
    let mut places = Vec::with_capacity(count);
    let asked = parts.into_iter().zip(writers).filter(|((_, plans), _)| !plans.is_empty());
    let asked = asked.map(|((part, plans), writer)| {
        places.extend(part);
        ask(writer, plans)
    });
    let answers = join_all(asked.collect::<Vec<_>>()).await;
    let is_written = |outcome: &Outcome| matches!(outcome, Outcome::Committed { .. });
    let any_written = answers.iter().flatten().flatten().any(is_written);
    let mut outcomes = Vec::with_capacity(count);
    for answer in answers {
        outcomes.extend(answer.map_err(|error| if any_written { error.written() } else { error })?);
    }
    let mut sorted: Vec<(usize, Outcome)> = places.into_iter().zip(outcomes).collect();
    sorted.sort_by_key(|(at, _)| *at);
    Ok(sorted.into_iter().map(|(_, outcome)| outcome).collect())
}

/// Turns batches into a request to one writer.
async fn ask(requests: &mpsc::Sender<Request>, plans: Vec<Plan>) -> Result<Vec<Outcome>> {
    let (reply, answer) = oneshot::channel();
    if requests.send(Request::Commit(plans, reply)).await.is_err() {
        return Err(check::closed());
    }
    // The writer answers every request it takes; without an answer it was ended, and the outcome is unknown.
    answer.await.unwrap_or_else(|_| Err(Error::new(ErrorKind::Closed, "the store was ended: open it again to go on")))
}
