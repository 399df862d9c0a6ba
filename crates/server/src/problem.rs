//! Refusals and failures as answers.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use onward::Error;
use onward::wire::Problem;
use onward_core::Span;
use std::borrow::Cow;

/// When a caller for whom there was no room may come again.
const RETRY_AFTER: Span = Span::seconds(1);

/// What the server itself refuses; the rest is the engine's to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// No key that is good.
    Unauthorized,
    /// A key that does not allow this.
    Forbidden,
    /// A call that was meant for another host.
    Host,
    /// A namespace that the key does not reach.
    NoNamespace,
    /// Nothing at this path.
    NoRoute,
    /// Something that cannot be done here.
    NoMethod,
    /// A body that is not what is expected.
    Body,
    /// A query that is not what is expected.
    Query,
    /// A body that is not declared as JSON.
    MediaType,
    /// A body that is larger than allowed.
    TooLarge,
    /// A body that took too long.
    TooSlow,
    /// A call that took longer than its caller waits.
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
            Self::Body | Self::Query => StatusCode::BAD_REQUEST,
            Self::MediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::Deadline => StatusCode::GATEWAY_TIMEOUT,
        }
    }

    /// What the caller can do.
    fn hint(self) -> &'static str {
        match self {
            Self::Unauthorized => "send `Authorization: Bearer` and a key that is good",
            Self::Forbidden => "use a key with a role that the route names, or have one issued",
            Self::Host => "call it as localhost, or have it require keys",
            Self::NoNamespace => "check the name, or have a key issued that reaches it",
            Self::NoRoute | Self::NoMethod => "see /docs for what there is",
            Self::Body => "correct the body; /docs shows its shape",
            Self::Query => "correct the query; /docs shows what it may say",
            Self::MediaType => "send JSON with `Content-Type: application/json`",
            Self::TooLarge => "send less at once",
            Self::TooSlow => "send it faster, or less at once",
            Self::Deadline => "allow it more time; it may have been carried out",
        }
    }
}

/// A call that was refused or could not be carried out.
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
        Self::new(Fault::NoRoute, "there is nothing here")
    }

    pub(crate) fn no_method() -> Self {
        Self::new(Fault::NoMethod, "this cannot be done here")
    }

    /// Too much is going on at once.
    pub(crate) fn overloaded() -> Self {
        onward_engine::Error::Overloaded { retry_after: RETRY_AFTER }.into()
    }

    /// Something inside is broken.
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
            tracing::warn!(code = problem.code, detail = problem.detail, "a call could not be carried out");
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
