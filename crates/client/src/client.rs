//! The client: submit work, look at it, wait for it, and decide about lanes.

use crate::options::span;
use crate::{ClientOptions, Description, Error, ListCursor, Result, Submission, opening};
use onward_core::record::{Execution, LaneState, Outcome, State};
use onward_core::{
    Category, ExecutionId, Failure, Lane, LaneChange, Millis, Namespace, Payload, PayloadSlot, Policy, Rejection, Span,
    Submitted,
};
use onward_engine::clock::{Chance, Clock};
use onward_engine::{Engine, NewExecution};
use onward_store::Store;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;
use std::time::Duration;

/// Submits work and looks at it; clones share one engine.
///
/// Call [`Client::shutdown`] at the end of the program. When the last clone is dropped without it, the engine ends where
/// it stands, as in a crash: nothing that was acknowledged is lost.
#[derive(Debug, Clone)]
pub struct Client {
    inner: Arc<Inner>,
    namespace: Namespace,
}

#[derive(Debug)]
struct Inner {
    engine: Engine,
    clock: Arc<dyn Clock>,
    chance: Arc<Chance>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.engine.abort();
    }
}

/// One page of executions, newest first.
#[derive(Debug, Clone)]
pub struct Listed {
    /// What was found.
    pub executions: Vec<Description>,
    /// Where the next page starts; absent at the end.
    pub next: Option<ListCursor>,
}

impl Client {
    /// Opens a store and starts an engine on it: `sqlite:PATH`, `postgres://…`, `valkey://…` (or `redis://…`), `memory:`.
    /// [`Address`](crate::Address) tells how each is written; those of servers need the feature of their name.
    ///
    /// # Errors
    /// When the address is wrong or the store cannot be opened.
    pub async fn open(address: &str) -> Result<Self> {
        Self::open_with(address, ClientOptions::default()).await
    }

    /// Opens a store with options.
    ///
    /// # Errors
    /// When the address is wrong or the store cannot be opened.
    pub async fn open_with(address: &str, options: ClientOptions) -> Result<Self> {
        let store = opening::open_store(address, &options).await?;
        Self::on_store(store, options).await
    }

    /// Starts an engine on a store that is open already. The store should judge time by `options.clock`.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn on_store(store: Arc<dyn Store>, options: ClientOptions) -> Result<Self> {
        let engine = Engine::start(store, options.engine()).await?;
        let inner = Inner { engine, clock: options.clock, chance: options.chance };
        Ok(Self { inner: Arc::new(inner), namespace: options.namespace })
    }

    /// The same client for another namespace.
    ///
    /// # Errors
    /// When the name is no namespace.
    pub fn in_namespace(&self, namespace: &str) -> Result<Self> {
        Ok(Self { inner: self.inner.clone(), namespace: namespace.parse()? })
    }

    /// The same client for another namespace, whose name has been checked already.
    #[must_use]
    pub fn of(&self, namespace: Namespace) -> Self {
        Self { inner: self.inner.clone(), namespace }
    }

    /// The time on the client's own clock; the store's is [`Engine::now`].
    #[must_use]
    pub fn now(&self) -> Millis {
        self.inner.clock.now()
    }

    /// Sleeps on the client's clock.
    pub fn sleep(&self, span: Span) -> impl Future<Output = ()> + Send + use<> {
        self.inner.clock.sleep(span)
    }

    /// Whose work this client submits and sees.
    #[must_use]
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// Prepares work for the handlers of a kind; await the answer to submit it. Once that answers, it is durable.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), onward::Error> {
    /// # let client = onward::Client::open("memory:").await?;
    /// let hour = std::time::Duration::from_secs(3600);
    /// let submitted = client.submit("remind", &"call Ada").delay(hour).tag("customer", "42").priority(5).await?;
    /// assert!(submitted.created);
    /// # client.shutdown().await }
    /// ```
    pub fn submit<T: Serialize + ?Sized>(&self, kind: &str, input: &T) -> Submission {
        let payload = Payload::of(input).map_err(Error::from);
        Submission::new(self.clone(), kind, payload)
    }

    /// Prepares work whose input is any bytes, or JSON that exists as text already.
    pub fn submit_payload(&self, kind: &str, input: Payload) -> Submission {
        Submission::new(self.clone(), kind, Ok(input))
    }

    /// Submits up to 1,000 pieces of work together, each on its own; the answers come in the same order.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), onward::Error> {
    /// # let client = onward::Client::open("memory:").await?;
    /// let answers = client.submit_many((0..10).map(|n| client.submit("resize", &n).lane("images"))).await?;
    /// assert!(answers.iter().all(|answer| answer.is_ok()));
    /// # client.shutdown().await }
    /// ```
    ///
    /// # Errors
    /// Refuses all of them when there are more, or when one cannot be submitted because of its own arguments.
    pub async fn submit_many(
        &self,
        submissions: impl IntoIterator<Item = Submission>,
    ) -> Result<Vec<Result<Submitted>>> {
        let many: Vec<NewExecution> = submissions.into_iter().map(Submission::into_new).collect::<Result<_>>()?;
        let answers = self.inner.engine.submit_many(many).await?;
        Ok(answers.into_iter().map(|answer| answer.map_err(Error::from)).collect())
    }

    /// What an execution is and where it stands; nothing when this namespace has none of this id.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn get(&self, id: ExecutionId) -> Result<Option<Description>> {
        Ok(self.visible(id).await?.map(|execution| Description::of(&execution)))
    }

    /// What an execution ended with; nothing before it ends.
    ///
    /// # Errors
    /// [`Error::ExecutionFailed`], [`Error::ExecutionCancelled`] or [`Error::ExecutionExpired`] when it ended without a
    /// result, [`Error::ResultMismatch`] when the result is of another type, a
    /// refusal when there is no such execution, or a failure of the store.
    pub async fn result<T: DeserializeOwned>(&self, id: ExecutionId) -> Result<Option<T>> {
        let execution = self.existing(id).await?;
        self.outcome(&execution).await
    }

    /// Waits until an execution ends, and answers its result.
    ///
    /// An end in this process is noticed at once, one in another process by looking at the store, after 10 ms and then with
    /// doubling pauses of at most 250 ms.
    ///
    /// # Errors
    /// [`Error::WaitTimedOut`] when it has not ended in time; otherwise as [`Client::result`].
    pub async fn wait<T: DeserializeOwned>(&self, id: ExecutionId, timeout: Duration) -> Result<T> {
        let waited = span(timeout);
        let absent = || Error::from(Rejection::ExecutionNotFound(id));
        self.existing(id).await?;
        let execution = self.inner.engine.wait(id, waited).await?.ok_or_else(absent)?;
        match self.outcome(&execution).await? {
            Some(result) => Ok(result),
            None => Err(Error::WaitTimedOut { id, state: execution.public_state(), waited }),
        }
    }

    /// What an execution was submitted with; nothing when this namespace has none of this id.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn input(&self, id: ExecutionId) -> Result<Option<Payload>> {
        self.payload(id, PayloadSlot::Input).await
    }

    /// What an execution ended with, whatever its type; nothing before it ends well.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn output(&self, id: ExecutionId) -> Result<Option<Payload>> {
        self.payload(id, PayloadSlot::Result).await
    }

    /// Executions of this namespace, newest first; `limit` is at most 1,000.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn list(&self, after: Option<ListCursor>, limit: usize) -> Result<Listed> {
        let page = self.inner.engine.list(&self.namespace, after, limit).await?;
        let executions = page.executions.iter().map(Description::of).collect();
        Ok(Listed { executions, next: page.next })
    }

    /// Lets nobody claim from a lane; submissions are accepted and wait. Answers when every partition obeys.
    ///
    /// # Errors
    /// When the name is no lane, or a failure of the store.
    pub async fn pause_lane(&self, lane: &str) -> Result<()> {
        self.set_lane(lane, LaneState::Paused).await
    }

    /// Lets a lane take and give work again. Answers when every partition obeys.
    ///
    /// # Errors
    /// When the name is no lane, or a failure of the store.
    pub async fn open_lane(&self, lane: &str) -> Result<()> {
        self.set_lane(lane, LaneState::Open).await
    }

    /// Refuses submissions to a lane; what waits there is still run. Answers when every partition obeys.
    ///
    /// # Errors
    /// When the name is no lane, or a failure of the store.
    pub async fn drain_lane(&self, lane: &str) -> Result<()> {
        self.set_lane(lane, LaneState::Draining).await
    }

    /// Decides what holds for submissions to a lane that do not say otherwise: retries, timeouts, retention and so on.
    /// Answers when every partition obeys; work that was submitted before keeps what it has.
    ///
    /// # Errors
    /// When the name is no lane, a refusal of the policy, or a failure of the store.
    pub async fn set_lane_defaults(&self, lane: &str, defaults: Policy) -> Result<()> {
        let lane: Lane = lane.parse()?;
        let change = LaneChange { state: None, defaults: Some(defaults) };
        self.inner.engine.set_lane(&self.namespace, &lane, change).await?;
        Ok(())
    }

    /// What a lane lets through.
    ///
    /// # Errors
    /// When the name is no lane, or a failure of the store.
    pub async fn lane(&self, lane: &str) -> Result<LaneState> {
        let lane: Lane = lane.parse()?;
        let master = self.inner.engine.lane(&self.namespace, &lane).await?;
        Ok(master.map_or(LaneState::Open, |master| master.settings.state))
    }

    /// The engine inside, for what this client does not offer.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.inner.engine
    }

    /// Turns new calls away, answers what was accepted, and closes the store. Drain the workers first.
    ///
    /// # Errors
    /// When the store did not close cleanly; what was acknowledged is safe nevertheless.
    pub async fn shutdown(&self) -> Result<()> {
        self.inner.engine.shutdown().await;
        Ok(self.inner.engine.store().close().await?)
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.inner.clock
    }

    /// Where ids and jitter come from.
    #[must_use]
    pub fn chance(&self) -> &Chance {
        &self.inner.chance
    }

    async fn set_lane(&self, lane: &str, state: LaneState) -> Result<()> {
        let lane: Lane = lane.parse()?;
        self.inner.engine.set_lane(&self.namespace, &lane, LaneChange { state: Some(state), defaults: None }).await?;
        Ok(())
    }

    /// An execution, unless it belongs to another namespace: nobody learns that it exists.
    async fn visible(&self, id: ExecutionId) -> Result<Option<Execution>> {
        let execution = self.inner.engine.get(id).await?;
        Ok(execution.filter(|execution| execution.namespace == self.namespace))
    }

    pub(crate) async fn existing(&self, id: ExecutionId) -> Result<Execution> {
        self.visible(id).await?.ok_or_else(|| Rejection::ExecutionNotFound(id).into())
    }

    async fn payload(&self, id: ExecutionId, slot: PayloadSlot) -> Result<Option<Payload>> {
        match self.visible(id).await? {
            Some(execution) => Ok(self.inner.engine.payload(&execution, slot).await?),
            None => Ok(None),
        }
    }

    /// The result of an execution that has ended.
    async fn outcome<T: DeserializeOwned>(&self, execution: &Execution) -> Result<Option<T>> {
        if !matches!(execution.state, State::Finished(_)) {
            return Ok(None);
        }
        self.ended(execution)?;
        let payload = self.inner.engine.payload(execution, PayloadSlot::Result).await?.unwrap_or_else(Payload::null);
        let id = execution.id;
        payload.read().map(Some).map_err(|error| Error::ResultMismatch { id, why: error.to_string() })
    }

    /// Says why an execution that has ended has no result, if it has none.
    ///
    /// # Errors
    /// [`Error::ExecutionFailed`], [`Error::ExecutionCancelled`] or [`Error::ExecutionExpired`].
    pub fn ended(&self, execution: &Execution) -> Result<()> {
        let State::Finished(finished) = &execution.state else { return Ok(()) };
        let id = execution.id;
        let unexplained = || Failure::new(Category::engine(), "no reason was recorded");
        let failure = || finished.failure.clone().unwrap_or_else(unexplained);
        match finished.outcome {
            Outcome::Success => Ok(()),
            Outcome::Failed => Err(Error::ExecutionFailed { id, failure: failure() }),
            Outcome::Expired => Err(Error::ExecutionExpired { id, failure: failure() }),
            Outcome::Cancelled => {
                let reason = finished.cancelled.as_ref().map(|by| by.reason.clone()).unwrap_or_default();
                Err(Error::ExecutionCancelled { id, reason })
            }
        }
    }
}
