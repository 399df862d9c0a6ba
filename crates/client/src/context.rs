//! What a handler knows about the attempt it runs, and how it learns that it should stop.

use crate::call::Ask;
use crate::worker::{Hub, Sign, Stage};
use crate::{Client, Result};
use onward_core::record::AttemptKind;
use onward_core::{Claimed, ExecutionId, Kind, Lane, Millis, Name, Reason, Renewed, TagKey, TagValue, TraceContext};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::watch;

/// What a handler knows about the attempt it runs. Clones are cheap and can be moved into tasks of your own.
#[derive(Debug, Clone)]
pub struct Context {
    client: Client,
    /// What the worker got with the lease, without the input, which the handler has.
    claimed: Arc<Claimed>,
    sign: watch::Receiver<Sign>,
    stage: watch::Receiver<Stage>,
    hub: Arc<Hub>,
}

impl Context {
    pub(crate) fn new(
        client: Client,
        claimed: Claimed,
        sign: watch::Receiver<Sign>,
        stage: watch::Receiver<Stage>,
        hub: Arc<Hub>,
    ) -> Self {
        Self { client, claimed: Arc::new(claimed), sign, stage, hub }
    }

    /// The waits of this attempt.
    pub(crate) fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    /// The execution; the same in every attempt, so it can be the key of effects that must happen once.
    #[must_use]
    pub fn id(&self) -> ExecutionId {
        self.claimed.fence.execution
    }

    /// Which attempt this is; the first one is 1.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.claimed.fence.attempt
    }

    /// Why this attempt was made.
    #[must_use]
    pub fn attempt_kind(&self) -> AttemptKind {
        self.claimed.attempt_kind
    }

    /// Whether the attempt goes on after [`Failed::later`](crate::Failed::later) or after a wait.
    #[must_use]
    pub fn is_resumed(&self) -> bool {
        self.claimed.resumed
    }

    /// When the attempt has to be done, by the store's clock: its timeout or the execution's deadline.
    #[must_use]
    pub fn deadline(&self) -> Option<Millis> {
        self.claimed.times_out_at.into_iter().chain(self.claimed.deadline).min()
    }

    /// How many failures were retried before.
    #[must_use]
    pub fn retries(&self) -> u32 {
        self.claimed.retries
    }

    /// The kind it was submitted as.
    #[must_use]
    pub fn kind(&self) -> &Kind {
        &self.claimed.kind
    }

    /// The lane it was taken from.
    #[must_use]
    pub fn lane(&self) -> &Lane {
        &self.claimed.lane
    }

    /// Its labels.
    #[must_use]
    pub fn tags(&self) -> &BTreeMap<TagKey, TagValue> {
        &self.claimed.tags
    }

    /// The value of one label.
    #[must_use]
    pub fn tag(&self, key: &str) -> Option<&str> {
        let key = TagKey::parse(key).ok()?;
        self.claimed.tags.get(&key).map(TagValue::as_str)
    }

    /// When it was submitted, by the store's clock.
    #[must_use]
    pub fn created_at(&self) -> Millis {
        self.claimed.created_at
    }

    /// The trace from which it was submitted, if it comes from one. With the feature `otel` the attempt's span stands in it.
    #[must_use]
    pub fn trace(&self) -> Option<TraceContext> {
        self.claimed.trace
    }

    /// The worker's client, for instance to submit what follows.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Whether the attempt is over for this handler: its lease is lost, or it was stopped, suspended or reported. What it
    /// returns is ignored, and another worker may run the execution. A handler is dropped at its next `.await` then; code that
    /// blocks, such as in `spawn_blocking`, asks this from time to time.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.sign.borrow().lost || self.sign.has_changed().is_err()
    }

    /// Ends when the lease is lost; a long handler races its work against this.
    ///
    /// ```
    /// # use onward::{Context, Failed};
    /// # async fn one_page(page: u32) {}
    /// async fn crawl(ctx: Context, pages: u32) -> Result<(), Failed> {
    ///     for page in 0..pages {
    ///         tokio::select! {
    ///             () = ctx.cancelled() => return Err(Failed::transient("another worker takes over")),
    ///             () = one_page(page) => {}
    ///         }
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub async fn cancelled(&self) {
        reached(self.sign.clone(), |sign| sign.lost).await;
    }

    /// Says how far the attempt is, in percent and in words; what is left out stays as it was said before. It also shows
    /// at once whether the lease still holds.
    ///
    /// # Errors
    /// A refusal when the lease is lost or the attempt had its time, or a failure of the store.
    pub async fn progress(&self, percent: impl Into<Option<u8>>, message: impl Into<Option<&str>>) -> Result<()> {
        let message = message.into().map(Reason::new);
        let ask = Ask::Progress { lease: self.claimed.fence, percent: percent.into(), message };
        self.client.ask(ask).await.map(|_: Renewed| ())
    }

    /// Whether somebody asked the execution to stop by itself; it is cancelled when its time is up.
    #[must_use]
    pub fn is_stop_requested(&self) -> bool {
        self.sign.borrow().stop.is_some()
    }

    /// Ends when somebody asks the execution to stop by itself. A handler that can break off returns
    /// [`Failed::cancelled`](crate::Failed::cancelled) then. It is told with the next renewal of its lease, so after half
    /// the lease's time at the latest.
    pub async fn stop_requested(&self) {
        reached(self.sign.clone(), |sign| sign.stop.is_some()).await;
    }

    /// Whether the worker has been told to stop and waits for its handlers.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        *self.stage.borrow() >= Stage::Draining
    }

    /// Ends when the worker is told to stop. A long handler can break off then by itself; otherwise it is stopped when
    /// the grace period is over, and another worker starts the execution again.
    pub async fn draining(&self) {
        reached(self.stage.clone(), |stage| *stage >= Stage::Draining).await;
    }
}

/// Waits until a value fits. Once the attempt is reported or the worker has ended, the value never changes again and the
/// wait never ends.
async fn reached<T>(mut watched: watch::Receiver<T>, fits: impl FnMut(&T) -> bool) {
    if watched.wait_for(fits).await.is_err() {
        std::future::pending::<()>().await;
    }
}
