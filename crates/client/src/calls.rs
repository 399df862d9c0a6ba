//! The way of a call: through what a program put before it, to an engine or to a server.

use crate::call::{Answer, Call};
use crate::{Error, Result};
use futures_util::future::BoxFuture;
use std::fmt;
use std::task::{Context, Poll};
use tower::util::BoxCloneSyncService;
use tower::{Service, ServiceExt};

/// Carries calls out. It is a service like any other of tower, so that layers of tower can stand before it; see
/// [`Client::layer`](crate::Client::layer).
#[derive(Clone)]
pub struct Calls(BoxCloneSyncService<Call, Answer, Error>);

impl fmt::Debug for Calls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Calls(..)")
    }
}

impl Calls {
    pub(crate) fn new<S>(service: S) -> Self
    where
        S: Service<Call, Response = Answer, Error = Error> + Clone + Send + Sync + 'static,
        S::Future: Send + 'static,
    {
        Self(BoxCloneSyncService::new(service))
    }

    /// Carries one call out.
    pub(crate) async fn ask<T>(&self, call: Call) -> Result<T>
    where
        T: TryFrom<Answer, Error = Error>,
    {
        self.0.clone().oneshot(call).await?.try_into()
    }
}

impl Service<Call> for Calls {
    type Response = Answer;
    type Error = Error;
    type Future = BoxFuture<'static, Result<Answer>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<()>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, call: Call) -> Self::Future {
        self.0.call(call)
    }
}
