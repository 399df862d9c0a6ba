//! What programs can rely on, from submit to result, on every store.

#![allow(clippy::unwrap_used, reason = "a test that meets an error panics")]

mod crash;
mod failures;
mod leases;
mod lookup;
mod operators;
mod order;
mod payloads;
mod setup;
mod stopping;
mod submitting;
mod testkit;
mod time;
mod tokens;
mod traces;
mod trouble;
mod views;
mod waiting;
mod world;
