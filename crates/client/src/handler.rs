//! Handlers: async functions with typed input and output, made alike so that a worker can keep them in one table.

use crate::failed::Why;
use crate::{Context, Failed};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use onward_core::{Category, Failure, Payload};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

/// Any handler.
pub(crate) type Handler = Arc<dyn Fn(Context, Payload) -> BoxFuture<'static, Result<Payload, Failed>> + Send + Sync>;

/// A handler of JSON values.
pub(crate) fn typed<F, Fut, I, O, E>(handler: F) -> Handler
where
    F: Fn(Context, I) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<O, E>> + Send + 'static,
    I: DeserializeOwned,
    O: Serialize,
    E: Into<Failed>,
{
    Arc::new(move |ctx, payload| {
        let input = match payload.read::<I>() {
            Ok(input) => input,
            // The same input will not fit the next time either.
            Err(error) => {
                let failed = Failed::permanent(format_args!("the input does not fit the handler: {error}"));
                return Box::pin(std::future::ready(Err(failed)));
            }
        };
        let running = handler(ctx, input);
        Box::pin(async move {
            let output = running.await.map_err(Into::into)?;
            let refused = |error| Failed::permanent(format_args!("the result cannot be kept: {error}"));
            Payload::of(&output).map_err(refused)
        })
    })
}

/// A handler of any bytes.
pub(crate) fn raw<F, Fut, E>(handler: F) -> Handler
where
    F: Fn(Context, Payload) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Payload, E>> + Send + 'static,
    E: Into<Failed>,
{
    Arc::new(move |ctx, payload| {
        let running = handler(ctx, payload);
        Box::pin(async move { running.await.map_err(Into::into) })
    })
}

/// Runs a handler. A panic is a failure like others, so that one bad input cannot end the worker.
pub(crate) async fn call(handler: &Handler, ctx: Context, input: Payload) -> Result<Payload, Why> {
    let running = AssertUnwindSafe(async { handler(ctx, input).await }).catch_unwind();
    match running.await {
        Ok(result) => result.map_err(Failed::into_why),
        Err(panic) => Err(Why::Failed(Failure::new(Category::panic(), message_of(panic.as_ref())))),
    }
}

fn message_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("the handler panicked without a text")
}
