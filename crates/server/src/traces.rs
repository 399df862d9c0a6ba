//! The trace of a caller, as the header `traceparent` names it.

use axum::http::HeaderMap;
use onward_core::TraceContext;

/// Names the trace to which a call belongs.
const TRACEPARENT: &str = "traceparent";

/// The trace that the header names. One that makes no sense is as good as none, and so are several.
pub(crate) fn of(headers: &HeaderMap) -> Option<TraceContext> {
    let mut values = headers.get_all(TRACEPARENT).iter();
    let only = values.next().filter(|_| values.next().is_none())?;
    TraceContext::from_header(only.to_str().ok()?)
}
