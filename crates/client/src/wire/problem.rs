//! Errors over HTTP.

use crate::Error;
use onward_core::{PayloadError, Rejection, Span};
use serde::{Deserialize, Serialize};

/// An error response, as `application/problem+json` (RFC 9457).
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Problem {
    /// URI of the code, as the RFC requires.
    #[serde(rename = "type")]
    #[cfg_attr(feature = "openapi", schema(example = "urn:onward:problem:execution_not_found"))]
    pub kind: String,
    /// Name of the status.
    #[cfg_attr(feature = "openapi", schema(example = "Not Found"))]
    pub title: String,
    /// HTTP status; in a batch, the status of this item.
    #[cfg_attr(feature = "openapi", schema(example = 404))]
    pub status: u16,
    /// Stable code; its meaning never changes.
    #[cfg_attr(feature = "openapi", schema(example = "execution_not_found"))]
    pub code: String,
    /// Message for people.
    pub detail: String,
    /// What the caller can do about it.
    pub hint: String,
    /// The invalid field or argument.
    pub field: Option<String>,
    /// Whether the same call may succeed later.
    pub temporary: bool,
    /// Pause before the next try, in milliseconds.
    pub retry_after: Option<Span>,
}

impl Problem {
    /// Creates an error of the server itself.
    #[must_use]
    pub fn new(status: u16, title: &str, code: &str, detail: impl Into<String>, hint: &str) -> Self {
        Self {
            kind: format!("urn:onward:problem:{code}"),
            title: title.to_owned(),
            status,
            code: code.to_owned(),
            detail: detail.into(),
            hint: hint.to_owned(),
            field: None,
            temporary: matches!(status, 429 | 503 | 504),
            retry_after: None,
        }
    }
}

impl From<&Error> for Problem {
    fn from(error: &Error) -> Self {
        if let Error::Server(problem) = error {
            return (**problem).clone();
        }
        let (status, title) = status_of(error);
        let problem = Self::new(status, title, error.code(), error.to_string(), error.hint());
        let field = match error {
            Error::Engine(onward_engine::Error::Refused(
                Rejection::InvalidArgument { field, .. }
                | Rejection::Payload { field, .. }
                | Rejection::TimeInPast { field, .. },
            )) => Some((*field).to_owned()),
            _ => None,
        };
        let retry_after = match error {
            Error::Engine(onward_engine::Error::Overloaded { retry_after }) => Some(*retry_after),
            _ => None,
        };
        Self { field, retry_after, temporary: error.is_temporary(), ..problem }
    }
}

fn status_of(error: &Error) -> (u16, &'static str) {
    use onward_engine::Error as Engine;
    match error {
        Error::Engine(Engine::Refused(rejection)) => of_rejection(rejection),
        Error::Engine(Engine::Overloaded { .. }) => (429, "Too Many Requests"),
        Error::Engine(Engine::Store { .. } | Engine::Contended | Engine::ShuttingDown) => (503, "Service Unavailable"),
        Error::Engine(Engine::Internal(_)) | Error::Address(_) => (500, "Internal Server Error"),
        Error::Payload(error) => of_payload(error),
        Error::Name(_) | Error::Id(_) | Error::Trace(_) => (400, "Bad Request"),
        Error::ExecutionFailed { .. } | Error::ExecutionCancelled { .. } | Error::ExecutionExpired { .. } => {
            (409, "Conflict")
        }
        Error::Server(problem) => (problem.status, "Error"),
        Error::Unreachable { .. } | Error::CircuitOpen { .. } => (503, "Service Unavailable"),
        Error::Unintelligible { .. } => (502, "Bad Gateway"),
        Error::WaitTimedOut { .. } => (504, "Gateway Timeout"),
        Error::ResultMismatch { .. } => (409, "Conflict"),
    }
}

fn of_payload(error: &PayloadError) -> (u16, &'static str) {
    match error {
        PayloadError::TooLarge { .. } => (413, "Content Too Large"),
        _ => (400, "Bad Request"),
    }
}

fn of_rejection(rejection: &Rejection) -> (u16, &'static str) {
    match rejection {
        Rejection::Payload { error, .. } => of_payload(error),
        Rejection::InvalidArgument { .. } | Rejection::TimeInPast { .. } | Rejection::TwoKeys => (400, "Bad Request"),
        Rejection::ExecutionNotFound(_) | Rejection::KeyNotFound(_) => (404, "Not Found"),
        // Alike for every caller without a good token, so that an answer tells nothing.
        Rejection::TokenInvalid | Rejection::TokenExpired { .. } => (403, "Forbidden"),
        Rejection::TokenSecretMissing => (503, "Service Unavailable"),
        Rejection::Purged(_) => (410, "Gone"),
        Rejection::RecordUnreadable { .. } => (503, "Service Unavailable"),
        _ => (409, "Conflict"),
    }
}
