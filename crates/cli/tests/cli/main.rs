//! The real program: what it prints, how it refuses, and what it promises between processes.

#![allow(clippy::unwrap_used, reason = "a test that meets an error panics")]

#[cfg(feature = "bench")]
mod bench;
mod commands;
mod config;
mod crash;
mod demo;
mod doctor;
mod examples;
mod mistakes;
mod operators;
#[cfg(feature = "otel")]
mod otel;
mod processes;
mod program;
mod server_kills;
mod serving;
mod stores;
