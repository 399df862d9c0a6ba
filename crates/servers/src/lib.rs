//! Real servers for tests and benchmarks: each in a temporary directory, on a free loopback port, ended with its owner.
//!
//! A missing program is an error that says how to install it: a test that needs a server never passes without one.

pub mod postgres;
mod process;
mod relay;
pub mod shared;
pub mod valkey;

pub use process::{Process, Signal, free_port, program};
pub use relay::Relay;
