//! Durable execution for Rust programs: submit work, run it with async functions, and have it end exactly once.
//!
//! A [`Client`] submits and inspects work, a [`Worker`] runs it. Both use an engine inside your program that keeps
//! everything in one SQLite file; when a call answers, its effect is on the disk. Processes may crash at any moment:
//! work that was accepted goes on with the next process that opens the file.
//!
//! ```
//! use onward::{Client, Context, Failed, Worker};
//! use serde::{Deserialize, Serialize};
//! use std::time::Duration;
//!
//! #[derive(Serialize, Deserialize)]
//! struct Email {
//!     to: String,
//! }
//!
//! #[derive(Serialize, Deserialize, Debug, PartialEq)]
//! struct Receipt {
//!     message: String,
//! }
//!
//! async fn send(ctx: Context, email: Email) -> Result<Receipt, Failed> {
//!     if !email.to.contains('@') {
//!         return Err(Failed::permanent("this is not an address"));
//!     }
//!     Ok(Receipt { message: format!("to {}, attempt {}", email.to, ctx.attempt()) })
//! }
//!
//! #[tokio::main]
//! async fn main() -> Result<(), onward::Error> {
//!     // A program that keeps its work writes "sqlite:onward.db" here.
//!     let client = Client::open("memory:").await?;
//!     let worker = Worker::new(&client).on("send-email", send).lanes(["emails"]).concurrency(16).start()?;
//!
//!     let email = Email { to: "ada@example.com".into() };
//!     let submitted = client.submit("send-email", &email).lane("emails").idempotency_key("order-17").await?;
//!     let receipt: Receipt = client.wait(submitted.id, Duration::from_secs(10)).await?;
//!     assert_eq!(receipt.message, "to ada@example.com, attempt 1");
//!
//!     worker.drain().await?;
//!     client.shutdown().await
//! }
//! ```
//!
//! # What is promised
//!
//! - An accepted execution reaches **exactly one end**: completed, failed, cancelled or expired.
//! - A handler runs **at least once**. When a worker is lost, its lease runs out and the execution is given to another;
//!   a handler that had effects outside should make them repeatable, for instance with [`Context::id`] as their key.
//! - A worker whose lease is lost cannot end the execution any more; [`Context::cancelled`] tells its handler.
//!
//! # Where to look
//!
//! | to | see |
//! |---|---|
//! | submit work, with delay, priority, tags, retries, an idempotency key | [`Client::submit`], [`Submission`] |
//! | wait for a result, or look | [`Client::wait`], [`Client::result`], [`Client::get`], [`Client::list`] |
//! | run work | [`Worker`], [`Context`], [`Failed`] |
//! | cancel, steer, run again, remove | [`Client::cancel`], [`Client::run_now`], [`Client::replay`], [`Client::purge`] |
//! | let people answer by a link | [`Client::mint_token`], [`Client::signal_by_token`] |
//! | hold a queue, or empty it | [`Client::pause_lane`], [`Client::drain_lane`], [`Client::open_lane`] |
//! | put something before every call: traces, figures, a limit, a circuit breaker | [`Client::layer`], [`layers`] |
//! | test handlers without waiting | [`testing`] |
//!
//! The features `postgres` and `valkey` add stores on servers, for when one machine is not enough. The feature `remote`
//! lets the same client and the same worker speak to a server: [`Client::open`] with `http://…`. The feature `otel` carries
//! OpenTelemetry's traces along: what is submitted within a span is run in the same trace.
//!
//! Without the default feature `embedded` only the vocabulary is left: ids, names, payloads and policies.

#[cfg(feature = "embedded")]
mod address;
#[cfg(feature = "embedded")]
pub mod call;
#[cfg(feature = "embedded")]
mod calls;
#[cfg(feature = "embedded")]
mod client;
#[cfg(feature = "embedded")]
mod context;
#[cfg(feature = "embedded")]
mod description;
#[cfg(feature = "embedded")]
mod error;
#[cfg(feature = "embedded")]
mod events;
#[cfg(feature = "embedded")]
mod failed;
#[cfg(feature = "embedded")]
mod find;
#[cfg(feature = "embedded")]
mod handler;
#[cfg(feature = "embedded")]
mod inspect;
#[cfg(feature = "embedded")]
pub mod keys;
#[cfg(feature = "embedded")]
pub mod layers;
#[cfg(feature = "embedded")]
mod local;
#[cfg(feature = "embedded")]
mod opening;
#[cfg(feature = "embedded")]
mod operators;
#[cfg(feature = "embedded")]
mod options;
#[cfg(feature = "otel")]
pub mod otel;
#[cfg(feature = "embedded")]
mod read_retries;
#[cfg(all(feature = "embedded", feature = "remote"))]
mod remote;
#[cfg(all(feature = "embedded", not(feature = "remote")))]
#[path = "no_remote.rs"]
mod remote;
#[cfg(feature = "embedded")]
mod signals;
#[cfg(feature = "embedded")]
mod submission;
#[cfg(feature = "embedded")]
pub mod testing;
#[cfg(feature = "embedded")]
mod tokens;
#[cfg(feature = "embedded")]
mod views;
#[cfg(feature = "embedded")]
mod waiting;
#[cfg(feature = "embedded")]
pub mod wire;
#[cfg(feature = "embedded")]
mod worker;

#[cfg(feature = "embedded")]
pub use {
    address::{Address, AddressError, ServerUrl},
    calls::Calls,
    client::Client,
    context::Context,
    description::Description,
    error::{Error, Result},
    events::Events,
    failed::Failed,
    find::Found,
    inspect::AttemptDescription,
    onward_engine as engine,
    onward_engine::{Counts, EventFilter, FindFilter, Told},
    onward_store as store,
    opening::open_store,
    options::{ApiKeyText, ClientOptions},
    signals::Signal,
    submission::Submission,
    tokens::{TokenSignal, TokenWish},
    waiting::{AskPerson, Chosen, Received, WaitAll, WaitAny, WaitFor, WaitForPeople},
    worker::{Worker, WorkerHandle},
};

pub use onward_core::record::{
    AttemptKind, Cancellation, Canceller, ExpiredBy, LaneState, OnTimeout, Progress, PublicState, SignalEffect,
    StopRequest,
};
pub use onward_core::{
    Capability, Category, Class, ExecutionId, Failure, IdError, IdempotencyKey, Kind, Lane, Millis, Name, NameError,
    Namespace, OnExhausted, Payload, PayloadError, Policy, Reason, Rejection, RetryPolicy, RootSecret, SignalId,
    SignalName, Signalled, Span, Submitted, TagKey, TagValue, TokenText, TraceContext, TraceError, UniqueKey, WaitName,
    WorkerName, limits,
};

/// The snippets of the guides, which run as tests.
#[cfg(all(doctest, feature = "embedded"))]
mod guides {
    #[doc = include_str!("../../../docs/guides/first-worker.md")]
    struct FirstWorker;
    #[doc = include_str!("../../../docs/guides/waiting.md")]
    struct Waiting;
}
