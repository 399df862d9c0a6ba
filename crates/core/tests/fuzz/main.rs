//! Parsers of the core under hostile input: they never panic, know one spelling of everything, and keep the limits.
#![allow(clippy::unwrap_used, reason = "a failing test may panic")]

mod events;
mod ids;
mod keys;
mod names;
mod payloads;
mod records;
mod tokens;
mod words;
