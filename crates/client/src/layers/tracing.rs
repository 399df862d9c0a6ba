//! A span around every call, with what it was and how it ended.

use crate::call::{Answer, Call};
use crate::{Error, Result};
use futures_util::future::BoxFuture;
use tower::Service;
use tracing::{Instrument, field};

/// Puts every call into a span named `call`, with its name, its namespace, its execution and the code it ended with.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tracing;

layer! {
    /// Calls in spans.
    Tracing => Traced
}

impl Tracing {
    fn carry<S>(&self, inner: &mut S, call: Call) -> BoxFuture<'static, Result<Answer>>
    where
        S: Service<Call, Response = Answer, Error = Error, Future: Send + 'static>,
    {
        let (name, execution) = (call.ask.name(), call.ask.execution());
        let span = tracing::info_span!("call", name, namespace = %call.namespace, execution = field::Empty, code = field::Empty);
        if let Some(execution) = execution {
            span.record("execution", field::display(execution));
        }
        let (calling, of) = (inner.call(call), span.clone());
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
