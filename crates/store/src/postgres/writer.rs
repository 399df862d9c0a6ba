//! How commits reach the server: all that wait go out as one call, and more gather meanwhile.
//!
//! When many wait, further connections take those of other partitions: the server works on one call while another becomes
//! durable and a third is on its way. Those of one partition go one after the other.

use super::PostgresState;
use super::answer::{self, Answer};
use super::changes;
use super::group::Arrays;
use super::link::Link;
use crate::check::{self, Plan};
use crate::cost::Cost;
use crate::{Error, ErrorKind, Key, Outcome, Partition, Result, Stats, Trim};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// How many connections write.
pub(super) const WRITERS: usize = 3;
/// As long as a call is on its way, another one goes out only for this many records: fewer had better gather.
const SECOND_WRITES_MIN: usize = 16;
/// The most batches in one call, so that the first of them does not wait for a crowd.
const GROUP_BATCHES_MAX: usize = 256;
/// The most payload bytes after which a call takes no further batch.
const GROUP_BYTES_MAX: usize = 4 * 1024 * 1024;
/// The most written keys after which a call takes no further batch: their places have to be known all at once.
const GROUP_KEYS_MAX: usize = 4_096;
/// How many callers' groups may wait for the writer before further callers wait to be taken.
pub(super) const REQUESTS_WAITING_MAX: usize = 4096;

/// What the writer is asked to do.
pub(super) enum Request {
    /// Commit these batches, in order, and answer.
    Commit(Vec<Plan>, oneshot::Sender<Result<Vec<Outcome>>>),
    /// Finish, and take no more.
    Close,
}

/// One caller's batches, and the outcomes of those that are done.
struct QueuedCommit {
    plans: VecDeque<Plan>,
    /// Number of batches in flight.
    in_flight: usize,
    outcomes: Vec<Outcome>,
    is_written: bool,
    failure: Option<Error>,
    reply: oneshot::Sender<Result<Vec<Outcome>>>,
}

/// The commits of all waiting callers, in the order in which they arrived.
#[derive(Default)]
struct Queue {
    next: u64,
    commits: BTreeMap<u64, QueuedCommit>,
    /// Partitions with batches in flight: later batches must not overtake them.
    in_flight: BTreeSet<Partition>,
}

/// Batches that go out in one call, each with the number of its commit.
#[derive(Default)]
struct Group {
    members: Vec<(u64, Plan)>,
    written: BTreeSet<Key>,
    bytes: usize,
    is_closed: bool,
}

/// Serves requests until the store is closed.
pub(super) async fn run(links: [Link; WRITERS], mut requests: mpsc::Receiver<Request>, state: Arc<PostgresState>) {
    let mut queue = Queue::default();
    let mut idle: Vec<&Link> = links.iter().collect();
    let mut flights = FuturesUnordered::new();
    let mut open = true;
    loop {
        while queue.commits.len() < GROUP_BATCHES_MAX
            && let Ok(request) = requests.try_recv()
        {
            queue.take(request, &mut requests);
        }
        while let Some(link) = idle.pop() {
            let least = if flights.is_empty() { 1 } else { SECOND_WRITES_MIN };
            let Some(group) = queue.gather(least) else {
                idle.push(link);
                break;
            };
            flights.push(fly(link, group, &state));
        }
        if !open && flights.is_empty() && queue.commits.is_empty() {
            break;
        }
        tokio::select! {
            biased;
            Some((link, group, result)) = flights.next(), if !flights.is_empty() => {
                idle.push(link);
                queue.answer(&group, result, &state);
            }
            request = requests.recv(), if open && queue.commits.len() < GROUP_BATCHES_MAX => match request {
                Some(request) => queue.take(request, &mut requests),
                None => open = false,
            },
        }
    }
    for link in &links {
        link.close().await;
    }
}

async fn fly<'a>(link: &'a Link, group: Group, state: &PostgresState) -> (&'a Link, Group, Result<Answer>) {
    let result = send(link, &group, state).await;
    (link, group, result)
}

impl Queue {
    fn take(&mut self, request: Request, requests: &mut mpsc::Receiver<Request>) {
        match request {
            Request::Commit(plans, reply) => {
                let (outcomes, plans) = (Vec::with_capacity(plans.len()), plans.into());
                let commit = QueuedCommit { plans, in_flight: 0, outcomes, is_written: false, failure: None, reply };
                self.commits.insert(self.next, commit);
                self.next += 1;
            }
            Request::Close => requests.close(),
        }
    }

    /// Takes from each caller, first come first served, as many batches as can go out together, if there are enough.
    /// Those of one partition keep their order, and so do those of one caller.
    fn gather(&mut self, least: usize) -> Option<Group> {
        let free = |plan: &&Plan| !self.in_flight.contains(&plan.batch.partition);
        let commits = self.commits.values().filter(|commit| commit.in_flight == 0);
        let writes = commits.flat_map(|commit| commit.plans.iter().take_while(free)).map(Plan::writes);
        if writes.sum::<usize>() < least {
            return None;
        }
        let (mut group, mut passed) = (Group::default(), self.in_flight.clone());
        for (id, commit) in self.commits.iter_mut().filter(|(_, commit)| commit.in_flight == 0) {
            while let Some(plan) = commit.plans.pop_front() {
                let partition = plan.batch.partition;
                if passed.contains(&partition) || !group.takes(&plan) {
                    passed.insert(partition);
                    commit.plans.push_front(plan);
                    break;
                }
                commit.in_flight += 1;
                group.add(*id, plan);
            }
        }
        self.in_flight.extend(group.members.iter().map(|(_, plan)| plan.batch.partition));
        (!group.members.is_empty()).then_some(group)
    }

    /// Tells every caller whose last batch came back what came of them all.
    fn answer(&mut self, group: &Group, result: Result<Answer>, state: &PostgresState) {
        for (_, plan) in &group.members {
            self.in_flight.remove(&plan.batch.partition);
        }
        let results = match result {
            Ok(answer) => {
                count(&answer.results, answer.cost, state);
                answer.results
            }
            Err(error) => group.members.iter().map(|_| Err(error.again())).collect(),
        };
        for ((id, plan), result) in group.members.iter().zip(results) {
            let Some(commit) = self.commits.get_mut(id) else { continue };
            commit.in_flight -= 1;
            match result {
                Ok(outcome) => {
                    if matches!(outcome, Outcome::Committed { .. }) && !plan.batch.is_check_only() {
                        commit.is_written = true;
                        state.wakes.committed(&plan.batch);
                    }
                    commit.outcomes.push(outcome);
                }
                Err(error) => commit.failure = commit.failure.take().or(Some(error)),
            }
        }
        for (id, _) in &group.members {
            let is_over =
                |commit: &QueuedCommit| commit.in_flight == 0 && (commit.plans.is_empty() || commit.failure.is_some());
            if self.commits.get(id).is_some_and(is_over)
                && let Some(commit) = self.commits.remove(id)
            {
                commit.end();
            }
        }
    }
}

impl QueuedCommit {
    /// Sends the caller its answer.
    fn end(self) {
        let answer = match self.failure {
            Some(error) if self.is_written => Err(error.written()),
            Some(error) => Err(error),
            None => Ok(self.outcomes),
        };
        // A caller that went away has no use for the answer.
        drop(self.reply.send(answer));
    }
}

impl Group {
    /// Whether a batch can join: the server checks all before it writes any, so nothing may build on an earlier one here.
    fn takes(&self, plan: &Plan) -> bool {
        if self.members.is_empty() {
            return true;
        }
        let has_room = self.members.len() < GROUP_BATCHES_MAX
            && self.written.len() < GROUP_KEYS_MAX
            && self.bytes + plan.bytes <= GROUP_BYTES_MAX;
        let builds_on = |(key, _): &(Key, _)| self.written.contains(key);
        has_room && !self.is_closed && !moves_feed(plan) && !plan.batch.expect.iter().any(builds_on)
    }

    fn add(&mut self, caller: u64, plan: Plan) {
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
        self.members.push((caller, plan));
    }
}

/// Whether a batch trims or raises its feed, which is only right alone.
fn moves_feed(plan: &Plan) -> bool {
    plan.batch.feed_above > 0 || plan.batch.trim.iter().any(|trim| matches!(trim, Trim::Feed { .. }))
}

async fn send(link: &Link, group: &Group, state: &PostgresState) -> Result<Answer> {
    let plans: Vec<&Plan> = group.members.iter().map(|(_, plan)| plan).collect();
    let changes = changes::of(&plans, link, state).await?;
    let held = state.clock.as_ref().map(|clock| clock());
    let arrays = Arrays::of(state.lock_id, held, &plans, &changes);
    let careful = plans.iter().any(|plan| !plan.batch.mend.is_empty());
    let row = link.commit(&arrays, careful).await?;
    let answer = answer::read(&plans, &changes, &row)?;
    let mut place_cache = state.place_cache.lock();
    for (plan, result) in plans.iter().zip(&answer.results) {
        match result {
            Ok(Outcome::Committed { .. }) => {
                plan.batch.put.iter().for_each(|record| place_cache.learn(record));
                plan.batch.delete.iter().for_each(|key| place_cache.forget(key));
            }
            Ok(Outcome::Conflict { current, .. }) => {
                current.iter().filter_map(|(_, record)| record.as_ref()).for_each(|record| place_cache.learn(record));
            }
            _ => {}
        }
    }
    drop(place_cache);
    Ok(answer)
}

fn count(results: &[Result<Outcome>], cost: Cost, state: &PostgresState) {
    let mut stats = Stats { groups: u64::from(cost.rows > 0), ..Stats::default() };
    for outcome in results.iter().flatten() {
        match outcome {
            Outcome::Committed { .. } => stats.batches += 1,
            Outcome::Conflict { .. } => stats.conflicts += 1,
            Outcome::Outside { .. } => {}
        }
    }
    cost.add_to(&mut stats);
    state.count(stats);
}

/// Turns a caller's batches into a request; the answer comes when they are durable.
pub(super) async fn submit(requests: &mpsc::Sender<Request>, plans: Vec<Plan>) -> Result<Vec<Outcome>> {
    let (reply, answer) = oneshot::channel();
    if requests.send(Request::Commit(plans, reply)).await.is_err() {
        return Err(check::closed());
    }
    // The writer answers every request it takes; without an answer it was ended, and the outcome is unknown.
    answer.await.unwrap_or_else(|_| Err(Error::new(ErrorKind::Closed, "the store was ended: open it again to go on")))
}
