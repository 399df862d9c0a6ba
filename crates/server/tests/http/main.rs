//! The server as its callers see it, over real connections.

#![allow(clippy::unwrap_used, reason = "a test that meets an error panics")]

mod access;
mod draining;
mod events;
mod hostile;
mod looking;
mod site;
mod traces;
mod working;
