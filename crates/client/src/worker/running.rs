//! A worker while it runs: keeps its slots filled, and empties them when it is told to stop.

use super::attempt::{self, Taken};
use super::heartbeat;
use super::leases::Leases;
use crate::call::Ask;
use crate::handler::Handler;
use crate::{Client, Result};
use futures_util::future::BoxFuture;
use onward_core::{Claimed, CommandId, Kind, Span};
use onward_engine::Wants;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// How long one call waits for work before it is made again.
const CLAIM_WAIT: Span = Span::minutes(1);
/// The first pause after a claim that failed; it doubles up to the longest.
const CLAIM_PAUSE_FIRST: Span = Span(100);
const CLAIM_PAUSE_MAX: Span = Span::seconds(5);
/// How long handlers that are told to stop may take, and their reports, before they are left to their leases.
const STOP_WAIT: Span = Span::seconds(5);

/// How far a worker is on its way to the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// Takes work.
    Working,
    /// Takes no more, waits for its handlers.
    Draining,
    /// Stops its handlers.
    Stopping,
}

/// What the attempts, the heartbeat and the claims of a running worker share.
pub(crate) struct WorkerState {
    pub(crate) client: Client,
    pub(crate) handlers: BTreeMap<Kind, Handler>,
    uninterrupted: BTreeSet<Kind>,
    pub(crate) leases: Leases,
    wants: Wants,
    stage: watch::Sender<Stage>,
    /// Whether a call for work is under way, which fills whatever slot becomes free.
    claiming: AtomicBool,
}

impl fmt::Debug for WorkerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerState").field("wants", &self.wants).finish_non_exhaustive()
    }
}

impl WorkerState {
    pub(crate) fn new(
        client: Client,
        handlers: BTreeMap<Kind, Handler>,
        uninterrupted: BTreeSet<Kind>,
        wants: Wants,
    ) -> Self {
        let stage = watch::Sender::new(Stage::Working);
        let (leases, claiming) = (Leases::default(), AtomicBool::new(false));
        Self { client, handlers, uninterrupted, leases, wants, stage, claiming }
    }

    /// Whether handlers of a kind are never stopped half-way.
    pub(crate) fn keeps_running(&self, kind: &Kind) -> bool {
        self.uninterrupted.contains(kind)
    }

    /// What the worker asks for, with room for so many.
    pub(crate) fn wants(&self, max: usize) -> Wants {
        Wants { max, ..self.wants.clone() }
    }

    pub(crate) fn ttl(&self) -> Span {
        self.wants.lease
    }

    /// Names a report.
    pub(crate) fn command(&self) -> CommandId {
        CommandId(self.client.chance().id())
    }

    /// Makes attempts never ask for the next execution themselves.
    pub(crate) fn without_refill(self) -> Self {
        self.claiming.store(true, Ordering::Relaxed);
        self
    }

    /// Whether the end of an attempt should ask for the next execution itself.
    pub(crate) fn refills(&self) -> bool {
        self.stage() == Stage::Working && !self.claiming.load(Ordering::Relaxed)
    }

    pub(crate) fn stage(&self) -> Stage {
        *self.stage.borrow()
    }

    pub(crate) fn watch_stage(&self) -> watch::Receiver<Stage> {
        self.stage.subscribe()
    }

    /// Waits until the worker has come to a stage.
    pub(crate) async fn reaches(&self, stage: Stage) {
        // The sender lives as long as this, so there is no error.
        let _reached = self.stage.subscribe().wait_for(|now| *now >= stage).await.is_ok();
    }
}

/// A worker while it runs.
pub(crate) struct Running {
    state: Arc<WorkerState>,
    grace: Span,
    slots: JoinSet<()>,
    pause: Span,
}

type Claiming = Option<BoxFuture<'static, Result<Vec<Claimed>>>>;

impl Running {
    pub(crate) fn new(state: WorkerState, grace: Span) -> Self {
        Self { state: Arc::new(state), grace, slots: JoinSet::new(), pause: Span(0) }
    }

    /// Runs until the signal, then drains.
    pub(crate) async fn run(mut self, signal: impl Future<Output = ()>) -> Result<()> {
        let state = &self.state;
        let mut heart = JoinSet::new();
        heart.spawn(heartbeat::run(state.client.clone(), state.leases.clone(), state.ttl()));
        let result = self.work(signal).await;
        self.drain().await;
        result
    }

    /// Keeps the slots filled until the signal or an error that does not pass.
    async fn work(&mut self, signal: impl Future<Output = ()>) -> Result<()> {
        let mut signal = std::pin::pin!(signal);
        let mut claiming: Claiming = None;
        loop {
            if claiming.is_none() {
                claiming = self.claim();
            }
            self.state.claiming.store(claiming.is_some(), Ordering::Relaxed);
            let claim = async {
                match &mut claiming {
                    Some(claim) => claim.await,
                    None => std::future::pending().await,
                }
            };
            let answer = tokio::select! {
                biased;
                () = &mut signal => return Ok(()),
                answer = claim => answer,
                Some(_) = self.slots.join_next(), if !self.slots.is_empty() => continue,
            };
            claiming = None;
            match answer {
                Ok(claimed) => self.start(claimed),
                Err(error) if error.is_shut_down() => return Ok(()),
                // Something that broke inside the engine has been mended by it; a worker that ended would not be.
                Err(error) if error.is_temporary() || error.is_internal() => {
                    tracing::warn!(%error, "no work could be claimed; trying again");
                    self.pause = Span(self.pause.0 * 2).clamp(CLAIM_PAUSE_FIRST, CLAIM_PAUSE_MAX);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Asks for as much work as there are free slots.
    fn claim(&mut self) -> Claiming {
        while self.slots.try_join_next().is_some() {}
        let free = self.state.wants.max.saturating_sub(self.slots.len());
        if free == 0 {
            return None;
        }
        let (state, wants, pause) = (self.state.clone(), self.state.wants(free), self.pause);
        Some(Box::pin(async move {
            if pause > Span(0) {
                state.client.clock().sleep(state.client.chance().jittered(pause)).await;
            }
            state.client.ask(Ask::Claim { wants, wait: CLAIM_WAIT }).await
        }))
    }

    fn start(&mut self, claimed: Vec<Claimed>) {
        self.pause = Span(0);
        for work in claimed {
            let taken = Taken::new(&self.state, work);
            self.slots.spawn(attempt::run(self.state.clone(), taken));
        }
    }

    /// Waits for the handlers, then stops them, then leaves what does not stop to its lease.
    async fn drain(&mut self) {
        self.state.stage.send_replace(Stage::Draining);
        if self.empties_within(self.grace).await {
            return;
        }
        tracing::info!(running = self.slots.len(), "the grace period is over; handlers are stopped");
        self.state.stage.send_replace(Stage::Stopping);
        if !self.empties_within(STOP_WAIT).await {
            tracing::warn!(running = self.slots.len(), "handlers did not stop; their leases will run out");
        }
    }

    async fn empties_within(&mut self, span: Span) -> bool {
        let over = self.state.client.clock().sleep(span);
        let emptied = async { while self.slots.join_next().await.is_some() {} };
        tokio::select! {
            biased;
            () = emptied => true,
            () = over => false,
        }
    }
}
