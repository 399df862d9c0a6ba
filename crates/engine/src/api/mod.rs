//! The engine's calls, one file per group: submit, claim and report, operate, query, wait.

pub(crate) mod copies;
pub(crate) mod find;
pub(crate) mod inspect;
pub(crate) mod keys;
pub(crate) mod lanes;
mod operators;
pub(crate) mod query;
pub(crate) mod submission;
pub(crate) mod tokens;
pub(crate) mod wait;
pub(crate) mod waits;
mod workers;
