//! What a SQL shell shows of a store: `executions`, `attempts`, `lanes` and `events`, one row for each.
//!
//! The views only read. Times are UTC; `state` holds the public words. Each database has its own dialect and one file here.

#[cfg(feature = "postgres")]
pub(crate) mod postgres;
pub(crate) mod sqlite;
