//! Errors as HTTP responses.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use onward::Error;
use onward::wire::Problem;
use onward_core::Span;
use std::borrow::Cow;

/// Pause before the next try of a call that was refused because the server is overloaded.
const RETRY_AFTER: Span = Span::seconds(1);

/// Errors of the server itself; all others come from the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// No valid API key.
    Unauthorized,
    /// The role of the API key does not allow this call.
    Forbidden,
    /// The call addresses another host.
    Host,
    /// The API key has no access to the namespace.
    NoNamespace,
    /// The path does not exist.
    NoRoute,
    /// The path does not support the method.
    NoMethod,
    /// The body is not JSON, or does not match the schema.
    Body,
    /// A query parameter or a header is invalid.
    Query,
    /// The call has an idempotency key, and a repeat of it could not be known.
    NotRepeatable,
    /// The content type of the body is not JSON.
    MediaType,
    /// The body is larger than the limit.
    TooLarge,
    /// The body took too long to arrive.
    TooSlow,
    /// The call did not finish within the caller's timeout.
    Deadline,
}

impl Fault {
    /// The stable code.
    fn code(self) -> &'static str {
        match self {
            Self::Unauthorized => "unauthorized",
            Self::Forbidden => "forbidden",
            Self::Host => "host_refused",
            Self::NoNamespace => "namespace_not_found",
            Self::NoRoute => "route_not_found",
            Self::NoMethod => "method_not_allowed",
            Self::Body => "invalid_body",
            Self::Query => "invalid_query",
            Self::NotRepeatable => "not_repeatable",
            Self::MediaType => "unsupported_media_type",
            Self::TooLarge => "body_too_large",
            Self::TooSlow => "body_too_slow",
            Self::Deadline => "deadline_exceeded",
        }
    }

    fn status(self) -> StatusCode {
        match self {
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::Forbidden | Self::Host => StatusCode::FORBIDDEN,
            Self::NoNamespace | Self::NoRoute => StatusCode::NOT_FOUND,
            Self::NoMethod => StatusCode::METHOD_NOT_ALLOWED,
            Self::Body | Self::Query | Self::NotRepeatable => StatusCode::BAD_REQUEST,
            Self::MediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::Deadline => StatusCode::GATEWAY_TIMEOUT,
        }
    }

    /// What the caller can do.
    fn hint(self) -> &'static str {
        match self {
            Self::Unauthorized => "send `Authorization: Bearer` with a valid API key",
            Self::Forbidden => "use an API key with one of the roles that the route requires",
            Self::Host => "call the server as localhost, or make it require API keys",
            Self::NoNamespace => "check the name, or use an API key with access to it",
            Self::NoRoute | Self::NoMethod => "see /docs for all routes",
            Self::Body => "correct the body; /v1/openapi.json has its schema",
            Self::Query => "correct the parameter; /v1/openapi.json describes it",
            Self::NotRepeatable => "leave the header out; a repeat of this call acts again",
            Self::MediaType => "send JSON with `Content-Type: application/json`",
            Self::TooLarge => "send less at once",
            Self::TooSlow => "send it faster, or send less at once",
            Self::Deadline => "allow more time; the call may have taken effect",
        }
    }
}

/// An error response.
#[derive(Debug, Clone)]
pub(crate) struct Refusal(pub(crate) Box<Problem>);

impl Refusal {
    pub(crate) fn new(fault: Fault, detail: impl Into<String>) -> Self {
        let status = fault.status();
        let title = status.canonical_reason().unwrap_or("Error");
        Self(Box::new(Problem::new(status.as_u16(), title, fault.code(), detail, fault.hint())))
    }

    pub(crate) fn about(mut self, field: impl Into<Cow<'static, str>>) -> Self {
        self.0.field = Some(field.into().into_owned());
        self
    }

    pub(crate) fn unauthorized(detail: &str) -> Self {
        Self::new(Fault::Unauthorized, detail)
    }

    pub(crate) fn no_route() -> Self {
        Self::new(Fault::NoRoute, "this path does not exist")
    }

    pub(crate) fn no_method() -> Self {
        Self::new(Fault::NoMethod, "this path does not support the method")
    }

    /// The server has no memory left for the request.
    pub(crate) fn overloaded() -> Self {
        onward_engine::Error::Overloaded { retry_after: RETRY_AFTER }.into()
    }

    /// A bug in the server.
    pub(crate) fn internal(detail: impl Into<String>) -> Self {
        onward_engine::Error::Internal(detail.into()).into()
    }
}

impl<E: Into<Error>> From<E> for Refusal {
    fn from(error: E) -> Self {
        Self(Box::new(Problem::from(&error.into())))
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let problem = *self.0;
        let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        if status.is_server_error() {
            tracing::warn!(code = problem.code, detail = problem.detail, "a call failed");
        }
        let body = serde_json::to_vec(&problem).unwrap_or_default();
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(span) = problem.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(span.0.div_ceil(1_000)));
        }
        response
    }
}
