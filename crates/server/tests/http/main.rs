//! The server as its callers see it, over real connections.

#![allow(clippy::unwrap_used, reason = "a test that meets an error panics")]

mod access;
mod certify;
mod cors;
mod draining;
mod events;
mod hostile;
mod looking;
mod remote;
mod site;
mod tls;
mod tokens;
mod traces;
mod working;
