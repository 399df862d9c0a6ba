//! How commits reach the disk: one thread takes all that wait, writes them in one transaction, and then answers them.

use super::apply::{Stop, Tables};
use super::checkpoint::Checkpoints;
use super::fault;
use super::reader::Readers;
use super::turn::Turn;
use super::{NO_MORE_HINTS, SqliteState};
use crate::check::{self, Plan};
use crate::cost::Cost;
use crate::{Error, Outcome, Result, Stats};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, Statement};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use tokio::sync::{mpsc, oneshot};

/// The most batches in one transaction, so that the first of them does not wait for a crowd.
const GROUP_BATCHES_MAX: usize = 512;
/// The most payload bytes after which a transaction takes no further batch.
const GROUP_BYTES_MAX: usize = 8 * 1024 * 1024;

const DATA_VERSION: &str = "PRAGMA data_version";

/// What the writing thread is asked to do.
pub(super) enum Request {
    /// Commit these batches and answer.
    Commit(Commit),
    /// See whether another process has committed.
    Probe,
    /// Finish, and take no more.
    Close,
}

/// One caller's group of batches.
pub(super) struct Commit {
    pub(super) plans: Vec<Plan>,
    pub(super) reply: oneshot::Sender<Result<Vec<Outcome>>>,
}

/// What becomes of one caller's group, held back until the transaction is durable.
struct Answer {
    result: Result<Vec<Outcome>>,
    cost: Cost,
}

/// The writing thread's tools.
struct Writer<'c> {
    conn: &'c Connection,
    tables: Tables<'c>,
    begin: Statement<'c>,
    begin_read: Statement<'c>,
    commit: Statement<'c>,
    data_version: Statement<'c>,
    seen_version: i64,
    turn: Turn,
    state: Arc<SqliteState>,
}

/// What the writing thread starts with.
pub(super) struct Start {
    pub(super) conn: Connection,
    pub(super) turn: Turn,
    pub(super) checkpoints: Checkpoints,
    pub(super) requests: mpsc::Receiver<Request>,
    /// The connections that have to be closed before the writer's, which then carries the WAL over.
    pub(super) companions: Companions,
    /// What [`data_version`] said when the store was opened: later commits of others are worth a hint.
    pub(super) seen_version: i64,
}

/// The threads whose connections end with the writer.
pub(super) struct Companions {
    pub(super) readers: Arc<Readers>,
    pub(super) threads: Vec<JoinHandle<()>>,
}

/// A number that changes when another connection commits, and stays when this one does.
pub(super) fn data_version(conn: &Connection) -> rusqlite::Result<i64> {
    conn.query_row(DATA_VERSION, [], |row| row.get(0))
}

/// Serves requests until the store is closed; the connection is closed before the ownership is given up.
pub(super) fn run(start: Start, state: &Arc<SqliteState>) {
    let Start { conn, turn, mut checkpoints, mut requests, companions, seen_version } = start;
    match Writer::new(&conn, turn, seen_version, Arc::clone(state)) {
        Ok(mut writer) => writer.serve(&mut requests, &mut checkpoints),
        Err(error) => state.fail(&error),
    }
    requests.close();
    while let Some(request) = requests.blocking_recv() {
        if let Request::Commit(commit) = request {
            let _ = commit.reply.send(Err(state.refusal()));
        }
    }
    drop(checkpoints);
    companions.readers.close();
    for thread in companions.threads {
        // A reader that panicked has told its caller.
        let _ = thread.join();
    }
    close(conn, state);
    state.owner.release();
    state.hints.send_replace(NO_MORE_HINTS);
}

/// Closes the last connection, which carries the WAL over into the main file, unless the disk has failed: then what the
/// page cache says must not be trusted, and the next process starts from what was synced.
fn close(conn: Connection, state: &SqliteState) {
    if state.is_broken()
        && let Err(error) = conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
    {
        tracing::warn!(%error, "cannot leave the WAL as it is");
    }
    if let Err((_, error)) = conn.close() {
        tracing::warn!(%error, "closing the database failed; its WAL is carried over at the next opening");
    }
}

impl<'c> Writer<'c> {
    fn new(conn: &'c Connection, turn: Turn, seen_version: i64, state: Arc<SqliteState>) -> rusqlite::Result<Self> {
        Ok(Self {
            conn,
            tables: Tables::new(conn, state.meta.partitions)?,
            begin: conn.prepare("BEGIN IMMEDIATE")?,
            begin_read: conn.prepare("BEGIN")?,
            commit: conn.prepare("COMMIT")?,
            data_version: conn.prepare(DATA_VERSION)?,
            seen_version,
            turn,
            state,
        })
    }

    fn serve(&mut self, requests: &mut mpsc::Receiver<Request>, checkpoints: &mut Checkpoints) {
        let mut group: Vec<Commit> = Vec::new();
        while let Some(first) = requests.blocking_recv() {
            let mut next = Some(first);
            let (mut batches, mut bytes, mut closing, mut probing) = (0, 0, false, false);
            while let Some(request) = next.take() {
                match request {
                    Request::Commit(commit) => {
                        batches += commit.plans.len();
                        bytes += commit.plans.iter().map(|plan| plan.bytes).sum::<usize>();
                        group.push(commit);
                    }
                    Request::Probe => probing = true,
                    Request::Close => closing = true,
                }
                if batches < GROUP_BATCHES_MAX && bytes < GROUP_BYTES_MAX && !closing {
                    next = requests.try_recv().ok();
                }
            }
            if !group.is_empty() {
                self.group(&mut group);
                checkpoints.after_commit(self.conn);
            } else if probing {
                self.probe();
            }
            if closing || self.state.is_broken() {
                return;
            }
        }
    }

    /// Commits a group and answers everybody in it.
    fn group(&mut self, group: &mut Vec<Commit>) {
        match self.transact(group) {
            Ok(answers) => {
                self.count(&answers);
                for (commit, answer) in group.drain(..).zip(answers) {
                    // A caller that went away has no use for the answer.
                    let _ = commit.reply.send(answer.result);
                }
            }
            Err(stop) => {
                self.roll_back();
                let refusal = self.refusal_of(stop);
                for commit in group.drain(..) {
                    let _ = commit.reply.send(Err(refusal()));
                }
            }
        }
    }

    fn transact(&mut self, group: &[Commit]) -> std::result::Result<Vec<Answer>, Stop> {
        let writes = group.iter().flat_map(|commit| &commit.plans).any(|plan| !plan.batch.is_check_only());
        if writes {
            let _turn = self.turn.take().map_err(Stop::Failed)?;
            self.begin.execute([])?;
        } else {
            self.begin_read.execute([])?;
        }
        self.tables.begin();
        self.state.looks.fetch_add(1, Ordering::Relaxed);
        self.notice_others()?;
        let mut answers = Vec::with_capacity(group.len());
        for commit in group {
            answers.push(self.apply(&commit.plans)?);
        }
        self.commit.execute([])?;
        Ok(answers)
    }

    /// Applies one caller's batches in order; a breach of contract ends that caller's group only.
    fn apply(&mut self, plans: &[Plan]) -> std::result::Result<Answer, Stop> {
        let mut outcomes = Vec::with_capacity(plans.len());
        let mut cost = Cost::default();
        for plan in plans {
            let now = (self.state.clock)();
            match self.tables.apply(plan, now, &mut cost) {
                Ok(outcome) => outcomes.push(outcome),
                Err(Stop::Caller(error)) => {
                    let error = if cost.rows == 0 { error } else { error.written() };
                    return Ok(Answer { result: Err(error), cost });
                }
                Err(stop) => return Err(stop),
            }
        }
        Ok(Answer { result: Ok(outcomes), cost })
    }

    fn roll_back(&mut self) {
        self.tables.rolled_back();
        if !self.conn.is_autocommit()
            && let Err(error) = self.conn.execute_batch("ROLLBACK")
        {
            tracing::warn!(%error, "rolling back failed");
        }
    }

    /// What everybody in a group that was rolled back is told.
    fn refusal_of(&self, stop: Stop) -> Box<dyn Fn() -> Error> {
        match stop {
            Stop::Caller(error) | Stop::Failed(error) => {
                let (kind, message) = (error.kind(), error.to_string());
                Box::new(move || Error::new(kind, message.clone()).unwritten())
            }
            Stop::Sqlite(error) if fault::is_fatal(&error) => {
                self.state.fail(&error);
                let detail = error.to_string();
                Box::new(move || fault::broken(&detail))
            }
            Stop::Sqlite(error) => {
                let error = fault::rolled_back(error);
                let (kind, message) = (error.kind(), error.to_string());
                Box::new(move || Error::new(kind, message.clone()).unwritten())
            }
        }
    }

    /// Looks for commits of other processes while nothing is to be written.
    fn probe(&mut self) {
        if let Err(error) = self.notice_others() {
            tracing::warn!(%error, "cannot see whether another process committed");
        }
    }

    /// Passes a hint on when another process has committed since the last look; own commits do not count.
    fn notice_others(&mut self) -> rusqlite::Result<()> {
        let version = self.data_version.query_row([], |row| row.get(0))?;
        if version != self.seen_version {
            self.seen_version = version;
            self.state.hints.send_modify(|hints| *hints += 1);
        }
        Ok(())
    }

    fn count(&self, answers: &[Answer]) {
        let mut group = Stats::default();
        for answer in answers {
            for outcome in answer.result.iter().flatten() {
                match outcome {
                    Outcome::Committed { .. } => group.batches += 1,
                    Outcome::Conflict { .. } => group.conflicts += 1,
                    Outcome::Outside { .. } => {}
                }
            }
            answer.cost.add_to(&mut group);
        }
        group.groups = u64::from(group.rows > 0);
        self.state.count(group);
    }
}

/// Turns a caller's batches into a request; the answer comes when they are durable.
pub(super) async fn submit(
    requests: &mpsc::Sender<Request>,
    plans: Vec<Plan>,
    state: &SqliteState,
) -> Result<Vec<Outcome>> {
    let (reply, answer) = oneshot::channel();
    if requests.send(Request::Commit(Commit { plans, reply })).await.is_err() {
        return Err(state.refusal());
    }
    // The thread answers every request it takes; without an answer it died, and the outcome is unknown.
    answer.await.unwrap_or_else(|_| Err(fault::broken("the writing thread ended")))
}

/// The refusal of a store that takes nothing more.
pub(super) fn refusal(broken: Option<&str>) -> Error {
    broken.map_or_else(check::closed, |detail| fault::broken(detail).unwritten())
}
