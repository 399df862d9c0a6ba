//! What a handler knows about the attempt it runs, and how it learns that it should stop.

use crate::call::Ask;
use crate::worker::{Sign, Stage};
use crate::{Client, Result};
use onward_core::record::AttemptKind;
use onward_core::{
    Claimed, ExecutionId, Fence, Kind, Lane, Millis, Name, Reason, Renewed, TagKey, TagValue, TraceContext,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::watch;

/// What a handler knows about the attempt it runs. Clones are cheap and can be moved into tasks of your own.
#[derive(Debug, Clone)]
pub struct Context {
    client: Client,
    about: Arc<About>,
    fence: Fence,
    sign: watch::Receiver<Sign>,
    stage: watch::Receiver<Stage>,
}

#[derive(Debug)]
struct About {
    id: ExecutionId,
    kind: Kind,
    lane: Lane,
    tags: BTreeMap<TagKey, TagValue>,
    attempt: u32,
    attempt_kind: AttemptKind,
    resumed: bool,
    retries: u32,
    created_at: Millis,
    deadline: Option<Millis>,
    trace: Option<TraceContext>,
}

impl Context {
    pub(crate) fn new(
        client: Client,
        claimed: &Claimed,
        sign: watch::Receiver<Sign>,
        stage: watch::Receiver<Stage>,
    ) -> Self {
        let about = About {
            id: claimed.fence.execution,
            kind: claimed.kind.clone(),
            lane: claimed.lane.clone(),
            tags: claimed.tags.clone(),
            attempt: claimed.fence.attempt.saturating_add(1),
            attempt_kind: claimed.attempt_kind,
            resumed: claimed.resumed,
            retries: claimed.retries,
            created_at: claimed.created_at,
            deadline: claimed.times_out_at.into_iter().chain(claimed.deadline).min(),
            trace: claimed.trace,
        };
        Self { client, about: Arc::new(about), fence: claimed.fence, sign, stage }
    }

    /// The execution; the same in every attempt, so it can be the key of effects that must happen once.
    #[must_use]
    pub fn id(&self) -> ExecutionId {
        self.about.id
    }

    /// Which attempt this is; the first one is 1.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.about.attempt
    }

    /// Why this attempt was made.
    #[must_use]
    pub fn attempt_kind(&self) -> AttemptKind {
        self.about.attempt_kind
    }

    /// Whether the attempt goes on after [`Failed::later`](crate::Failed::later).
    #[must_use]
    pub fn is_resumed(&self) -> bool {
        self.about.resumed
    }

    /// When the attempt has to be done, by the store's clock: its timeout or the execution's deadline.
    #[must_use]
    pub fn deadline(&self) -> Option<Millis> {
        self.about.deadline
    }

    /// How many failures were retried before.
    #[must_use]
    pub fn retries(&self) -> u32 {
        self.about.retries
    }

    /// The kind it was submitted as.
    #[must_use]
    pub fn kind(&self) -> &Kind {
        &self.about.kind
    }

    /// The lane it was taken from.
    #[must_use]
    pub fn lane(&self) -> &Lane {
        &self.about.lane
    }

    /// Its labels.
    #[must_use]
    pub fn tags(&self) -> &BTreeMap<TagKey, TagValue> {
        &self.about.tags
    }

    /// The value of one label.
    #[must_use]
    pub fn tag(&self, key: &str) -> Option<&str> {
        let key = TagKey::parse(key).ok()?;
        self.about.tags.get(&key).map(TagValue::as_str)
    }

    /// When it was submitted, by the store's clock.
    #[must_use]
    pub fn created_at(&self) -> Millis {
        self.about.created_at
    }

    /// The trace from which it was submitted, if it comes from one. With the feature `otel` the attempt's span stands in it.
    #[must_use]
    pub fn trace(&self) -> Option<TraceContext> {
        self.about.trace
    }

    /// The worker's client, for instance to submit what follows.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Whether the lease is lost: somebody else may run the execution now and what this attempt returns is ignored.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.sign.borrow().lost
    }

    /// Ends when the lease is lost; a long handler races its work against this.
    ///
    /// ```
    /// # use onward::{Context, Failed};
    /// # async fn one_page(page: u32) {}
    /// async fn crawl(ctx: Context, pages: u32) -> Result<(), Failed> {
    ///     for page in 0..pages {
    ///         tokio::select! {
    ///             () = ctx.cancelled() => return Err(Failed::transient("somebody else goes on")),
    ///             () = one_page(page) => {}
    ///         }
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub async fn cancelled(&self) {
        let mut sign = self.sign.clone();
        if sign.wait_for(|sign| sign.lost).await.is_err() {
            // The attempt was reported, so its lease can be lost no more.
            std::future::pending::<()>().await;
        }
    }
    /// Says how far the attempt is, in percent and in words; what is left out stays as it was said before. It also shows
    /// at once whether the lease still holds.
    ///
    /// # Errors
    /// A refusal when the lease is lost or the attempt had its time, or a failure of the store.
    pub async fn progress(&self, percent: impl Into<Option<u8>>, message: impl Into<Option<&str>>) -> Result<()> {
        let message = message.into().map(Reason::new);
        let ask = Ask::Progress { lease: self.fence, percent: percent.into(), message };
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
        let mut sign = self.sign.clone();
        if sign.wait_for(|sign| sign.stop.is_some()).await.is_err() {
            // The attempt was reported, so nobody can ask it any more.
            std::future::pending::<()>().await;
        }
    }

    /// Whether the worker has been told to stop and waits for its handlers.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        *self.stage.borrow() >= Stage::Draining
    }

    /// Ends when the worker is told to stop. A long handler can break off then by itself; otherwise it is stopped when
    /// the grace period is over, and another worker starts the execution again.
    pub async fn draining(&self) {
        let mut stage = self.stage.clone();
        if stage.wait_for(|stage| *stage >= Stage::Draining).await.is_err() {
            // The worker is gone, and with it whoever could be told to stop.
            std::future::pending::<()>().await;
        }
    }
}
