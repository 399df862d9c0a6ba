//! Answers as JSON.

use crate::problem::Refusal;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// Something to say, as JSON.
#[derive(Debug)]
pub(crate) struct Said<T>(pub(crate) StatusCode, pub(crate) T);

/// What a call is answered with.
pub(crate) type Answer<T> = Result<Said<T>, Refusal>;

/// The usual answer.
pub(crate) fn ok<T>(value: T) -> Said<T> {
    Said(StatusCode::OK, value)
}

impl<T: Serialize> IntoResponse for Said<T> {
    fn into_response(self) -> Response {
        let json = HeaderValue::from_static("application/json");
        match serde_json::to_vec(&self.1) {
            Ok(body) => (self.0, [(header::CONTENT_TYPE, json)], body).into_response(),
            Err(error) => {
                tracing::error!(%error, "an answer could not be written");
                StatusCode::INTERNAL_SERVER_ERROR.into_response()
            }
        }
    }
}
