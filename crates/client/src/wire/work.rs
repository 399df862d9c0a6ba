//! Requests and responses of workers over HTTP: claim, renew, report.

use super::{ItemAnswer, Problem, invalid};
use crate::Result;
use onward_core::record::{AttemptKind, OnTimeout, WaitRef};
use onward_core::{
    Blob, Build, Category, Claimed, Class, CommandId, Condition, End, ExecutionId, Failure, Fence, IdError, Json, Kind,
    Lane, Millis, Namespace, NewSuspension, Payload, Reason, Rejection, Renewed, Report, Reported, Span, TagKey,
    TagValue, TraceContext, When, Woken, WorkerName, end, limits,
};
use onward_engine::Wants;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// A lease token: proof that a worker holds an execution. It is sent back unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseToken(pub Fence);

impl fmt::Display for LeaseToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fence { execution, lease, epoch, attempt } = self.0;
        write!(f, "{execution}.{lease}.{epoch}.{attempt}")
    }
}

impl FromStr for LeaseToken {
    type Err = IdError;

    fn from_str(text: &str) -> std::result::Result<Self, IdError> {
        let wrong = || IdError::Uuid(text.chars().take(120).collect());
        let mut parts = text.split('.');
        let mut part = || parts.next().ok_or_else(wrong);
        let (execution, lease) = (part()?.parse()?, part()?.parse()?);
        let (epoch, attempt) = (part()?.parse().map_err(|_| wrong())?, part()?.parse().map_err(|_| wrong())?);
        let token = Self(Fence { execution, lease, epoch, attempt });
        // One spelling only: `+7` is not 7.
        if token.to_string() == text { Ok(token) } else { Err(wrong()) }
    }
}

impl Serialize for LeaseToken {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for LeaseToken {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(|_| de::Error::custom("not a lease; send it as the claim returned it"))
    }
}

#[cfg(feature = "openapi")]
mod schemas {
    use super::LeaseToken;
    use utoipa::openapi::schema::{ObjectBuilder, SchemaType, Type};
    use utoipa::openapi::{RefOr, Schema};
    use utoipa::{PartialSchema, ToSchema};

    impl PartialSchema for LeaseToken {
        fn schema() -> RefOr<Schema> {
            let uuid = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
            let number = "(0|[1-9][0-9]{0,8})";
            ObjectBuilder::new()
                .schema_type(SchemaType::new(Type::String))
                .description(Some("Proof that a worker holds an execution; send it back unchanged."))
                .pattern(Some(format!(r"^x-{uuid}-{number}\.[0-9a-f]{{32}}\.{number}\.{number}$")))
                .into()
        }
    }

    impl ToSchema for LeaseToken {
        fn name() -> std::borrow::Cow<'static, str> {
            "Lease".into()
        }
    }
}

/// A claim.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ClaimRequest {
    /// Name of the worker, for people.
    pub worker: WorkerName,
    /// Lanes to claim from; `default` when absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "super::few_or_none")]
    #[cfg_attr(feature = "openapi", schema(max_items = 1000))]
    pub lanes: Vec<Lane>,
    /// Kinds of work to claim; all kinds when absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "super::few_or_none")]
    #[cfg_attr(feature = "openapi", schema(max_items = 1000))]
    pub kinds: Vec<Kind>,
    /// Capabilities of the worker. It receives only executions whose required capabilities it has.
    #[serde(default, deserialize_with = "onward_core::or_default", skip_serializing_if = "Class::is_empty")]
    pub capabilities: Class,
    /// Build of the worker, such as a version or a commit, for people.
    pub build: Option<Build>,
    /// Maximum number of executions; 1 when absent.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 1000))]
    pub max: Option<usize>,
    /// Duration of each lease, from a second to an hour; 30 s when absent.
    pub lease: Option<Span>,
    /// Maximum wait for the first execution if none is ready, up to a minute; no wait when absent.
    pub wait: Option<Span>,
}

/// Response to a claim.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ClaimAnswer {
    /// Claimed executions; empty if none became ready in time.
    pub executions: Vec<Work>,
}

/// A claimed execution.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Work {
    /// Lease token, to be sent with every later call.
    pub lease: LeaseToken,
    /// Time at which the lease expires unless it is renewed.
    pub lease_expires_at: Millis,
    /// Id of the execution.
    pub id: ExecutionId,
    /// Namespace of the execution.
    pub namespace: Namespace,
    /// Lane of the execution.
    pub lane: Lane,
    /// Kind of work, which selects the handler.
    pub kind: Kind,
    /// Input of the handler, if it is JSON.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<serde_json::Value>))]
    pub input: Option<Json>,
    /// Input of the handler, if it is not JSON.
    pub input_bytes: Option<Blob>,
    /// Tags.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<TagKey, TagValue>,
    /// Number of this attempt, from 1.
    pub attempt: u32,
    /// Why this attempt was made.
    pub attempt_kind: AttemptKind,
    /// Whether the attempt resumes after a pause.
    pub resumed: bool,
    /// Number of retries so far.
    pub retries: u32,
    /// Time at which the attempt times out.
    pub times_out_at: Option<Millis>,
    /// Time at which the execution expires.
    pub expires_at: Option<Millis>,
    /// Time at which the execution was submitted.
    pub created_at: Millis,
    /// Trace context of the submitter, to be continued by the worker.
    pub trace: Option<TraceContext>,
    /// Why the attempt resumes, if it was suspended.
    pub woke: Option<Box<Woken>>,
    /// Waits that the last suspension left open, each with the time since which it is: their timeouts count from it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub open_waits: BTreeMap<WaitRef, Millis>,
}

/// A renewal of leases.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RenewRequest {
    /// Leases to renew, up to 1,000.
    #[serde(deserialize_with = "super::few")]
    #[cfg_attr(feature = "openapi", schema(min_items = 1, max_items = 1000))]
    pub leases: Vec<LeaseToken>,
    /// Duration of the leases from now on; 30 s when absent.
    pub lease: Option<Span>,
}

/// Results of renewals or progress reports.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RenewAnswer {
    /// One result per lease, in the order of the request.
    pub results: Vec<ItemAnswer<Renewed>>,
}

/// Completes an execution.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct CompleteRequest {
    /// Lease token.
    pub lease: LeaseToken,
    /// Result of the handler, any JSON; `null` when absent.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<serde_json::Value>))]
    pub result: Option<Json>,
    /// Result of the handler as bytes that are not JSON; not together with `result`.
    pub result_bytes: Option<Blob>,
}

/// Fails an attempt; the policy decides whether the execution is retried.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct FailRequest {
    /// Lease token.
    pub lease: LeaseToken,
    /// Category of the failure; `transient` when absent. `permanent` is never retried.
    pub category: Option<Category>,
    /// Message for people, truncated to 1 KiB.
    #[serde(default, deserialize_with = "onward_core::or_default")]
    pub message: String,
    /// Details, any JSON up to 16 KiB: a stack trace, or data about the failure.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<serde_json::Value>))]
    pub details: Option<Json>,
}

/// Pauses an attempt, which resumes later.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct DelayRequest {
    /// Lease token.
    pub lease: LeaseToken,
    /// Duration of the pause.
    pub delay: Option<Span>,
    /// Time at which the attempt resumes; not together with `delay`.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<onward_core::openapi::Time>))]
    pub run_at: Option<Millis>,
}

/// Suspends an attempt: it waits for signals, an operator or a time, and no worker holds it meanwhile.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct SuspendRequest {
    /// Lease token.
    pub lease: LeaseToken,
    /// When the attempt resumes.
    #[serde(deserialize_with = "super::object")]
    pub condition: Condition,
    /// Time after which the suspension times out; never when absent.
    pub timeout: Option<Span>,
    /// Time at which the suspension times out, which may be past; not together with `timeout`.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<onward_core::openapi::Time>))]
    pub timeout_at: Option<Millis>,
    /// What happens when it times out; the attempt resumes when absent.
    #[serde(default, deserialize_with = "onward_core::or_default")]
    pub on_timeout: OnTimeout,
    /// Delay between the end of the suspension and the time at which the attempt can be claimed.
    pub resume_delay: Option<Span>,
    /// Any JSON up to 8 KiB, which the worker gets back when the attempt resumes.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<serde_json::Value>))]
    pub continuation: Option<Json>,
    /// What it waits for, for people.
    #[serde(default, deserialize_with = "onward_core::or_default")]
    pub reason: Reason,
}

impl SuspendRequest {
    /// A suspension under a lease.
    #[must_use]
    pub fn of(lease: LeaseToken, new: NewSuspension) -> Self {
        let NewSuspension { condition, timeout, timeout_at, on_timeout, resume_delay, continuation, reason } = new;
        Self { lease, condition, timeout, timeout_at, on_timeout, resume_delay, continuation, reason }
    }
}

impl From<SuspendRequest> for NewSuspension {
    fn from(request: SuspendRequest) -> Self {
        let SuspendRequest { condition, timeout, timeout_at, on_timeout, resume_delay, continuation, reason, .. } =
            request;
        Self { condition, timeout, timeout_at, on_timeout, resume_delay, continuation, reason }
    }
}

/// Returns a lease; another worker can claim the execution at once.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ReturnRequest {
    /// Lease token.
    pub lease: LeaseToken,
}

/// Cancels an execution as its worker.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct WorkerCancelRequest {
    /// Lease token.
    pub lease: LeaseToken,
    /// Reason, recorded in the history.
    #[serde(default, deserialize_with = "onward_core::or_default")]
    pub reason: Reason,
}

/// Progress of an attempt; absent fields stay unchanged.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ProgressRequest {
    /// Lease token.
    pub lease: LeaseToken,
    /// Percentage, from 0 to 100.
    #[cfg_attr(feature = "openapi", schema(maximum = 100))]
    pub percent: Option<u8>,
    /// Message for people.
    pub message: Option<Reason>,
}

/// Progress of many attempts.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ProgressBatch {
    /// One item per attempt, up to 1,000.
    #[serde(deserialize_with = "super::few")]
    #[cfg_attr(feature = "openapi", schema(min_items = 1, max_items = 1000))]
    pub items: Vec<ProgressRequest>,
}

/// Ends many leases; each report succeeds or fails on its own.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ReportBatch {
    /// One report per lease, up to 1,000.
    #[serde(deserialize_with = "super::few")]
    #[cfg_attr(feature = "openapi", schema(max_items = 1000))]
    pub reports: Vec<ReportItem>,
    /// Claims more executions in the same call; it cannot wait if there are reports.
    pub claim: Option<ClaimRequest>,
}

/// Report of how a lease ends.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ReportItem {
    /// Lease token.
    pub lease: LeaseToken,
    /// Kind of end.
    #[serde(rename = "type")]
    pub end: EndKind,
    /// Id of this report. A retry with the same id returns the first result.
    pub command: Option<CommandId>,
    /// Result of the handler, for `complete`.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<serde_json::Value>))]
    pub result: Option<Json>,
    /// Result of the handler as bytes that are not JSON, for `complete`.
    pub result_bytes: Option<Blob>,
    /// Category of the failure, for `fail`.
    pub category: Option<Category>,
    /// Message for people, for `fail` and `cancel`.
    pub message: Option<String>,
    /// Details of the failure, for `fail`.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<serde_json::Value>))]
    pub details: Option<Json>,
    /// Duration of the pause, for `delay`.
    pub delay: Option<Span>,
    /// Time at which the attempt resumes, for `delay`.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<onward_core::openapi::Time>))]
    pub run_at: Option<Millis>,
}

/// How a lease ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum EndKind {
    /// The execution completed.
    Complete,
    /// The attempt failed; the policy decides whether the execution is retried.
    Fail,
    /// The attempt is paused and resumes later.
    Delay,
    /// The worker cancels the execution.
    Cancel,
    /// The worker returns the lease for another worker.
    Unclaim,
}

/// Results of a batch of reports.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReportBatchAnswer {
    /// One result per report, in the order of the request.
    pub results: Vec<ItemAnswer<Reported>>,
    /// Executions claimed in the same call.
    #[serde(default)]
    pub executions: Vec<Work>,
    /// Error of the claim; absent when it succeeded.
    pub claim_problem: Option<Problem>,
}

impl ClaimRequest {
    /// Converts it to the engine's claim.
    #[must_use]
    pub fn wants(&self, namespace: &Namespace) -> Wants {
        Wants {
            namespace: namespace.clone(),
            lanes: if self.lanes.is_empty() { vec![Lane::default()] } else { self.lanes.clone() },
            kinds: (!self.kinds.is_empty()).then(|| Arc::new(self.kinds.iter().cloned().collect())),
            capabilities: self.capabilities.clone(),
            worker: self.worker.clone(),
            build: self.build.clone(),
            lease: self.lease.unwrap_or(limits::LEASE_DEFAULT),
            max: self.max.unwrap_or(1),
        }
    }

    /// The wait; zero when absent.
    #[must_use]
    pub fn wait(&self) -> Span {
        self.wait.unwrap_or_default()
    }
}

impl From<Claimed> for Work {
    fn from(claimed: Claimed) -> Self {
        let (input, input_bytes) = claimed.input.into_fields();
        Self {
            lease: LeaseToken(claimed.fence),
            lease_expires_at: claimed.expires_at,
            id: claimed.fence.execution,
            namespace: claimed.namespace,
            lane: claimed.lane,
            kind: claimed.kind,
            input,
            input_bytes,
            tags: claimed.tags,
            attempt: claimed.fence.attempt,
            attempt_kind: claimed.attempt_kind,
            resumed: claimed.resumed,
            retries: claimed.retries,
            times_out_at: claimed.times_out_at,
            expires_at: claimed.deadline,
            created_at: claimed.created_at,
            trace: claimed.trace,
            woke: claimed.woke,
            open_waits: claimed.open_waits,
        }
    }
}

impl ReportItem {
    /// Creates a report with only its end.
    #[must_use]
    pub fn new(lease: LeaseToken, end: EndKind) -> Self {
        Self {
            lease,
            end,
            command: None,
            result: None,
            result_bytes: None,
            category: None,
            message: None,
            details: None,
            delay: None,
            run_at: None,
        }
    }

    /// Converts it to the engine's report; `fresh` is its id if the request has none.
    ///
    /// # Errors
    /// When fields contradict each other or exceed a limit.
    pub fn into_report(self, fresh: CommandId) -> Result<Report> {
        self.check()?;
        let message = self.message.unwrap_or_default();
        let end: End = match self.end {
            EndKind::Complete => {
                let result = Payload::of_fields(self.result.as_ref(), self.result_bytes.as_ref());
                let result = result.map_err(|error| Rejection::Payload { field: "result", error })?;
                end::Complete { result }.into()
            }
            EndKind::Fail => {
                let category = self.category.unwrap_or_else(Category::transient);
                let details = self.details;
                end::Fail { failure: Failure { details, ..Failure::new(category, &message) } }.into()
            }
            EndKind::Delay => match When::of_fields("run_at", self.delay, self.run_at)? {
                Some(when) => end::Delay { when }.into(),
                None => return Err(invalid("delay", "set delay or run_at")),
            },
            EndKind::Cancel => end::Cancel { reason: Reason::new(&message) }.into(),
            EndKind::Unclaim => end::Unclaim.into(),
        };
        Ok(Report { command: self.command.unwrap_or(fresh), fence: self.lease.0, end })
    }

    /// Converts a report to an item.
    #[must_use]
    pub fn of(report: Report) -> Self {
        let Report { command, fence, end } = report;
        let new = |kind| Self { command: Some(command), ..Self::new(LeaseToken(fence), kind) };
        match end {
            End::Complete(end::Complete { result }) => {
                let (result, result_bytes) = result.into_fields();
                Self { result, result_bytes, ..new(EndKind::Complete) }
            }
            End::Fail(end::Fail { failure }) => {
                let message = Some(failure.message.to_string());
                Self { category: Some(failure.category), message, details: failure.details, ..new(EndKind::Fail) }
            }
            End::Delay(end::Delay { when }) => {
                let (delay, run_at) = match when {
                    When::Now => (Some(Span(0)), None),
                    when => when.split(),
                };
                Self { delay, run_at, ..new(EndKind::Delay) }
            }
            End::Cancel(end::Cancel { reason }) => {
                Self { message: Some(reason.as_str().to_owned()), ..new(EndKind::Cancel) }
            }
            End::Unclaim(end::Unclaim) => new(EndKind::Unclaim),
        }
    }
}

impl ReportItem {
    /// Refuses fields that do not belong to this kind of end.
    fn check(&self) -> Result<()> {
        use EndKind::{Cancel, Complete, Delay, Fail};
        let fields: [(&'static str, bool, &[EndKind]); 7] = [
            ("result", self.result.is_some(), &[Complete]),
            ("result_bytes", self.result_bytes.is_some(), &[Complete]),
            ("category", self.category.is_some(), &[Fail]),
            ("message", self.message.is_some(), &[Fail, Cancel]),
            ("details", self.details.is_some(), &[Fail]),
            ("delay", self.delay.is_some(), &[Delay]),
            ("run_at", self.run_at.is_some(), &[Delay]),
        ];
        match fields.iter().find(|(_, given, ends)| *given && !ends.contains(&self.end)) {
            Some((field, ..)) => Err(invalid(field, "does not belong to this type of report")),
            None => Ok(()),
        }
    }
}

impl From<CompleteRequest> for ReportItem {
    fn from(request: CompleteRequest) -> Self {
        let CompleteRequest { lease, result, result_bytes } = request;
        Self { result, result_bytes, ..Self::new(lease, EndKind::Complete) }
    }
}

impl From<FailRequest> for ReportItem {
    fn from(request: FailRequest) -> Self {
        let message = Some(request.message);
        let FailRequest { lease, category, details, .. } = request;
        Self { category, message, details, ..Self::new(lease, EndKind::Fail) }
    }
}

impl From<DelayRequest> for ReportItem {
    fn from(request: DelayRequest) -> Self {
        Self { delay: request.delay, run_at: request.run_at, ..Self::new(request.lease, EndKind::Delay) }
    }
}

impl From<ReturnRequest> for ReportItem {
    fn from(request: ReturnRequest) -> Self {
        Self::new(request.lease, EndKind::Unclaim)
    }
}

impl From<WorkerCancelRequest> for ReportItem {
    fn from(request: WorkerCancelRequest) -> Self {
        let message = Some(request.reason.as_str().to_owned());
        Self { message, ..Self::new(request.lease, EndKind::Cancel) }
    }
}
