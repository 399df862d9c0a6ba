//! The client: submit work, look at it, wait for it, and decide about lanes.

use crate::call::{Answer, Ask, Call, Ending};
use crate::calls::Calls;
use crate::local::Local;
use crate::options::span;
use crate::{Address, ClientOptions, Description, Error, Found, Result, Submission, opening, read_retries, remote};
use onward_core::record::LaneState;
use onward_core::{
    Actor, CommandId, ExecutionId, Lane, LaneChange, Millis, Namespace, NewExecution, Payload, Policy, Span, Submitted,
};
use onward_engine::clock::{Chance, Clock};
use onward_engine::{Engine, LaneListing};
use onward_store::Store;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;
use std::time::Duration;
use tower::{Layer, Service};

/// Submits work and looks at it; clones share one engine, or one server.
///
/// Call [`Client::shutdown`] at the end of the program. When the last clone is dropped without it, the engine ends where
/// it stands, as in a crash: nothing that was acknowledged is lost.
#[derive(Debug, Clone)]
pub struct Client {
    inner: Arc<Inner>,
    calls: Calls,
    namespace: Namespace,
    /// In whose name it calls.
    actor: Option<Actor>,
    /// How long a read is retried while the store is unavailable; zero for a remote client, which retries requests itself.
    read_timeout: Span,
}

#[derive(Debug)]
struct Inner {
    backend: Backend,
    /// What carries calls out before any layer.
    calls: Calls,
    clock: Arc<dyn Clock>,
    chance: Arc<Chance>,
}

/// What carries calls out.
#[derive(Debug)]
enum Backend {
    /// An engine in this process.
    Embedded(Engine),
    /// A server.
    Remote(remote::Connection),
}

impl Drop for Inner {
    fn drop(&mut self) {
        match &self.backend {
            Backend::Embedded(engine) => engine.abort(),
            Backend::Remote(connection) => connection.close(),
        }
    }
}

impl Client {
    /// Opens a store and starts an engine on it: `sqlite:PATH`, `postgres://…`, `valkey://…` (or `redis://…`), `memory:`;
    /// or speaks to a server: `http://…`, `https://…`. [`Address`](crate::Address) tells how each is written; those of
    /// servers need the feature of their name, and that of HTTP the feature `remote`.
    ///
    /// # Errors
    /// When the address is wrong or the store cannot be opened. A server is not asked before the first call.
    pub async fn open(address: &str) -> Result<Self> {
        Self::open_with(address, ClientOptions::default()).await
    }

    /// Opens a store with options, or speaks to a server.
    ///
    /// # Errors
    /// As [`Client::open`].
    pub async fn open_with(address: &str, options: ClientOptions) -> Result<Self> {
        if let Address::Http(url) = address.parse()? {
            return Self::to_server(&url, options);
        }
        let store = opening::open_store(address, &options).await?;
        Self::on_store(store, options).await
    }

    /// Starts an engine on a store that is open already. The store should judge time by `options.clock`.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn on_store(store: Arc<dyn Store>, options: ClientOptions) -> Result<Self> {
        let engine = Engine::start(store, options.engine()).await?;
        let read_timeout = span(options.call_timeout);
        let ClientOptions { clock, chance, namespace, .. } = options;
        let local = Local { engine: engine.clone(), clock: clock.clone(), chance: chance.clone() };
        let calls = local.into_calls();
        let inner = Inner { backend: Backend::Embedded(engine), calls: calls.clone(), clock, chance };
        Ok(Self { inner: Arc::new(inner), calls, namespace, actor: None, read_timeout })
    }

    fn to_server(url: &crate::ServerUrl, options: ClientOptions) -> Result<Self> {
        let (connection, calls) = remote::connect(url, &options)?;
        let ClientOptions { clock, chance, namespace, .. } = options;
        let inner = Inner { backend: Backend::Remote(connection), calls: calls.clone(), clock, chance };
        Ok(Self { inner: Arc::new(inner), calls, namespace, actor: None, read_timeout: Span(0) })
    }

    /// The same client with something before every call, be it its own or one of its workers: a layer of tower, or one of
    /// [`layers`](crate::layers).
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), onward::Error> {
    /// use onward::layers::{CircuitBreaker, Meter};
    /// let meter = Meter::new();
    /// let client = onward::Client::open("memory:").await?.layer(CircuitBreaker::default()).layer(meter.clone());
    /// client.submit("greet", "Ada").await?;
    /// assert_eq!(meter.read()[0].calls, 1);
    /// # client.shutdown().await }
    /// ```
    #[must_use]
    pub fn layer<L>(self, layer: L) -> Self
    where
        L: Layer<Calls>,
        L::Service: Service<Call, Response = Answer, Error = Error> + Clone + Send + Sync + 'static,
        <L::Service as Service<Call>>::Future: Send + 'static,
    {
        Self { calls: Calls::new(layer.layer(self.calls.clone())), ..self }
    }

    /// Carries a call out that no method offers.
    ///
    /// # Errors
    /// What the call ends with.
    pub async fn ask<T>(&self, ask: Ask) -> Result<T>
    where
        T: TryFrom<Answer, Error = Error>,
    {
        #[cfg(feature = "otel")]
        let ask = crate::otel::taken_along(ask);
        let call = Call { namespace: self.namespace.clone(), by: self.actor.clone(), ask };
        read_retries::ask(&self.calls, call, self.read_timeout, &*self.inner.clock, &self.inner.chance).await
    }

    /// The same client, whose reads fail at once while the store is unavailable: for a server, whose callers retry by
    /// themselves.
    #[must_use]
    pub fn without_read_retries(self) -> Self {
        Self { read_timeout: Span(0), ..self }
    }

    /// The same client without layers: for a server, whose callers are not those for whom the layers were chosen.
    #[must_use]
    pub fn without_layers(self) -> Self {
        Self { calls: self.inner.calls.clone(), ..self }
    }

    /// The same client for another namespace.
    ///
    /// # Errors
    /// When the name is no namespace.
    pub fn in_namespace(&self, namespace: &str) -> Result<Self> {
        Ok(self.of(namespace.parse()?))
    }

    /// The same client for another namespace, whose name has been checked already.
    #[must_use]
    pub fn of(&self, namespace: Namespace) -> Self {
        Self { namespace, ..self.clone() }
    }

    /// The same client acting for a named person or program. The history and events show the name. A remote client acts
    /// under the name of its API key instead.
    #[must_use]
    pub fn acting_as(self, actor: Option<Actor>) -> Self {
        Self { actor, ..self }
    }

    /// The time on the client's own clock; [`Client::store_time`] is the store's.
    #[must_use]
    pub fn now(&self) -> Millis {
        self.inner.clock.now()
    }

    /// The store's time, as far as this process knows it; leases and deadlines are judged by it.
    #[must_use]
    pub fn store_time(&self) -> Millis {
        match &self.inner.backend {
            Backend::Embedded(engine) => engine.now(),
            Backend::Remote(connection) => connection.now(),
        }
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
        self.ask(Ask::SubmitMany(many)).await
    }

    /// What an execution is and where it stands; nothing when this namespace has none of this id.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn get(&self, id: ExecutionId) -> Result<Option<Description>> {
        let found: Option<Box<Description>> = self.ask(Ask::Get(id)).await?;
        Ok(found.map(|found| *found))
    }

    /// What an execution ended with; nothing before it ends.
    ///
    /// # Errors
    /// [`Error::ExecutionFailed`], [`Error::ExecutionCancelled`] or [`Error::ExecutionExpired`] when it ended without a
    /// result, [`Error::ResultMismatch`] when the result is of another type, a
    /// refusal when there is no such execution, or a failure of the store.
    pub async fn result<T: DeserializeOwned>(&self, id: ExecutionId) -> Result<Option<T>> {
        match self.ending(id, Duration::ZERO).await? {
            Ending::None(_) => Ok(None),
            ending => read(id, &ending.into_result(id)?).map(Some),
        }
    }

    /// Waits until an execution ends, and answers its result.
    ///
    /// An end in the process of the engine is noticed at once, one in another process by looking at the store, after 10 ms
    /// and then with doubling pauses of at most 250 ms.
    ///
    /// # Errors
    /// [`Error::WaitTimedOut`] when it has not ended in time; otherwise as [`Client::result`].
    pub async fn wait<T: DeserializeOwned>(&self, id: ExecutionId, timeout: Duration) -> Result<T> {
        match self.ending(id, timeout).await? {
            Ending::None(state) => Err(Error::WaitTimedOut { id, state, waited: span(timeout) }),
            ending => read(id, &ending.into_result(id)?),
        }
    }

    /// Waits until an execution ends, and answers how; nothing when it has not ended in time.
    ///
    /// # Errors
    /// A refusal when there is no such execution, or a failure of the store.
    pub async fn ending(&self, id: ExecutionId, timeout: Duration) -> Result<Ending> {
        self.ask(Ask::Ending { id, wait: span(timeout) }).await
    }

    /// What an execution was submitted with; nothing when this namespace has none of this id.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn input(&self, id: ExecutionId) -> Result<Option<Payload>> {
        self.ask(Ask::Input(id)).await
    }

    /// What an execution ended with, whatever its type; nothing before it ends well.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn output(&self, id: ExecutionId) -> Result<Option<Payload>> {
        match self.ending(id, Duration::ZERO).await {
            Ok(Ending::Success(result)) => Ok(Some(result)),
            Ok(_) => Ok(None),
            Err(error) if error.code() == "execution_not_found" => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Executions of this namespace, newest first, from a cursor on; `limit` is at most 1,000.
    ///
    /// # Errors
    /// A failure of the store, or a cursor that is none.
    pub async fn list(&self, after: Option<&str>, limit: usize) -> Result<Found> {
        self.find(&onward_engine::FindFilter::default(), after, limit).await
    }

    /// Lets nobody claim from a lane; submissions are accepted and wait. Answers when every partition obeys.
    ///
    /// # Errors
    /// When the name is no lane, or a failure of the store.
    pub async fn pause_lane(&self, lane: &str) -> Result<()> {
        self.set_lane(lane, to(LaneState::Paused)).await
    }

    /// Lets a lane take and give work again. Answers when every partition obeys.
    ///
    /// # Errors
    /// When the name is no lane, or a failure of the store.
    pub async fn open_lane(&self, lane: &str) -> Result<()> {
        self.set_lane(lane, to(LaneState::Open)).await
    }

    /// Refuses submissions to a lane; what waits there is still run. Answers when every partition obeys.
    ///
    /// # Errors
    /// When the name is no lane, or a failure of the store.
    pub async fn drain_lane(&self, lane: &str) -> Result<()> {
        self.set_lane(lane, to(LaneState::Draining)).await
    }

    /// Decides what holds for submissions to a lane that do not say otherwise: retries, timeouts, retention and so on.
    /// Answers when every partition obeys; work that was submitted before keeps what it has.
    ///
    /// # Errors
    /// When the name is no lane, a refusal of the policy, or a failure of the store.
    pub async fn set_lane_defaults(&self, lane: &str, defaults: Policy) -> Result<()> {
        self.set_lane(lane, LaneChange { state: None, defaults: Some(defaults) }).await
    }

    /// What a lane lets through.
    ///
    /// # Errors
    /// When the name is no lane, or a failure of the store.
    pub async fn lane(&self, lane: &str) -> Result<LaneState> {
        let lane: Lane = lane.parse()?;
        let found: LaneListing = self.ask(Ask::Lane(lane)).await?;
        Ok(found.settings.state)
    }

    /// The lanes of this namespace that are used or were changed, by name.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn lanes(&self) -> Result<Vec<LaneListing>> {
        self.ask(Ask::Lanes).await
    }

    /// The engine inside, for what this client does not offer; nothing when it speaks to a server.
    #[must_use]
    pub fn engine(&self) -> Option<&Engine> {
        match &self.inner.backend {
            Backend::Embedded(engine) => Some(engine),
            Backend::Remote(_) => None,
        }
    }

    /// Turns new calls away, answers what was accepted, and closes the store. Drain the workers first.
    ///
    /// # Errors
    /// When the store did not close cleanly; what was acknowledged is safe nevertheless.
    pub async fn shutdown(&self) -> Result<()> {
        match &self.inner.backend {
            Backend::Embedded(engine) => {
                engine.shutdown().await;
                Ok(engine.store().close().await?)
            }
            Backend::Remote(connection) => {
                connection.shutdown().await;
                Ok(())
            }
        }
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.inner.clock
    }

    /// Where ids and jitter come from.
    #[must_use]
    pub fn chance(&self) -> &Chance {
        &self.inner.chance
    }

    async fn set_lane(&self, lane: &str, change: LaneChange) -> Result<()> {
        let command = CommandId(self.chance().id());
        let ask = Ask::SetLane { command, lane: lane.parse()?, change };
        self.ask(ask).await.map(|_: LaneListing| ())
    }
}

/// The change of what a lane lets through.
fn to(state: LaneState) -> LaneChange {
    LaneChange { state: Some(state), defaults: None }
}

fn read<T: DeserializeOwned>(id: ExecutionId, result: &Payload) -> Result<T> {
    result.read().map_err(|error| Error::ResultMismatch { id, why: error.to_string() })
}

impl Ending {
    /// The result of an execution that ended.
    ///
    /// # Errors
    /// [`Error::ExecutionFailed`], [`Error::ExecutionCancelled`] or [`Error::ExecutionExpired`] when there is none, and
    /// [`Error::WaitTimedOut`] when it has not ended.
    pub fn into_result(self, id: ExecutionId) -> Result<Payload> {
        match self {
            Self::Success(result) => Ok(result),
            Self::None(state) => Err(Error::WaitTimedOut { id, state, waited: Span(0) }),
            Self::Failed(failure) => Err(Error::ExecutionFailed { id, failure: Box::new(failure) }),
            Self::Expired(failure, expired_by) => {
                Err(Error::ExecutionExpired { id, failure: Box::new(failure), expired_by })
            }
            Self::Cancelled(reason) => Err(Error::ExecutionCancelled { id, reason }),
        }
    }
}
