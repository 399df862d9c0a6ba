//! What workers call: claim, renew, report. A worker needs nothing but HTTP.

use crate::access::{Caller, IDEMPOTENCY_KEY};
use crate::answer::{Answer, ok};
use crate::app::App;
use crate::body::{Many, One};
use crate::metrics::Counted;
use crate::problem::Refusal;
use axum::extract::State;
use axum::http::HeaderMap;
use onward::call::{Ask, Reports};
use onward::wire::{
    ClaimAnswer, ClaimRequest, CompleteRequest, DelayRequest, FailRequest, ItemAnswer, LeaseToken, Leased,
    ProgressBatch, ProgressRequest, RenewAnswer, RenewRequest, ReportAnswer, ReportBatch, ReportBatchAnswer,
    ReportItem, ReturnRequest, Work, WorkerCancelRequest,
};
use onward::{Client, Error, Result as ClientResult};
use onward_core::{Claimed, CommandId, Fence, Namespace, Rejection, Renewed, Report, Reported, Span, end, limits};
use std::sync::Arc;

/// The most bytes of inputs in one answer; what does not fit is claimed by the next call.
const ANSWER_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Claim executions under leases; with nothing ready, wait for the first.
#[utoipa::path(post, path = "/v1/work/claim", tag = "work",
    extensions(("x-roles" = json!(["work"])), ("x-call" = json!("claim"))), request_body = ClaimRequest, responses(
    (status = 200, description = "What was claimed; empty when nothing was ready in time", body = ClaimAnswer),
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

/// Work on its way to a worker. What does not get there is given back.
struct Taken {
    client: Client,
    claimed: Vec<Claimed>,
}

impl Taken {
    /// Keeps as much as fits an answer, and at least one.
    fn give_back_beyond(&mut self, bytes: usize) {
        let mut sum = 0;
        let fits = |claimed: &&Claimed| {
            sum += claimed.input.as_bytes().len();
            sum <= bytes
        };
        let kept = self.claimed.iter().take_while(fits).count().max(1);
        let rest = self.claimed.split_off(kept.min(self.claimed.len()));
        drop(Self { client: self.client.clone(), claimed: rest });
    }

    /// What the worker is told.
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
            if let Err(error) = client.ask::<Reports>(ask).await {
                tracing::debug!(%error, "work that nobody received could not be given back; its lease will run out");
            }
        });
    }
}

/// A lease of another namespace does not exist for its caller.
fn own(namespace: &Namespace, lease: LeaseToken) -> ClientResult<Fence> {
    if lease.0.lease.is_within(namespace) {
        Ok(lease.0)
    } else {
        Err(Rejection::ExecutionNotFound(lease.0.execution).into())
    }
}

/// What a refusal may say: of an execution of another namespace, only that it does not exist. A lease can be made up.
async fn veiled<T>(caller: &Caller, fence: Fence, answer: ClientResult<T>) -> ClientResult<T> {
    if answer.as_ref().is_err_and(Error::is_refused) && caller.client.get(fence.execution).await?.is_none() {
        return Err(Rejection::ExecutionNotFound(fence.execution).into());
    }
    answer
}

/// Extend leases, and learn whether somebody wants an attempt to stop.
#[utoipa::path(post, path = "/v1/work/renew", tag = "work",
    extensions(("x-roles" = json!(["work"])), ("x-call" = json!("renew"))), request_body = RenewRequest, responses(
    (status = 200, description = "The answers, in the same order", body = RenewAnswer),
))]
pub(super) async fn renew(caller: Caller, Many(request, _room): Many<RenewRequest>) -> Answer<RenewAnswer> {
    let ttl = request.lease.unwrap_or(limits::LEASE_DEFAULT);
    let namespace = caller.client.namespace();
    let owned: Vec<ClientResult<Fence>> = request.leases.into_iter().map(|lease| own(namespace, lease)).collect();
    let fences: Vec<Fence> = owned.iter().filter_map(|fence| fence.as_ref().ok().copied()).collect();
    let answers: Vec<ClientResult<Renewed>> = caller.client.ask(Ask::Renew { leases: fences, ttl }).await?;
    let renewed = in_place(&caller, owned, answers).await;
    let results = renewed.into_iter().map(|renewed| ItemAnswer::of(renewed, Leased::from)).collect();
    Ok(ok(RenewAnswer { results }))
}

/// The engine's answers about leases, each in its lease's place; a lease that is not the caller's was not asked about.
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
    Err(onward_engine::Error::Internal("a call was not answered".into()).into())
}

/// Carries out reports; each answer is in its report's place.
async fn report(caller: &Caller, items: Vec<ReportItem>) -> ClientResult<Vec<ClientResult<Reported>>> {
    let namespace = caller.client.namespace();
    let mut good: Vec<Report> = Vec::with_capacity(items.len());
    let places: Vec<ClientResult<Fence>> = items
        .into_iter()
        .map(|item| {
            let fence = own(namespace, item.lease)?;
            good.push(item.into_report(CommandId(caller.client.chance().id()))?);
            Ok(fence)
        })
        .collect();
    let Reports { reported, .. } = caller.client.ask(Ask::Report { reports: good, claim: None }).await?;
    Ok(in_place(caller, places, reported).await)
}

/// Carries out one report, which a key in the header makes repeatable.
async fn report_one(caller: &Caller, headers: &HeaderMap, mut item: ReportItem) -> Answer<ReportAnswer> {
    let namespace = caller.client.namespace();
    item.command = item.command.or_else(|| {
        let key = headers.get(IDEMPOTENCY_KEY)?;
        Some(CommandId::of(&[namespace.as_str().as_bytes(), key.as_bytes()]))
    });
    let mut answers = report(caller, vec![item]).await?;
    let reported = answers.pop().unwrap_or_else(unanswered)?;
    Ok(ok(reported.into()))
}

/// Handlers that end a lease. A row holds the description, the name and the path of a handler, and its body.
macro_rules! ends {
    ($($(#[$about:meta])* $name:ident $path:tt $body:ident;)+) => {$(
        $(#[$about])*
        #[utoipa::path(post, path = $path, tag = "work", request_body = $body,
            extensions(("x-roles" = json!(["work"])), ("x-call" = json!("report"))), responses(
            (status = 200, description = "What came of it", body = ReportAnswer),
        ))]
        pub(super) async fn $name(
            caller: Caller,
            headers: HeaderMap,
            One(request, _room): One<$body>,
        ) -> Answer<ReportAnswer> {
            report_one(&caller, &headers, request.into()).await
        }
    )+};
}

ends! {
    /// End an execution well.
    complete "/v1/work/complete" CompleteRequest;

    /// End an attempt badly; the policy decides what follows.
    fail "/v1/work/fail" FailRequest;

    /// Go on with an attempt later; its lease is released.
    delay "/v1/work/delay" DelayRequest;

    /// Give a lease back; another worker may take the execution at once, and no retry is used up.
    unclaim "/v1/work/unclaim" ReturnRequest;

    /// Cancel an execution that its worker finds unwanted.
    cancel "/v1/work/cancel" WorkerCancelRequest;
}

/// Say how far an attempt is, and learn whether its lease still holds.
#[utoipa::path(post, path = "/v1/work/progress", tag = "work",
    extensions(("x-roles" = json!(["work"])), ("x-call" = json!("progress"))), request_body = ProgressRequest, responses(
    (status = 200, description = "The lease", body = Leased),
))]
pub(super) async fn progress(caller: Caller, One(request, _room): One<ProgressRequest>) -> Answer<Leased> {
    Ok(ok(note(&caller, request).await?))
}

async fn note(caller: &Caller, request: ProgressRequest) -> ClientResult<Leased> {
    let fence = own(caller.client.namespace(), request.lease)?;
    let ask = Ask::Progress { lease: fence, percent: request.percent, message: request.message };
    let noted: ClientResult<Renewed> = caller.client.ask(ask).await;
    Ok(veiled(caller, fence, noted).await?.into())
}

/// Say how far many attempts are.
#[utoipa::path(post, path = "/v1/work/progress/batch", tag = "work",
    extensions(("x-roles" = json!(["work"])), ("x-call" = json!("progress"))), request_body = ProgressBatch, responses(
    (status = 200, description = "The answers, in the same order", body = RenewAnswer),
))]
pub(super) async fn progress_batch(caller: Caller, Many(batch, _room): Many<ProgressBatch>) -> Answer<RenewAnswer> {
    let notes = batch.items.into_iter().map(|request| note(&caller, request));
    let answers = futures_util::future::join_all(notes).await;
    Ok(ok(RenewAnswer { results: answers.into_iter().map(|answer| ItemAnswer::of(answer, |leased| leased)).collect() }))
}

/// End many leases, each on its own, and claim more work in the same breath.
#[utoipa::path(post, path = "/v1/work/reports", tag = "work",
    extensions(("x-roles" = json!(["work"])), ("x-call" = json!("report"))), request_body = ReportBatch, responses(
    (status = 200, description = "The answers, in the same order, and what was claimed", body = ReportBatchAnswer),
))]
pub(super) async fn reports(
    State(app): State<Arc<App>>,
    caller: Caller,
    Many(batch, room): Many<ReportBatch>,
) -> Answer<ReportBatchAnswer> {
    if let Some(claim) = &batch.claim
        && claim.wait() > Span(0)
        && !batch.reports.is_empty()
    {
        let why = "answers to reports cannot wait for work: leave it out, or claim by itself".to_owned();
        return Err(Rejection::InvalidArgument { field: "claim.wait", why }.into());
    }
    drop(room);
    let claiming = async {
        match &batch.claim {
            Some(request) => Some(take(&app, &caller, request).await),
            None => None,
        }
    };
    let (answers, claimed) = futures_util::future::join(report(&caller, batch.reports), claiming).await;
    let results = answers?.into_iter().map(|answer| ItemAnswer::of(answer, ReportAnswer::from)).collect();
    // Reports that were carried out are answered, whatever became of the claim.
    let (executions, claim_problem) = match claimed {
        Some(Ok(taken)) => (taken.tell(), None),
        Some(Err(refusal)) => (Vec::new(), Some(*refusal.0)),
        None => (Vec::new(), None),
    };
    Ok(ok(ReportBatchAnswer { results, executions, claim_problem }))
}
