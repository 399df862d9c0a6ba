//! Runs the rules against a store: partition loops, ready queues, timers and messages between partitions.
//!
//! [`Engine`] is a cheap handle. Every call that changes something goes to the loop of one partition, which gathers
//! what waits, applies the rules of `onward-core` in memory, commits one conditional batch and answers after the
//! commit. Caches, queues, timers and wake-ups are hints: they may be wrong or lost, and a commit checks everything.

mod access;
mod batch;
mod binding;
mod board;
mod cache;
mod claims;
pub mod clock;
mod clockwork;
mod collect;
mod doctor;
mod doubt;
mod ends;
mod engine;
mod error;
mod far;
mod feed;
mod find;
mod focus;
mod gather;
mod hints;
mod housekeeping;
mod inspect;
mod jobs;
mod lanes;
mod lookup;
mod members;
mod metrics;
mod nearby;
mod office;
mod operators;
mod options;
mod partition;
mod place;
mod query;
mod reading;
mod ready;
mod report;
mod roster;
mod shared;
mod submission;
mod task;
mod timers;
mod topics;
mod tracker;
mod waiters;
mod wakes;
mod workers;

pub use access::NewKey;
pub use doctor::{Ailment, Examination, Report, Tally};
pub use engine::Engine;
pub use error::Error;
pub use feed::{EventFilter, Subscription, Told, store_cursor};
pub use find::{Counts, FindFilter, FindPage};
pub use lanes::LaneListing;
pub use metrics::MetricsSnapshot;
pub use options::{Options, Rules, Scope};
pub use query::{ListCursor, Listing};
pub use report::{End, LeaseReport, Reported};
pub use submission::{NewExecution, SubmitIds, chosen_id};
pub use waiters::Wants;
