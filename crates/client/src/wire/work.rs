//! What workers say over HTTP: claim, renew, report.

use super::{ItemAnswer, Problem, invalid};
use crate::Result;
use onward_core::record::AttemptKind;
use onward_core::{
    Blob, Category, Claimed, Class, CommandId, End, ExecutionId, Failure, Fence, IdError, Json, Kind, Lane, Millis,
    Namespace, Payload, Reason, Rejection, Renewed, Report, Reported, Span, TagKey, TagValue, TraceContext, When,
    WorkerName, end, limits,
};
use onward_engine::Wants;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// Proof that a worker holds an execution; it is passed back as it was given.
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
        text.parse().map_err(|_| de::Error::custom("this is no lease; pass it back as the claim gave it"))
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
                .description(Some("Proof that a worker holds an execution; it is passed back as it was given."))
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

/// Asks for work.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ClaimRequest {
    /// Who asks, for people to read.
    pub worker: WorkerName,
    /// From which lanes; `default` when absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "super::few_or_none")]
    #[cfg_attr(feature = "openapi", schema(max_items = 1000))]
    pub lanes: Vec<Lane>,
    /// What the worker can do; it is given only work that requires no more.
    #[serde(default, deserialize_with = "onward_core::or_default", skip_serializing_if = "Class::is_empty")]
    pub capabilities: Class,
    /// The most executions; 1 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 1000))]
    pub max: Option<usize>,
    /// How long each lease lasts without renewal, a second to an hour; 30 s when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<Span>,
    /// How long to wait for the first when none is ready; at most a minute, not at all when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<Span>,
}

/// Work under leases.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ClaimAnswer {
    /// What was claimed; empty when nothing was ready in time.
    pub executions: Vec<Work>,
}

/// An execution that a worker holds.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Work {
    /// Proof of ownership for every later call.
    pub lease: LeaseToken,
    /// When the lease ends unless it is renewed.
    pub lease_expires_at: Millis,
    /// The execution.
    pub id: ExecutionId,
    /// Whose it is.
    pub namespace: Namespace,
    /// Its lane.
    pub lane: Lane,
    /// Which handler to run.
    pub kind: Kind,
    /// What to work on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<serde_json::Value>))]
    pub input: Option<Json>,
    /// What to work on, when that is not JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_bytes: Option<Blob>,
    /// Its labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<TagKey, TagValue>,
    /// Which attempt this is, from 1 on.
    pub attempt: u32,
    /// Why this attempt was made.
    pub attempt_kind: AttemptKind,
    /// Whether the attempt goes on after a pause.
    pub resumed: bool,
    /// How many failures were retried before.
    pub retries: u32,
    /// When the attempt is ended for having run too long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times_out_at: Option<Millis>,
    /// When the execution expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Millis>,
    /// When it was submitted.
    pub created_at: Millis,
    /// The trace from which it was submitted, to go on with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceContext>,
}

/// Extends leases.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RenewRequest {
    /// Which.
    #[serde(deserialize_with = "super::few")]
    #[cfg_attr(feature = "openapi", schema(min_items = 1, max_items = 1000))]
    pub leases: Vec<LeaseToken>,
    /// How long they last from now; 30 s when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<Span>,
}

/// The answers to renewals, in their order.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RenewAnswer {
    /// One for each lease.
    pub results: Vec<ItemAnswer<Renewed>>,
}

/// Ends an execution well.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct CompleteRequest {
    /// Proof of ownership.
    pub lease: LeaseToken,
    /// What the handler returned: any JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<serde_json::Value>))]
    pub result: Option<Json>,
    /// What the handler returned, when that is not JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_bytes: Option<Blob>,
}

/// Ends an attempt badly; the policy decides what follows.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct FailRequest {
    /// Proof of ownership.
    pub lease: LeaseToken,
    /// The kind of failure; `transient` when absent, `permanent` is never retried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<Category>,
    /// For people; a longer one than 1 KiB is cut.
    #[serde(default, deserialize_with = "onward_core::or_default")]
    pub message: String,
}

/// Goes on with an attempt later.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct DelayRequest {
    /// Proof of ownership.
    pub lease: LeaseToken,
    /// After this long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Span>,
    /// At this time; not together with `delay`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<onward_core::openapi::Time>))]
    pub run_at: Option<Millis>,
}

/// Gives a lease back; another worker may take the execution at once.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ReturnRequest {
    /// Proof of ownership.
    pub lease: LeaseToken,
}

/// Ends an execution that its worker finds unwanted.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct WorkerCancelRequest {
    /// Proof of ownership.
    pub lease: LeaseToken,
    /// Why.
    #[serde(default, deserialize_with = "onward_core::or_default")]
    pub reason: Reason,
}

/// Says how far an attempt is; what is absent stays as it was said before.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ProgressRequest {
    /// Proof of ownership.
    pub lease: LeaseToken,
    /// 0 to 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(maximum = 100))]
    pub percent: Option<u8>,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Reason>,
}

/// How far attempts are.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ProgressBatch {
    /// One for each attempt.
    #[serde(deserialize_with = "super::few")]
    #[cfg_attr(feature = "openapi", schema(min_items = 1, max_items = 1000))]
    pub items: Vec<ProgressRequest>,
}

/// Ends leases, each on its own.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ReportBatch {
    /// One for each lease.
    #[serde(deserialize_with = "super::few")]
    #[cfg_attr(feature = "openapi", schema(max_items = 1000))]
    pub reports: Vec<ReportItem>,
    /// Asks for more work in the same breath.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<ClaimRequest>,
}

/// How one lease ends.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ReportItem {
    /// Proof of ownership.
    pub lease: LeaseToken,
    /// How it ends.
    #[serde(rename = "type")]
    pub end: EndKind,
    /// Names this report; a repeat carries the same and is answered alike.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandId>,
    /// What the handler returned, for `complete`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<serde_json::Value>))]
    pub result: Option<Json>,
    /// What the handler returned, when that is not JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_bytes: Option<Blob>,
    /// The kind of failure, for `fail`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<Category>,
    /// For people, for `fail` and `cancel`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// After how long it goes on, for `delay`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Span>,
    /// When it goes on, for `delay`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<onward_core::openapi::Time>))]
    pub run_at: Option<Millis>,
}

/// How a lease ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum EndKind {
    /// The execution is done.
    Complete,
    /// The attempt failed; the policy decides what follows.
    Fail,
    /// The attempt goes on later.
    Delay,
    /// Nobody wants it any more.
    Cancel,
    /// Another worker shall take it.
    Unclaim,
}

/// The answers to reports, in their order.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReportBatchAnswer {
    /// One for each report.
    pub results: Vec<ItemAnswer<Reported>>,
    /// Work that was asked for in the same breath.
    #[serde(default)]
    pub executions: Vec<Work>,
    /// Why no work could be claimed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim_problem: Option<Problem>,
}

impl ClaimRequest {
    /// What the engine is told.
    #[must_use]
    pub fn wants(&self, namespace: &Namespace) -> Wants {
        Wants {
            namespace: namespace.clone(),
            lanes: if self.lanes.is_empty() { vec![Lane::default()] } else { self.lanes.clone() },
            capabilities: self.capabilities.clone(),
            worker: self.worker.clone(),
            lease: self.lease.unwrap_or(limits::LEASE_DEFAULT),
            max: self.max.unwrap_or(1),
        }
    }

    /// How long it waits.
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
        }
    }
}

impl ReportItem {
    /// A report without anything beside its end.
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
            delay: None,
            run_at: None,
        }
    }

    /// What the engine is told; `fresh` names the report if its sender did not.
    ///
    /// # Errors
    /// When fields contradict each other or break a limit.
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
                end::Fail { failure: Failure::new(category, &message) }.into()
            }
            EndKind::Delay => match When::of_fields("run_at", self.delay, self.run_at)? {
                Some(when) => end::Delay { when }.into(),
                None => return Err(invalid("delay", "say after how long or at what time it goes on")),
            },
            EndKind::Cancel => end::Cancel { reason: Reason::new(&message) }.into(),
            EndKind::Unclaim => end::Unclaim.into(),
        };
        Ok(Report { command: self.command.unwrap_or(fresh), fence: self.lease.0, end })
    }

    /// The item of a report.
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
                Self { category: Some(failure.category), message, ..new(EndKind::Fail) }
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
    /// A field that says nothing about this end is a mistake.
    fn check(&self) -> Result<()> {
        use EndKind::{Cancel, Complete, Delay, Fail};
        let fields: [(&'static str, bool, &[EndKind]); 6] = [
            ("result", self.result.is_some(), &[Complete]),
            ("result_bytes", self.result_bytes.is_some(), &[Complete]),
            ("category", self.category.is_some(), &[Fail]),
            ("message", self.message.is_some(), &[Fail, Cancel]),
            ("delay", self.delay.is_some(), &[Delay]),
            ("run_at", self.run_at.is_some(), &[Delay]),
        ];
        match fields.iter().find(|(_, given, ends)| *given && !ends.contains(&self.end)) {
            Some((field, ..)) => Err(invalid(field, "says nothing about this end")),
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
        Self { category: request.category, message, ..Self::new(request.lease, EndKind::Fail) }
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
