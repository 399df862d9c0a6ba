//! The calls of workers: claim, renew, report.

use crate::access::{Caller, IDEMPOTENCY_KEY};
use crate::answer::{Answer, ok};
use crate::app::App;
use crate::body::{Many, One};
use crate::metrics::Counted;
use crate::problem::{Fault, Refusal};
use axum::extract::State;
use axum::http::HeaderMap;
use onward::call::{Ask, Reports};
use onward::wire::{
    ClaimAnswer, ClaimRequest, CompleteRequest, DelayRequest, FailRequest, ItemAnswer, LeaseToken, ProgressBatch,
    ProgressRequest, RenewAnswer, RenewRequest, ReportBatch, ReportBatchAnswer, ReportItem, ReturnRequest,
    SuspendRequest, Work, WorkerCancelRequest,
};
use onward::{Client, Error, Result as ClientResult};
use onward_core::{
    Claimed, CommandId, Fence, Namespace, Rejection, Renewed, Report, Reported, Span, Suspended, Woken, end, limits,
};
use std::sync::Arc;

/// Maximum bytes of inputs in one response; executions that do not fit are returned for the next claim.
const ANSWER_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Claim executions; with `wait`, wait for the first one if none is ready.
#[utoipa::path(post, path = "/v1/work/claim", tag = "work",
    extensions(("x-roles" = json!(["work"])), ("x-call" = json!("claim"))), request_body = ClaimRequest, responses(
    (status = 200, description = "Claimed executions; empty if none became ready in time", body = ClaimAnswer),
))]
pub(super) async fn claim(
    State(app): State<Arc<App>>,
    caller: Caller,
    One(request, room): One<ClaimRequest>,
) -> Answer<ClaimAnswer> {
    drop(room);
    Ok(ok(ClaimAnswer { executions: take(&app, &caller, &request).await?.tell() }))
}

async fn take(app: &App, caller: &Caller, request: &ClaimRequest) -> Result<Taken, Refusal> {
    let wants = request.wants(caller.client.namespace());
    let _waiting = Counted::in_(&app.metrics.waiting);
    let claimed = tokio::select! {
        biased;
        claimed = caller.client.ask(Ask::Claim { wants, wait: app.wait(request.wait()) }) => claimed?,
        () = app.drained() => Vec::new(),
    };
    let mut taken = Taken { client: caller.client.clone(), claimed };
    taken.give_back_beyond(ANSWER_BYTES_MAX);
    Ok(taken)
}

/// Claimed executions that are being sent to a worker. They are unclaimed if they are dropped before.
struct Taken {
    client: Client,
    claimed: Vec<Claimed>,
}

impl Taken {
    /// Keeps the executions whose inputs fit into a response, but at least one, and unclaims the others.
    fn give_back_beyond(&mut self, bytes: usize) {
        let mut sum = 0;
        let fits = |claimed: &&Claimed| {
            sum += claimed.input.as_bytes().len() + claimed.woke.as_deref().map_or(0, Woken::bytes);
            sum <= bytes
        };
        let kept = self.claimed.iter().take_while(fits).count().max(1);
        let rest = self.claimed.split_off(kept.min(self.claimed.len()));
        drop(Self { client: self.client.clone(), claimed: rest });
    }

    /// Converts the executions for the response.
    fn tell(mut self) -> Vec<Work> {
        std::mem::take(&mut self.claimed).into_iter().map(Work::from).collect()
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        let claimed = std::mem::take(&mut self.claimed);
        if claimed.is_empty() {
            return;
        }
        let client = self.client.clone();
        let give_back = |claimed: Claimed| {
            let command = CommandId(client.chance().id());
            Report { command, fence: claimed.fence, end: end::Unclaim.into() }
        };
        let ask = Ask::Report { reports: claimed.into_iter().map(give_back).collect(), claim: None };
        tokio::spawn(async move {
            let failed = match client.ask::<Reports>(ask).await {
                Ok(reports) => reports.reported.into_iter().filter_map(Result::err).collect(),
                Err(error) => vec![error],
            };
            for error in failed {
                tracing::debug!(%error, "work that nobody received could not be given back; its lease will run out");
            }
        });
    }
}

/// Checks that a lease belongs to the caller's namespace; otherwise its execution does not exist for the caller.
fn own(namespace: &Namespace, lease: LeaseToken) -> ClientResult<Fence> {
    if lease.0.lease.is_within(namespace) {
        Ok(lease.0)
    } else {
        Err(Rejection::ExecutionNotFound(lease.0.execution).into())
    }
}

/// Hides executions of other namespaces: a refusal about one becomes `execution_not_found`, since a lease can be forged.
async fn veiled<T>(caller: &Caller, fence: Fence, answer: ClientResult<T>) -> ClientResult<T> {
    if answer.as_ref().is_err_and(Error::is_refused) && caller.client.get(fence.execution).await?.is_none() {
        return Err(Rejection::ExecutionNotFound(fence.execution).into());
    }
    answer
}

/// Extend leases; the response has `stop` for an attempt that was asked to stop.
#[utoipa::path(post, path = "/v1/work/renew", tag = "work",
    extensions(("x-roles" = json!(["work"])), ("x-call" = json!("renew"))), request_body = RenewRequest, responses(
    (status = 200, description = "Results, in the order of the request", body = RenewAnswer),
))]
pub(super) async fn renew(caller: Caller, Many(request, _room): Many<RenewRequest>) -> Answer<RenewAnswer> {
    let ttl = request.lease.unwrap_or(limits::LEASE_DEFAULT);
    let namespace = caller.client.namespace();
    let owned: Vec<ClientResult<Fence>> = request.leases.into_iter().map(|lease| own(namespace, lease)).collect();
    let fences: Vec<Fence> = owned.iter().filter_map(|fence| fence.as_ref().ok().copied()).collect();
    let answers: Vec<ClientResult<Renewed>> = caller.client.ask(Ask::Renew { leases: fences, ttl }).await?;
    let renewed = in_place(&caller, owned, answers).await;
    let results = renewed.into_iter().map(|renewed| ItemAnswer::of(renewed, |renewed| renewed)).collect();
    Ok(ok(RenewAnswer { results }))
}

/// Merges the engine's results with the errors of leases that were not sent to it, in the order of the request.
async fn in_place<T>(
    caller: &Caller,
    leases: Vec<ClientResult<Fence>>,
    answers: Vec<ClientResult<T>>,
) -> Vec<ClientResult<T>> {
    let (mut answers, mut placed) = (answers.into_iter(), Vec::with_capacity(leases.len()));
    for lease in leases {
        placed.push(match lease {
            Ok(fence) => veiled(caller, fence, answers.next().unwrap_or_else(unanswered)).await,
            Err(error) => Err(error),
        });
    }
    placed
}

fn unanswered<T>() -> ClientResult<T> {
    Err(onward_engine::Error::Internal("the engine returned no result for a call".into()).into())
}

/// Sends reports to the engine; returns the results in the order of the reports. A call that is named by its header names
/// each of them.
async fn report(
    caller: &Caller,
    headers: &HeaderMap,
    items: Vec<ReportItem>,
) -> ClientResult<Vec<ClientResult<Reported>>> {
    let namespace = caller.client.namespace();
    let named = |at: usize| {
        let key = headers.get(IDEMPOTENCY_KEY)?;
        Some(CommandId::of(&[namespace.as_str().as_bytes(), key.as_bytes(), &at.to_le_bytes()]))
    };
    let mut good: Vec<Report> = Vec::with_capacity(items.len());
    let places: Vec<ClientResult<Fence>> = items
        .into_iter()
        .enumerate()
        .map(|(at, item)| {
            let fence = own(namespace, item.lease)?;
            good.push(item.into_report(named(at).unwrap_or_else(|| CommandId(caller.client.chance().id())))?);
            Ok(fence)
        })
        .collect();
    let Reports { reported, .. } = caller.client.ask(Ask::Report { reports: good, claim: None }).await?;
    Ok(in_place(caller, places, reported).await)
}

/// Sends one report, which can be retried if the request has an idempotency key.
async fn report_one(caller: &Caller, headers: &HeaderMap, item: ReportItem) -> Answer<Reported> {
    let mut answers = report(caller, headers, vec![item]).await?;
    let reported = answers.pop().unwrap_or_else(unanswered)?;
    Ok(ok(reported))
}

/// Declares the handlers that end a lease. A row has a description, a name, a path and the type of the body.
macro_rules! ends {
    ($($(#[$about:meta])* $name:ident $path:tt $body:ident;)+) => {$(
        $(#[$about])*
        #[utoipa::path(post, path = $path, tag = "work", request_body = $body,
            extensions(("x-roles" = json!(["work"])), ("x-call" = json!("report"))), responses(
            (status = 200, description = "Result of the report", body = Reported),
        ))]
        pub(super) async fn $name(
            caller: Caller,
            headers: HeaderMap,
            One(request, _room): One<$body>,
        ) -> Answer<Reported> {
            report_one(&caller, &headers, request.into()).await
        }
    )+};
}

ends! {
    /// Complete an execution with a result.
    complete "/v1/work/complete" CompleteRequest;

    /// Fail an attempt; the policy decides whether the execution is retried.
    fail "/v1/work/fail" FailRequest;

    /// Pause an attempt, which resumes later; the lease is released.
    delay "/v1/work/delay" DelayRequest;

    /// Return a lease. Another worker can claim the execution at once, and it does not count as a retry.
    unclaim "/v1/work/unclaim" ReturnRequest;

    /// Cancel an execution as its worker.
    cancel "/v1/work/cancel" WorkerCancelRequest;
}

/// Suspend an attempt: it waits for signals, an operator or a time, and no worker holds it meanwhile.
///
/// When all that it waits for has come already, the attempt keeps its lease and the response has it in `met`. Otherwise the
/// lease is over; the attempt resumes with a later claim, which tells why in `woke`.
#[utoipa::path(post, path = "/v1/work/suspend", tag = "work",
    extensions(("x-roles" = json!(["work"])), ("x-call" = json!("suspend"))), request_body = SuspendRequest, responses(
    (status = 200, description = "Whether it was suspended, or what has come already", body = Suspended),
))]
pub(super) async fn suspend(
    caller: Caller,
    headers: HeaderMap,
    One(request, _room): One<SuspendRequest>,
) -> Answer<Suspended> {
    let fence = own(caller.client.namespace(), request.lease)?;
    let command = caller.command(&headers, "suspend");
    let ask = Ask::Suspend { command, lease: fence, new: Box::new(request.into()) };
    let answer: ClientResult<Suspended> = caller.client.ask(ask).await;
    Ok(ok(veiled(&caller, fence, answer).await?))
}

/// Report the progress of an attempt; the response has the state of its lease.
#[utoipa::path(post, path = "/v1/work/progress", tag = "work",
    extensions(("x-roles" = json!(["work"])), ("x-call" = json!("progress"))), request_body = ProgressRequest, responses(
    (status = 200, description = "State of the lease", body = Renewed),
))]
pub(super) async fn progress(caller: Caller, One(request, _room): One<ProgressRequest>) -> Answer<Renewed> {
    Ok(ok(note(&caller, request).await?))
}

async fn note(caller: &Caller, request: ProgressRequest) -> ClientResult<Renewed> {
    let fence = own(caller.client.namespace(), request.lease)?;
    let ask = Ask::Progress { lease: fence, percent: request.percent, message: request.message };
    let noted: ClientResult<Renewed> = caller.client.ask(ask).await;
    veiled(caller, fence, noted).await
}

/// Report the progress of many attempts.
#[utoipa::path(post, path = "/v1/work/progress/batch", tag = "work",
    extensions(("x-roles" = json!(["work"])), ("x-call" = json!("progress"))), request_body = ProgressBatch, responses(
    (status = 200, description = "Results, in the order of the request", body = RenewAnswer),
))]
pub(super) async fn progress_batch(caller: Caller, Many(batch, _room): Many<ProgressBatch>) -> Answer<RenewAnswer> {
    let notes = batch.items.into_iter().map(|request| note(&caller, request));
    let answers = futures_util::future::join_all(notes).await;
    Ok(ok(RenewAnswer {
        results: answers.into_iter().map(|answer| ItemAnswer::of(answer, |renewed| renewed)).collect(),
    }))
}

/// End many leases, each with its own result, and optionally claim more executions in the same call.
#[utoipa::path(post, path = "/v1/work/reports", tag = "work",
    extensions(("x-roles" = json!(["work"])), ("x-call" = json!("report"))), request_body = ReportBatch, responses(
    (status = 200, description = "Results, in the order of the request, and the claimed executions", body = ReportBatchAnswer),
))]
pub(super) async fn reports(
    State(app): State<Arc<App>>,
    caller: Caller,
    headers: HeaderMap,
    Many(batch, room): Many<ReportBatch>,
) -> Answer<ReportBatchAnswer> {
    if let Some(claim) = &batch.claim
        && claim.wait() > Span(0)
        && !batch.reports.is_empty()
    {
        let why = "a claim with reports cannot wait; leave wait out, or claim in a call of its own".to_owned();
        return Err(Rejection::InvalidArgument { field: "claim.wait", why }.into());
    }
    if batch.claim.is_some() && headers.contains_key(IDEMPOTENCY_KEY) {
        let detail = "a claim cannot be repeated; claim in a call of its own";
        return Err(Refusal::new(Fault::NotRepeatable, detail).about("Idempotency-Key"));
    }
    drop(room);
    let claiming = async {
        match &batch.claim {
            Some(request) => Some(take(&app, &caller, request).await),
            None => None,
        }
    };
    let (answers, claimed) = futures_util::future::join(report(&caller, &headers, batch.reports), claiming).await;
    let results = answers?.into_iter().map(|answer| ItemAnswer::of(answer, |reported| reported)).collect();
    // Reports that were carried out are answered, whatever became of the claim.
    let (executions, claim_problem) = match claimed {
        Some(Ok(taken)) => (taken.tell(), None),
        Some(Err(refusal)) => (Vec::new(), Some(*refusal.0)),
        None => (Vec::new(), None),
    };
    Ok(ok(ReportBatchAnswer { results, executions, claim_problem }))
}
