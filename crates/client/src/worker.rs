//! The worker: takes work from lanes and runs it with handlers, renews its leases, and drains when it is told to.

mod attempt;
mod heartbeat;
mod hub;
mod leases;
mod report;
mod running;
mod suspend;

use crate::handler::{self, Handler};
use crate::options::span;
use crate::{Client, Context, Error, Failed, Result};
use onward_core::{Build, Capability, Class, Kind, Lane, Payload, Rejection, Span, WorkerName, limits};
use onward_engine::Wants;
use running::Running;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub(crate) use attempt::{Taken, run_one};
pub(crate) use hub::{Hub, Wanted};
pub(crate) use leases::Sign;
pub(crate) use running::{Stage, WorkerState};

/// Executions that a worker runs at the same time unless it is told otherwise.
const CONCURRENCY_DEFAULT: usize = 16;
/// How long a draining worker waits for its handlers unless it is told otherwise.
const GRACE_DEFAULT: Span = Span::seconds(30);

/// Takes work from lanes and runs it with handlers.
///
/// - A handler is an async function of a [`Context`] and an input; see [`Worker::on`].
/// - Leases are renewed at half their time, apart from the handlers. When one is lost nevertheless,
///   [`Context::cancelled`] fires and what the handler returns is not reported.
/// - A handler that panics fails its attempt with the category `panic`.
/// - It takes only work of the kinds that it has handlers for. Other work stays in the queue until a worker comes that has
///   one: it may have been submitted for a newer version of the program.
///
/// Handlers share the threads of the tokio runtime with the heartbeat: run blocking code with
/// `tokio::task::spawn_blocking`.
#[derive(Clone)]
pub struct Worker {
    client: Client,
    handlers: BTreeMap<Kind, Handler>,
    /// Kinds whose handlers are never stopped half-way.
    uninterrupted: BTreeSet<Kind>,
    lanes: Vec<Lane>,
    capabilities: Class,
    concurrency: usize,
    lease: Span,
    grace: Span,
    name: Option<WorkerName>,
    build: Option<Build>,
    /// The first wrong argument, reported when the worker starts.
    mistake: Option<Error>,
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker")
            .field("kinds", &self.handlers.keys().collect::<Vec<_>>())
            .field("lanes", &self.lanes)
            .field("capabilities", &self.capabilities)
            .field("concurrency", &self.concurrency)
            .finish_non_exhaustive()
    }
}

impl Worker {
    /// A worker for the lane `default` of the client's namespace, without handlers yet.
    #[must_use]
    pub fn new(client: impl Borrow<Client>) -> Self {
        Self {
            client: client.borrow().clone(),
            handlers: BTreeMap::new(),
            uninterrupted: BTreeSet::new(),
            lanes: Vec::new(),
            capabilities: Class::default(),
            concurrency: CONCURRENCY_DEFAULT,
            lease: limits::LEASE_DEFAULT,
            grace: GRACE_DEFAULT,
            name: None,
            build: None,
            mistake: None,
        }
    }

    /// Runs work of a kind with an async function. Input and output are JSON; the error is anything that becomes a
    /// [`Failed`]: a `Failed` itself or any [`std::error::Error`].
    ///
    /// An input that does not fit the function's type fails the execution for good.
    #[must_use]
    pub fn on<F, Fut, I, O, E>(self, kind: &str, handler: F) -> Self
    where
        F: Fn(Context, I) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = std::result::Result<O, E>> + Send + 'static,
        I: DeserializeOwned,
        O: Serialize,
        E: Into<Failed>,
    {
        self.register(kind, handler::typed(handler))
    }

    /// Runs work of a kind with an async function of raw payloads, for inputs and results that are not JSON.
    #[must_use]
    pub fn on_payload<F, Fut, E>(self, kind: &str, handler: F) -> Self
    where
        F: Fn(Context, Payload) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = std::result::Result<Payload, E>> + Send + 'static,
        E: Into<Failed>,
    {
        self.register(kind, handler::raw(handler))
    }

    /// The lanes to take work from; `default` unless chosen.
    #[must_use]
    pub fn lanes<'a>(self, lanes: impl IntoIterator<Item = &'a str>) -> Self {
        let parsed: std::result::Result<Vec<Lane>, _> = lanes.into_iter().map(str::parse).collect();
        self.with(|worker| {
            worker.lanes.extend(parsed?);
            Ok(())
        })
    }

    /// What this worker can do; it is given only work that requires no more.
    #[must_use]
    pub fn capabilities<'a>(self, capabilities: impl IntoIterator<Item = &'a str>) -> Self {
        let parsed: std::result::Result<Vec<Capability>, _> = capabilities.into_iter().map(str::parse).collect();
        self.with(|worker| {
            worker.capabilities = Class::new(parsed?)?;
            Ok(())
        })
    }

    /// How many executions run at the same time, 1 to 1,000; 16 unless chosen.
    #[must_use]
    pub fn concurrency(mut self, concurrency: usize) -> Self {
        self.concurrency = concurrency;
        self
    }

    /// How long a lost worker's executions stay with it, 1 second to 1 hour; 30 seconds unless chosen.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = span(lease);
        self
    }

    /// How long a draining worker waits for handlers before it stops them; 30 seconds unless chosen.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = span(grace);
        self
    }

    /// The name that people see beside the executions it runs; made from the process id and chance unless chosen.
    #[must_use]
    pub fn name(self, name: &str) -> Self {
        self.with(|worker| {
            worker.name = Some(name.parse()?);
            Ok(())
        })
    }

    /// The build of this program, such as its version or its commit, which people see beside the attempts it made.
    #[must_use]
    pub fn build(self, build: &str) -> Self {
        self.with(|worker| {
            worker.build = Some(build.parse()?);
            Ok(())
        })
    }

    /// Runs until the client is shut down. Dropping this ends running handlers where they stand, as a crash would.
    ///
    /// # Errors
    /// A wrong argument of the worker, or a failure of the store that does not pass.
    pub async fn run(self) -> Result<()> {
        self.run_until(std::future::pending()).await
    }

    /// Runs until a signal, then drains: takes no more work, waits for running handlers for the grace period, stops the
    /// rest and gives their executions back. Another worker starts them again; no retry is used up.
    ///
    /// # Errors
    /// A wrong argument of the worker, or a failure of the store that does not pass.
    pub async fn run_until(self, signal: impl Future<Output = ()>) -> Result<()> {
        let grace = self.grace;
        Running::new(self.into_state()?, grace).run(signal).await
    }

    /// Starts running in the background.
    ///
    /// # Errors
    /// A wrong argument of the worker.
    pub fn start(self) -> Result<WorkerHandle> {
        let stop = CancellationToken::new();
        let signal = stop.clone().cancelled_owned();
        let grace = self.grace;
        let running = Running::new(self.into_state()?, grace);
        let task = tokio::spawn(async move {
            let end = running.run(signal).await;
            if let Err(error) = &end {
                tracing::error!(%error, "a worker has ended by itself");
            }
            end
        });
        Ok(WorkerHandle { stop, task })
    }

    /// Checks the arguments and makes the state of a running worker.
    pub(crate) fn into_state(self) -> Result<WorkerState> {
        if let Some(mistake) = self.mistake {
            return Err(mistake);
        }
        let max = limits::CALL_ITEMS_MAX;
        let invalid = |field, why| Err(Rejection::InvalidArgument { field, why }.into());
        if self.concurrency == 0 || self.concurrency > max {
            return invalid("concurrency", format!("is 1 to {max}, not {}", self.concurrency));
        }
        if !(limits::LEASE_MIN..=limits::LEASE_MAX).contains(&self.lease) {
            let why = format!("is {} to {}, not {}", limits::LEASE_MIN, limits::LEASE_MAX, self.lease);
            return invalid("lease", why);
        }
        if self.handlers.is_empty() {
            return invalid("handlers", "a worker needs at least one; add it with `on`".to_owned());
        }
        if self.handlers.len() > max {
            return invalid("handlers", format!("a worker has at most {max}, not {}", self.handlers.len()));
        }
        let name = match self.name {
            Some(name) => name,
            None => format!("worker-{}-{:08x}", std::process::id(), self.client.chance().word() >> 32).parse()?,
        };
        let wants = Wants {
            namespace: self.client.namespace().clone(),
            lanes: if self.lanes.is_empty() { vec![Lane::default()] } else { self.lanes },
            kinds: Some(Arc::new(self.handlers.keys().cloned().collect())),
            capabilities: self.capabilities,
            worker: name,
            build: self.build,
            lease: self.lease,
            max: self.concurrency,
        };
        Ok(WorkerState::new(self.client, self.handlers, self.uninterrupted, wants))
    }

    /// Lets the handler of a kind run to its end even when its lease is lost, its attempt has timed out or its cancellation
    /// is due, for work that must not be broken off half-way. What it returns then is ignored, and its slot stays taken.
    /// Handlers of all other kinds are dropped at their next `.await`; code that blocks can ask
    /// [`Context::is_cancelled`](crate::Context::is_cancelled).
    #[must_use]
    pub fn uninterrupted(self, kind: &str) -> Self {
        let kind = kind.parse();
        self.with(|worker| {
            worker.uninterrupted.insert(kind?);
            Ok(())
        })
    }

    fn register(self, kind: &str, handler: Handler) -> Self {
        self.with(|worker| {
            let kind: Kind = kind.parse()?;
            if worker.handlers.insert(kind.clone(), handler).is_some() {
                let why = format!("{kind} has two");
                return Err(Rejection::InvalidArgument { field: "handlers", why }.into());
            }
            Ok(())
        })
    }

    fn with(mut self, choose: impl FnOnce(&mut Self) -> Result<()>) -> Self {
        if self.mistake.is_none()
            && let Err(error) = choose(&mut self)
        {
            self.mistake = Some(error);
        }
        self
    }
}

/// A worker that runs in the background. Dropping the handle leaves it running until the client is shut down.
#[derive(Debug)]
pub struct WorkerHandle {
    stop: CancellationToken,
    task: JoinHandle<Result<()>>,
}

impl WorkerHandle {
    /// Drains the worker, as at the signal of [`Worker::run_until`], and waits for its end.
    ///
    /// # Errors
    /// What ended the worker before, if it had ended already.
    pub async fn drain(self) -> Result<()> {
        self.stop.cancel();
        self.ended().await
    }

    /// Waits until the worker ends by itself: when its client is shut down, or by an error.
    ///
    /// # Errors
    /// What ended the worker, unless its client was shut down.
    pub async fn ended(self) -> Result<()> {
        match self.task.await {
            Ok(result) => result,
            Err(error) => Err(onward_engine::Error::Internal(format!("the worker's task ended: {error}")).into()),
        }
    }

    /// Whether the worker has ended.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.task.is_finished()
    }

    /// Ends the worker where it stands, as a crash would: nothing is reported and its leases run out.
    pub fn abort(self) {
        self.task.abort();
    }
}
