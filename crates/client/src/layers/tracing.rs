//! A span around every call, with what it was and how it ended.

use crate::call::{Answer, Call};
use crate::{Error, Result};
use futures_util::future::BoxFuture;
use std::task::{Context, Poll};
use tower::{Layer, Service};
use tracing::{Instrument, field};

/// Puts every call into a span named `call`, with its name, its namespace, its execution and the code it ended with.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tracing;

/// Calls in spans.
#[derive(Debug, Clone)]
pub struct Traced<S>(S);

impl<S> Layer<S> for Tracing {
    type Service = Traced<S>;

    fn layer(&self, inner: S) -> Traced<S> {
        Traced(inner)
    }
}

impl<S> Service<Call> for Traced<S>
where
    S: Service<Call, Response = Answer, Error = Error>,
    S::Future: Send + 'static,
{
    type Response = Answer;
    type Error = Error;
    type Future = BoxFuture<'static, Result<Answer>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<()>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, call: Call) -> Self::Future {
        let (name, execution) = (call.ask.name(), call.ask.execution());
        let span = tracing::info_span!("call", name, namespace = %call.namespace, execution = field::Empty, code = field::Empty);
        if let Some(execution) = execution {
            span.record("execution", field::display(execution));
        }
        let (calling, of) = (self.0.call(call), span.clone());
        let traced = async move {
            let answer = calling.await;
            match &answer {
                Ok(_) => of.record("code", "ok"),
                Err(error) => of.record("code", error.code()),
            };
            answer
        };
        Box::pin(traced.instrument(span))
    }
}
