//! Every call of a client as requests to a server.

use super::claims::Claims;
use super::exchange::{Exchange, Reply, Request};
use super::gather::{Gather, Shareable};
use super::minimum_wait::MinimumWait;
use super::reports::{self, Ended, Told};
use super::submits;
use super::{decode, encode};
use crate::call::{Answer, Ask, Call, Ending, EventsPage, Reports};
use crate::calls::Calls;
use crate::wire::{
    ActBody, Acted, AttemptList, DescribeTokenRequest, EventPage, EventQuery, FoundPage, HistoryPage, IssuedKey,
    ItemAnswer, KeyInfo, KeyList, LaneInfo, LaneList, LanePatch, LeaseToken, MintedToken, ProgressRequest, RenewAnswer,
    RenewRequest, RotateTokenKeysRequest, SuspendRequest, TokenInfo, TokenKeyInfo, TokenKeyList, TokenSignalRequest,
    WaitsInfo,
};
use crate::{Description, Error, Found, Result};
use futures_util::future::join_all;
use futures_util::stream::{self, StreamExt};
use onward_core::{
    Act, ActOutcome, Category, Claimed, CommandId, ExecutionId, Explanation, Failure, Fence, Lane, LaneChange,
    Namespace, NewExecution, NewSignal, NewToken, Payload, Rejection, Renewed, Report, Signalled, Span, Submitted,
    Suspended, TokenText, limits,
};
use onward_engine::{LaneListing, Wants, chosen_id};
use serde::de::DeserializeOwned;
use std::sync::Arc;
use tower::service_fn;
use uuid::Uuid;

/// The most bytes of work in one request.
const BYTES_MAX: usize = 4 * 1024 * 1024;
/// Executions that are operated on at the same time.
const OPERATED: usize = 16;

/// A server.
#[derive(Debug, Clone)]
pub(crate) struct Remote {
    exchange: Arc<Exchange>,
    submits: Gather<NewExecution>,
    reports: Gather<Ended>,
    claims: Claims,
}

impl Remote {
    pub(super) fn new(exchange: Arc<Exchange>) -> Self {
        let (submits, reports) = (submits::gather(exchange.clone()), reports::gather(exchange.clone()));
        let claims = Claims::new(exchange.clone());
        Self { exchange, submits, reports, claims }
    }

    pub(super) fn into_calls(self) -> Calls {
        Calls::new(service_fn(move |call: Call| {
            let remote = self.clone();
            async move {
                let _under_way = remote.exchange.enter().await?;
                remote.answer(call).await
            }
        }))
    }

    async fn answer(&self, Call { namespace, ask, .. }: Call) -> Result<Answer> {
        let of = &namespace;
        Ok(match ask {
            Ask::Submit(new) => {
                let uuid = new.uuid.or_else(|| Some(self.uuid(self.submits.turn())));
                self.submits.call(NewExecution { namespace, uuid, ..*new }).await?.into()
            }
            Ask::SubmitMany(many) => self.submit_many(of, many).await?.into(),
            Ask::Claim { wants, wait } => self.claims.call(namespace, wants, wait).await?.into(),
            Ask::Renew { leases, ttl } => self.renew(of, leases, ttl).await?.into(),
            Ask::Report { reports, claim } => self.report(namespace, reports, claim).await?.into(),
            Ask::Progress { lease, percent, message } => {
                let body = ProgressRequest { lease: LeaseToken(lease), percent, message };
                self.exchange.ask::<Renewed>(Request::post(of, "/v1/work/progress", &body)?).await?.into()
            }
            Ask::Suspend { command, lease, new } => {
                let body = SuspendRequest::of(LeaseToken(lease), *new);
                let request = Request::post(of, "/v1/work/suspend", &body)?.named(command);
                self.exchange.ask::<Suspended>(request).await?.into()
            }
            Ask::Signal { command, id, signal } => {
                let request = Request::post(of, format!("/v1/executions/{id}/signals"), &signal)?.named(command);
                self.exchange.ask::<Signalled>(request).await?.into()
            }
            Ask::SignalMany { command, ids, signal } => self.signal_many(of, command, ids, &signal).await.into(),
            Ask::MintToken { id, new } => self.mint_token(of, id, &new).await?.into(),
            Ask::DescribeToken(token) => self.describe_token(of, token).await?.into(),
            Ask::SignalByToken(signal) => self.signal_by_token(of, &signal).await?.into(),
            Ask::RotateTokenKeys { command, grace } => self.rotate_token_keys(of, command, grace).await?.into(),
            Ask::TokenKeys => self.get::<TokenKeyList>(of, "/v1/token-keys").await?.keys.into(),
            Ask::Waits(id) => self.of_one::<Box<WaitsInfo>>(of, id, "waits").await?.into(),
            Ask::SignalPayload { id, signal } => {
                let request = Request::get(of, format!("/v1/executions/{id}/signals/{signal}"));
                let reply = absent(self.exchange.send(request).await)?;
                reply.as_ref().map(payload).transpose()?.into()
            }
            Ask::Get(id) => self.look(of, id).await?.map(Box::new).into(),
            Ask::Ending { id, wait } => self.ending(of, id, wait).await?.into(),
            Ask::Input(id) => self.input(of, id).await?.into(),
            Ask::Operate { command, id, act } => self.operate(of, command, id, act).await?.into(),
            Ask::OperateMany { command, ids, act } => self.operate_many(of, command, ids, &act).await.into(),
            Ask::IssueKey(request) => {
                // A repeat would issue a second key.
                self.exchange.ask::<IssuedKey>(Request::post(of, "/v1/keys", &request)?.once()).await?.into()
            }
            Ask::RevokeKey(id) => {
                self.exchange.ask::<KeyInfo>(Request::delete(of, format!("/v1/keys/{id}"))).await?.into()
            }
            Ask::SetLane { command, lane, change } => self.set_lane(of, command, &lane, change).await?.into(),
            Ask::Attempts(id) => self.of_one::<AttemptList>(of, id, "attempts").await?.attempts.into(),
            Ask::History(id) => self.of_one::<HistoryPage>(of, id, "history").await?.transitions.into(),
            Ask::Why(id) => self.of_one::<Box<Explanation>>(of, id, "why").await?.into(),
            Ask::Find { filter, cursor, limit } => {
                let query = encode::search(filter, cursor, limit.clamp(1, limits::PAGE_MAX));
                let page: FoundPage = self.get(of, encode::with_query("/v1/executions", &query)).await?;
                Found { executions: page.executions, scanned: page.scanned, next: page.next }.into()
            }
            Ask::Counts => decode::counts(self.get(of, "/v1/counts").await?).into(),
            Ask::Lanes => {
                let list: LaneList = self.get(of, "/v1/lanes").await?;
                list.lanes.into_iter().map(decode::lane).collect::<Vec<_>>().into()
            }
            Ask::Lane(lane) => decode::lane(self.get(of, format!("/v1/lanes/{lane}")).await?).into(),
            Ask::Events { filter, cursor, wait, limit } => {
                let query = encode::events(filter, cursor, wait, limit.clamp(1, limits::PAGE_MAX));
                self.events(of, &query, wait).await?.into()
            }
            Ask::Keys => self.get::<KeyList>(of, "/v1/keys").await?.keys.into(),
        })
    }

    async fn events(&self, of: &Namespace, query: &EventQuery, wait: Span) -> Result<EventsPage> {
        let minimum = MinimumWait::start(wait);
        let request = Request::get(of, encode::with_query("/v1/events", query)).waiting(wait);
        let page: EventPage = self.exchange.ask(request).await?;
        if page.events.is_empty() {
            minimum.elapsed().await;
        }
        Ok(decode::events(page))
    }

    /// What there is to read about one execution.
    async fn of_one<T: DeserializeOwned>(&self, of: &Namespace, id: ExecutionId, what: &str) -> Result<T> {
        self.get(of, format!("/v1/executions/{id}/{what}")).await
    }

    async fn get<T: DeserializeOwned>(&self, of: &Namespace, path: impl Into<String>) -> Result<T> {
        self.exchange.ask(Request::get(of, path)).await
    }

    /// An id that starts with the server's time, so that the newest work has the largest.
    fn uuid(&self, turn: usize) -> Uuid {
        chosen_id(self.exchange.now(), self.exchange.chance.id(), turn)
    }

    async fn submit_many(&self, of: &Namespace, many: Vec<NewExecution>) -> Result<Vec<Result<Submitted>>> {
        let max = limits::CALL_ITEMS_MAX;
        if many.len() > max {
            let why = format!("at most {max} executions fit one call, {} were given", many.len());
            return Err(Rejection::InvalidArgument { field: "executions", why }.into());
        }
        let turn = self.submits.next_turn();
        let (mut answers, mut some, mut bytes) = (Vec::with_capacity(many.len()), Vec::new(), 0);
        for new in many {
            let size = new.bytes();
            if bytes + size > BYTES_MAX && !some.is_empty() {
                answers.extend(submits::send_all(&self.exchange, of, std::mem::take(&mut some)).await?);
                bytes = 0;
            }
            bytes += size;
            let fresh = || Some(self.uuid(turn + some.len() / limits::BATCH_COMMANDS_MAX));
            let uuid = new.uuid.or_else(fresh);
            some.push(NewExecution { uuid, ..new });
        }
        if !some.is_empty() {
            answers.extend(submits::send_all(&self.exchange, of, some).await?);
        }
        Ok(answers)
    }

    async fn renew(&self, of: &Namespace, leases: Vec<Fence>, ttl: Span) -> Result<Vec<Result<Renewed>>> {
        let body = RenewRequest { leases: leases.into_iter().map(LeaseToken).collect(), lease: Some(ttl) };
        let answer: RenewAnswer = self.exchange.ask(Request::post(of, "/v1/work/renew", &body)?).await?;
        Ok(answer.results.into_iter().map(ItemAnswer::into_result).collect())
    }

    /// Each goes its own way, beside those of others; the first one takes the claim along.
    async fn report(&self, of: Namespace, reports: Vec<Report>, mut claim: Option<Wants>) -> Result<Reports> {
        if reports.is_empty() {
            return reports::send(&self.exchange, &of, reports, claim).await;
        }
        let each = reports
            .into_iter()
            .map(|report| self.reports.call(Ended { namespace: of.clone(), report, claim: claim.take() }));
        let (mut reported, mut claimed) = (Vec::new(), Ok(Vec::new()));
        for told in join_all(each).await {
            match told {
                Ok(Told { reported: one, claimed: more }) => {
                    reported.push(one);
                    claimed = claimed.and_then(|mut all: Vec<Claimed>| {
                        all.extend(more?.accept());
                        Ok(all)
                    });
                }
                Err(error) => reported.push(Err(error)),
            }
        }
        Ok(Reports { reported, claimed })
    }

    /// An execution; nothing when there is none.
    async fn look(&self, of: &Namespace, id: ExecutionId) -> Result<Option<Description>> {
        absent(self.get(of, format!("/v1/executions/{id}")).await)
    }

    async fn input(&self, of: &Namespace, id: ExecutionId) -> Result<Option<Payload>> {
        let reply = absent(self.exchange.send(Request::get(of, format!("/v1/executions/{id}/input"))).await)?;
        reply.as_ref().map(payload).transpose()
    }

    async fn ending(&self, of: &Namespace, id: ExecutionId, wait: Span) -> Result<Ending> {
        let began = self.exchange.here();
        loop {
            // A server may wait less than it is asked to.
            let left = wait - (self.exchange.here() - began);
            let path = match left {
                Span(0) => format!("/v1/executions/{id}/result"),
                left => format!("/v1/executions/{id}/result?wait={}", left.0),
            };
            let minimum = MinimumWait::start(left);
            match self.exchange.send(Request::get(of, path).waiting(left)).await {
                Ok(reply) if reply.status == 202 => {
                    minimum.elapsed().await;
                    if self.exchange.here() - began >= wait {
                        return Ok(Ending::None(reply.json::<Description>()?.state));
                    }
                }
                Ok(reply) => return Ok(Ending::Success(payload(&reply)?)),
                Err(Error::Server(problem)) if problem.code.starts_with("execution_") && problem.status == 409 => {
                    let found = self.look(of, id).await?.ok_or(Rejection::ExecutionNotFound(id))?;
                    return unhappy(&problem.code, found).ok_or(Error::Server(problem));
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn operate(&self, of: &Namespace, command: CommandId, id: ExecutionId, act: Act) -> Result<ActOutcome> {
        let request = match act {
            Act::Purge(_) => Request::delete(of, format!("/v1/executions/{id}")),
            act => Request::post(of, format!("/v1/executions/{id}/{}", act.name()), &ActBody(&act))?,
        };
        let acted: Acted = self.exchange.ask(request.named(command)).await?;
        Ok(acted.outcome)
    }

    async fn operate_many(
        &self,
        of: &Namespace,
        command: CommandId,
        ids: Vec<ExecutionId>,
        act: &Act,
    ) -> Vec<Result<ActOutcome>> {
        let each = ids.into_iter().map(|id| self.operate(of, command.about(id), id, act.clone()));
        stream::iter(each).buffered(OPERATED).collect().await
    }

    async fn mint_token(&self, of: &Namespace, id: ExecutionId, new: &NewToken) -> Result<Box<MintedToken>> {
        self.exchange.ask(Request::post(of, format!("/v1/executions/{id}/tokens"), new)?).await
    }

    async fn signal_by_token(&self, of: &Namespace, signal: &TokenSignalRequest) -> Result<Signalled> {
        self.exchange.ask(Request::post(of, "/v1/signals", signal)?).await
    }

    async fn describe_token(&self, of: &Namespace, token: TokenText) -> Result<Box<TokenInfo>> {
        self.exchange.ask(Request::post(of, "/v1/signals/describe", &DescribeTokenRequest { token })?).await
    }

    async fn rotate_token_keys(
        &self,
        of: &Namespace,
        command: CommandId,
        grace: Option<Span>,
    ) -> Result<Vec<TokenKeyInfo>> {
        let request = Request::post(of, "/v1/token-keys", &RotateTokenKeysRequest { grace })?.named(command);
        Ok(self.exchange.ask::<TokenKeyList>(request).await?.keys)
    }

    async fn signal_many(
        &self,
        of: &Namespace,
        command: CommandId,
        ids: Vec<ExecutionId>,
        signal: &NewSignal,
    ) -> Vec<Result<Signalled>> {
        let each = ids.into_iter().map(|id| async move {
            let request = Request::post(of, format!("/v1/executions/{id}/signals"), signal)?;
            self.exchange.ask(request.named(command.about(id))).await
        });
        stream::iter(each).buffered(OPERATED).collect().await
    }

    async fn set_lane(
        &self,
        of: &Namespace,
        command: CommandId,
        lane: &Lane,
        change: LaneChange,
    ) -> Result<LaneListing> {
        let request = Request::patch(of, format!("/v1/lanes/{lane}"), &LanePatch::from(change))?;
        let info: LaneInfo = self.exchange.ask(request.named(command)).await?;
        Ok(decode::lane(info))
    }
}

/// Nothing instead of the refusal that says that there is no such execution.
fn absent<T>(found: Result<T>) -> Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(Error::Server(problem)) if problem.code == "execution_not_found" => Ok(None),
        Err(error) => Err(error),
    }
}

fn payload(reply: &Reply) -> Result<Payload> {
    Ok(Payload::bytes(&reply.content_type, reply.body.clone())?)
}

/// How an execution ended that has no result.
fn unhappy(code: &str, found: Description) -> Option<Ending> {
    let unexplained = || Failure::new(Category::engine(), "no reason was recorded");
    let failure = found.failure.unwrap_or_else(unexplained);
    match code {
        "execution_failed" => Some(Ending::Failed(failure)),
        "execution_expired" => Some(Ending::Expired(failure, found.expired_by)),
        "execution_cancelled" => Some(Ending::Cancelled(found.cancelled.map(|by| by.reason).unwrap_or_default())),
        _ => None,
    }
}
