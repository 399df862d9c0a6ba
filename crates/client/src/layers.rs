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

mod breaker;
mod limit;
mod meter;
mod tracing;

pub use self::tracing::{Traced, Tracing};
pub use breaker::{Breaking, CircuitBreaker};
pub use limit::{Limited, RateLimit};
pub use meter::{Meter, Metered, Row};
