//! What a client can do with executions beyond submitting them: cancel, steer, take away, run again, remove.

use crate::call::Ask;
use crate::options::span;
use crate::submission::millis;
use crate::{Client, Result};
use onward_core::{Act, ActOutcome, CommandId, ExecutionId, Millis, Reason, TagKey, When, act};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime};

impl Client {
    /// Ends an execution at once, wherever it stands; a worker that runs it learns it with its next call.
    ///
    /// # Errors
    /// A refusal when there is no such execution or it has ended, or a failure of the store.
    pub async fn cancel(&self, id: ExecutionId, reason: &str) -> Result<()> {
        let act = act::Cancel { reason: Reason::new(reason), grace: None };
        self.operate(id, act).await.map(|_| ())
    }

    /// Asks a running execution to stop by itself and cancels it when its time is up; one that does not run is
    /// cancelled at once. Answers when it will be cancelled at the latest, or nothing when it is.
    ///
    /// # Errors
    /// As [`Client::cancel`].
    pub async fn cancel_gently(&self, id: ExecutionId, reason: &str, grace: Duration) -> Result<Option<Millis>> {
        let act = act::Cancel { reason: Reason::new(reason), grace: Some(span(grace)) };
        match self.operate(id, act).await? {
            ActOutcome::StopRequested { until } => Ok(Some(until)),
            _ => Ok(None),
        }
    }

    /// Makes waiting or delayed work ready now.
    ///
    /// # Errors
    /// A refusal when it does not wait, or a failure of the store.
    pub async fn run_now(&self, id: ExecutionId) -> Result<()> {
        self.operate(id, act::Reschedule::default()).await.map(|_| ())
    }

    /// Lets waiting or delayed work run at a time and not before.
    ///
    /// # Errors
    /// A refusal when it does not wait or the time is past, or a failure of the store.
    pub async fn reschedule(&self, id: ExecutionId, at: SystemTime) -> Result<()> {
        self.operate(id, act::Reschedule::from(When::At(millis(at)))).await.map(|_| ())
    }

    /// Changes the place of an execution in its queue; higher runs first, 0 to 9,000. Answers what it was before.
    ///
    /// # Errors
    /// A refusal when it has ended, or a failure of the store.
    pub async fn set_priority(&self, id: ExecutionId, priority: u16) -> Result<u16> {
        match self.operate(id, act::Prioritise { priority }).await? {
            ActOutcome::Prioritised { before } => Ok(before),
            _ => Ok(priority),
        }
    }

    /// Adds, replaces and removes labels, all of them or none; work that has ended can still be labelled.
    ///
    /// # Errors
    /// When a label is no label, a refusal, or a failure of the store.
    pub async fn set_tags<'a>(
        &self,
        id: ExecutionId,
        set: impl IntoIterator<Item = (&'a str, &'a str)>,
        remove: impl IntoIterator<Item = &'a str>,
    ) -> Result<()> {
        let mut tags = BTreeMap::new();
        for (key, value) in set {
            tags.insert(key.parse()?, value.parse()?);
        }
        let remove = remove.into_iter().map(str::parse).collect::<std::result::Result<BTreeSet<TagKey>, _>>()?;
        self.operate(id, act::Tag { set: tags, remove }).await.map(|_| ())
    }

    /// Writes a note on an execution, at most 1,024 bytes; an empty one removes it. It replaces the note before and is seen
    /// in the history with who wrote it.
    ///
    /// # Errors
    /// A refusal when there is no such execution or the note is too long, or a failure of the store.
    pub async fn annotate(&self, id: ExecutionId, note: &str) -> Result<()> {
        self.operate(id, act::Annotate { note: note.into() }).await.map(|_| ())
    }

    /// Takes a running execution away from its worker; it is ready again at once, as after a lost worker.
    ///
    /// # Errors
    /// A refusal when nobody runs it, or a failure of the store.
    pub async fn revoke(&self, id: ExecutionId, reason: &str) -> Result<()> {
        self.operate(id, act::Revoke { lease: None, reason: Reason::new(reason) }).await.map(|_| ())
    }

    /// Runs an execution again that has ended, with a fresh budget of retries; its old result is gone. Answers how often
    /// that was done by now.
    ///
    /// # Errors
    /// A refusal when it has not ended or was replayed too often, or a failure of the store.
    pub async fn replay(&self, id: ExecutionId, reason: &str) -> Result<u32> {
        let act = act::Replay { reason: Reason::new(reason), ..act::Replay::default() };
        match self.operate(id, act).await? {
            ActOutcome::Replayed { replays } => Ok(replays),
            _ => Ok(0),
        }
    }

    /// Removes an execution that has ended, with all that belongs to it. One that is gone already is no error.
    ///
    /// # Errors
    /// A refusal when it has not ended, or a failure of the store.
    pub async fn purge(&self, id: ExecutionId) -> Result<()> {
        self.operate(id, act::Purge {}).await.map(|_| ())
    }

    /// Holds an execution: no worker gets it until it is resumed. A running attempt loses its lease and goes on afterwards;
    /// delays, waits and deadlines go on underneath.
    ///
    /// # Errors
    /// A refusal when it has ended, or a failure of the store.
    pub async fn pause(&self, id: ExecutionId, reason: &str) -> Result<()> {
        self.operate(id, act::Pause { reason: Reason::new(reason) }).await.map(|_| ())
    }

    /// Resumes an execution that is held, or one that is suspended without what it waits for.
    ///
    /// # Errors
    /// A refusal when it is neither, or a failure of the store.
    pub async fn resume(&self, id: ExecutionId) -> Result<()> {
        self.operate(id, act::Resume::default()).await.map(|_| ())
    }

    /// Ends one wait of a suspended execution without a signal, as if it had come. Answers whether the execution goes on.
    ///
    /// # Errors
    /// A refusal when it does not wait for this, or a failure of the store.
    pub async fn close_wait(&self, id: ExecutionId, wait: &str) -> Result<bool> {
        match self.operate(id, act::CloseWait { wait: wait.parse()? }).await? {
            ActOutcome::WaitClosed { resumed } => Ok(resumed),
            _ => Ok(false),
        }
    }

    /// Does something with an execution.
    ///
    /// # Errors
    /// A refusal, or a failure of the store.
    pub async fn operate(&self, id: ExecutionId, act: impl Into<Act>) -> Result<ActOutcome> {
        self.ask(Ask::Operate { command: CommandId(self.chance().id()), id, act: act.into() }).await
    }

    /// Does the same with many executions, each on its own; the answers come in the same order.
    ///
    /// # Errors
    /// A failure that kept all of them from being tried.
    pub async fn operate_many(&self, ids: Vec<ExecutionId>, act: Act) -> Result<Vec<Result<ActOutcome>>> {
        self.ask(Ask::OperateMany { command: CommandId(self.chance().id()), ids, act }).await
    }
}
