//! Calls to an engine inside this program.

use crate::call::{Answer, Ask, Call, Ending, EventsPage, Reports};
use crate::calls::Calls;
use crate::keys::Secret;
use crate::wire::{
    IssuedKey, KeyInfo, MintedToken, NewKeyRequest, TokenInfo, TokenKeyInfo, TokenSignalRequest, WaitsInfo,
};
use crate::{AttemptDescription, Description, Error, Found, Result};
use futures_util::future::join;
use onward_core::record::{Execution, Outcome, State};
use onward_core::{
    Actor, Category, CommandId, ExecutionId, Failure, Namespace, NewSignal, Operate, Payload, PayloadSlot, Progress,
    Rejection, Report, RevokeKey, SetLane, Signal, Signalled, Span, Suspend, TokenText, limits,
};
use onward_engine::clock::{Chance, Clock};
use onward_engine::{Engine, EventFilter, Subscription, Told, Wants};
use std::sync::Arc;
use tower::service_fn;

/// An engine, and what it is asked with.
#[derive(Debug, Clone)]
pub(crate) struct Local {
    pub(crate) engine: Engine,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) chance: Arc<Chance>,
}

impl Local {
    pub(crate) fn into_calls(self) -> Calls {
        Calls::new(service_fn(move |call: Call| {
            let local = self.clone();
            async move { local.answer(call).await }
        }))
    }

    async fn answer(&self, Call { namespace, by, ask }: Call) -> Result<Answer> {
        let engine = &self.engine;
        Ok(match ask {
            Ask::Submit(new) => engine.submit(new).await?.into(),
            Ask::SubmitMany(many) => each(engine.submit_many(many).await?).into(),
            Ask::Claim { wants, wait } => engine.claim(&wants, wait).await?.into(),
            Ask::Renew { leases, ttl } => each(engine.renew(&leases, ttl).await).into(),
            Ask::Report { reports, claim } => self.report(reports, claim).await.into(),
            Ask::Progress { lease, percent, message } => {
                engine.run(Progress { fence: lease, percent, message }).await?.into()
            }
            Ask::Suspend { command, lease, new } => engine.run(Suspend { command, fence: lease, new }).await?.into(),
            Ask::Signal { command, id, signal } => {
                engine.run(Signal { command, namespace, execution: id, by, proof: None, signal }).await?.into()
            }
            Ask::SignalMany { command, ids, signal } => {
                self.signal_many(namespace, by, (command, ids), &signal).await.into()
            }
            Ask::MintToken { id, new } => {
                Box::new(MintedToken::from(engine.mint_token(&namespace, id, &new, by).await?)).into()
            }
            Ask::DescribeToken(token) => Box::new(self.describe_token(&token).await?).into(),
            Ask::SignalByToken(request) => self.signal_by_token(*request).await?.into(),
            Ask::RotateTokenKeys { command, grace } => self.rotate_token_keys(command, grace, by).await?.into(),
            Ask::TokenKeys => TokenKeyInfo::all(&engine.token_keys().await?, engine.now()).into(),
            Ask::Waits(id) => {
                let execution = self.existing(&namespace, id).await?;
                Box::new(WaitsInfo::of(&execution, engine.waits(&execution).await?)).into()
            }
            Ask::SignalPayload { id, signal } => match self.visible(&namespace, id).await? {
                Some(execution) => engine.payload(&execution, PayloadSlot::Signal(signal)).await?.into(),
                None => None::<Payload>.into(),
            },
            Ask::Get(id) => self.visible(&namespace, id).await?.map(|found| Box::new(Description::of(&found))).into(),
            Ask::Ending { id, wait } => self.ending(&namespace, id, wait).await?.into(),
            Ask::Input(id) => self.input(&namespace, id).await?.into(),
            Ask::Attempts(id) => {
                let execution = self.existing(&namespace, id).await?;
                AttemptDescription::all(&execution, engine.attempts(&execution).await?).into()
            }
            Ask::History(id) => engine.history(&self.existing(&namespace, id).await?).await?.into(),
            Ask::Why(id) => Box::new(engine.why(&self.existing(&namespace, id).await?).await?).into(),
            Ask::Find { filter, cursor, limit } => {
                let page = engine.find(&namespace, &filter, cursor.as_deref(), limit).await?;
                let executions = page.executions.iter().map(Description::in_short).collect();
                Found { executions, scanned: page.scanned, next: page.next }.into()
            }
            Ask::Counts => engine.counts(&namespace).await?.into(),
            Ask::Operate { command, id, act } => {
                engine.run(Operate { command, namespace, execution: id, by, act }).await?.into()
            }
            Ask::OperateMany { command, ids, act } => {
                each(engine.operate_many(command, &namespace, &ids, by.as_ref(), &act).await).into()
            }
            Ask::Lanes => engine.lanes(&namespace).await?.into(),
            Ask::Lane(lane) => engine.lane_listing(&namespace, lane).await?.into(),
            Ask::SetLane { command, lane, change } => {
                let set = SetLane { command, namespace: namespace.clone(), lane: lane.clone(), by, change };
                engine.set_lane_with(set).await?;
                engine.lane_listing(&namespace, lane).await?.into()
            }
            Ask::Events { filter, cursor, wait, limit } => {
                let filter = EventFilter { namespace: Some(namespace), ..filter };
                self.events(engine.subscribe(filter, cursor), wait, limit).await?.into()
            }
            Ask::IssueKey(request) => self.issue_key(request, by).await?.into(),
            Ask::Keys => engine.keys().await?.into_iter().map(KeyInfo::from).collect::<Vec<_>>().into(),
            Ask::RevokeKey(id) => KeyInfo::from(*engine.run(RevokeKey { id, by }).await?).into(),
        })
    }

    async fn report(&self, reports: Vec<Report>, claim: Option<Wants>) -> Reports {
        let claiming = async {
            match claim {
                Some(wants) => self.engine.claim(&wants, Span(0)).await,
                None => Ok(Vec::new()),
            }
        };
        let (reported, claimed) = join(self.engine.run_many(reports.into_iter()), claiming).await;
        Reports { reported: each(reported), claimed: claimed.map_err(Error::from) }
    }

    /// An execution, unless it belongs to another namespace: nobody learns that it exists.
    async fn visible(&self, namespace: &Namespace, id: ExecutionId) -> Result<Option<Execution>> {
        let execution = self.engine.get(id).await?;
        Ok(execution.filter(|execution| execution.namespace == *namespace))
    }

    async fn existing(&self, namespace: &Namespace, id: ExecutionId) -> Result<Execution> {
        self.visible(namespace, id).await?.ok_or_else(|| Rejection::ExecutionNotFound(id).into())
    }

    async fn input(&self, namespace: &Namespace, id: ExecutionId) -> Result<Option<Payload>> {
        match self.visible(namespace, id).await? {
            Some(execution) => Ok(self.engine.payload(&execution, PayloadSlot::Input).await?),
            None => Ok(None),
        }
    }

    async fn ending(&self, namespace: &Namespace, id: ExecutionId, wait: Span) -> Result<Ending> {
        let waited = self.engine.wait_in(namespace, id, wait).await?;
        let execution = waited.ok_or_else(|| Error::from(Rejection::ExecutionNotFound(id)))?;
        let State::Finished(finished) = &execution.state else { return Ok(Ending::None(execution.public_state())) };
        let unexplained = || Failure::new(Category::engine(), "no reason was recorded");
        let failure = || execution.failure().unwrap_or_else(unexplained);
        Ok(match finished.outcome {
            Outcome::Success => {
                let result = self.engine.payload(&execution, PayloadSlot::Result).await?;
                Ending::Success(result.unwrap_or_else(Payload::null))
            }
            Outcome::Failed => Ending::Failed(failure()),
            Outcome::Expired => Ending::Expired(failure(), finished.expired_by),
            Outcome::Cancelled => {
                Ending::Cancelled(finished.cancelled.as_ref().map(|by| by.reason.clone()).unwrap_or_default())
            }
        })
    }

    async fn events(&self, mut events: Subscription, wait: Span, limit: usize) -> Result<EventsPage> {
        let limit = limit.clamp(1, limits::PAGE_MAX);
        let mut next = if wait == Span(0) {
            events.next_now().await?
        } else {
            tokio::select! {
                biased;
                told = events.next() => match told? {
                    None => return Err(onward_engine::Error::ShuttingDown.into()),
                    told => told,
                },
                () = self.clock.sleep(wait) => None,
            }
        };
        let (mut told, mut found) = (Vec::new(), 0);
        while let Some(one) = next {
            // A gap has no place of its own, so that a page must not end with one.
            found += usize::from(matches!(one, Told::Event { .. }));
            told.push(one);
            next = if found < limit { events.next_now().await? } else { None };
        }
        let last = told.iter().rev().find_map(|told| match told {
            Told::Event { cursor, .. } => Some(cursor.clone()),
            Told::Gap => None,
        });
        // A page that passed over events goes on behind them, unless it stopped in their midst.
        Ok(EventsPage { told, cursor: events.cursor().or(last) })
    }

    async fn signal_many(
        &self,
        namespace: Namespace,
        by: Option<Actor>,
        (command, ids): (CommandId, Vec<ExecutionId>),
        signal: &NewSignal,
    ) -> Vec<Result<Signalled>> {
        let of_one = |id: &ExecutionId| Signal {
            command: command.about(*id),
            namespace: namespace.clone(),
            execution: *id,
            by: by.clone(),
            proof: None,
            signal: Box::new(signal.clone()),
        };
        each(self.engine.run_many(ids.iter().map(of_one)).await)
    }

    async fn signal_by_token(&self, request: TokenSignalRequest) -> Result<Signalled> {
        let (token, signal) = request.into_parts();
        Ok(self.engine.signal_by_token(&token, &signal).await?)
    }

    async fn describe_token(&self, token: &TokenText) -> Result<TokenInfo> {
        let token = self.engine.verify_token(token).await?;
        let subject = self.engine.token_subject(&token).await?;
        Ok(TokenInfo::of(token, subject))
    }

    async fn rotate_token_keys(
        &self,
        command: CommandId,
        grace: Option<Span>,
        by: Option<Actor>,
    ) -> Result<Vec<TokenKeyInfo>> {
        let grace = grace.unwrap_or(limits::TOKEN_GRACE_DEFAULT);
        let keys = self.engine.rotate_token_keys(command, grace, by).await?;
        Ok(TokenKeyInfo::all(&keys, self.engine.now()))
    }

    async fn issue_key(&self, request: NewKeyRequest, by: Option<Actor>) -> Result<IssuedKey> {
        let secret = Secret::draw(&self.chance);
        let issue = request.issue(self.engine.key_id(), self.engine.command_id(), &secret, by);
        let kept = *self.engine.run(issue).await?;
        Ok(IssuedKey { key: secret.reveal(kept.id), info: kept.into() })
    }
}

/// Answers of the engine as answers of the client.
fn each<T>(answers: Vec<std::result::Result<T, onward_engine::Error>>) -> Vec<Result<T>> {
    answers.into_iter().map(|answer| answer.map_err(Error::from)).collect()
}
