//! What can stand before every call of a client: traces, figures, a limit, a circuit breaker.
//!
//! Each is a [`tower::Layer`]; put it in place with [`Client::layer`](crate::Client::layer). The one that is put in place
//! last meets a call first. They stand before the calls of workers too, and are the same before an engine and a server.
//!
//! ```
//! use onward::layers::{CircuitBreaker, Meter, RateLimit, Tracing};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), onward::Error> {
//! let meter = Meter::new();
//! let client = onward::Client::open("memory:")
//!     .await?
//!     .layer(CircuitBreaker::default())
//!     .layer(RateLimit::per_second(500))
//!     .layer(meter.clone())
//!     .layer(Tracing);
//! client.submit("greet", "Ada").await?;
//! for row in meter.read() {
//!     println!("{} {} {}", row.call, row.code, row.calls);
//! }
//! # client.shutdown().await }
//! ```

/// Makes a layer of tower out of a type whose method `carry` carries a call out by the service behind it; `+` names what
/// that service must be besides. Names without a path are those that `carry` needs too, so the layer's file imports them.
macro_rules! layer {
    ($(#[$about:meta])* $layer:ident => $service:ident $(+ $needed:tt)*) => {
        $(#[$about])*
        #[derive(Debug, Clone)]
        pub struct $service<S> {
            inner: S,
            layer: $layer,
        }

        impl<S> tower::Layer<S> for $layer {
            type Service = $service<S>;

            fn layer(&self, inner: S) -> $service<S> {
                $service { inner, layer: self.clone() }
            }
        }

        impl<S> Service<Call> for $service<S>
        where
            S: Service<Call, Response = Answer, Error = Error> $(+ $needed)*,
            S::Future: Send + 'static,
        {
            type Response = Answer;
            type Error = Error;
            type Future = BoxFuture<'static, Result<Answer>>;

            fn poll_ready(&mut self, cx: &mut std::task::Context<'_>) -> std::task::Poll<Result<()>> {
                self.inner.poll_ready(cx)
            }

            fn call(&mut self, call: Call) -> Self::Future {
                self.layer.carry(&mut self.inner, call)
            }
        }
    };
}

mod breaker;
mod limit;
mod meter;
mod tracing;

pub use self::tracing::{Traced, Tracing};
pub use breaker::{Breaking, CircuitBreaker};
pub use limit::{Limited, RateLimit};
pub use meter::{Meter, Metered, Row};
