//! Runs the rules against a store: partition loops, ready queues, timers and messages between partitions.
//!
//! [`Engine`] is a cheap handle. Every call that changes something goes to the loop of one partition, which gathers
//! waiting commands, applies the rules of `onward-core` in memory, commits one conditional batch and replies after the
//! commit. Caches, queues, timers and wake-ups are hints: they may be wrong or lost, and a commit checks everything.

mod api;
mod binding;
pub mod clock;
mod doctor;
mod engine;
mod error;
mod events;
mod jobs;
mod lookup;
mod members;
mod messages;
mod metrics;
mod options;
mod partition;
mod shared;
mod timers;
mod token_ring;
mod watches;
mod work;

pub use api::find::{Counts, FindFilter, FindPage};
pub use api::lanes::LaneListing;
pub use api::submission::chosen_id;
pub use api::tokens::{Minted, SignalContent, TokenSubject, VerifiedToken};
pub use api::waits::WaitList;
pub use doctor::{Ailment, Examination, Report, Tally};
pub use engine::Engine;
pub use error::Error;
pub use events::subscription::{EventFilter, Subscription, Told, store_cursor};
pub use metrics::MetricsSnapshot;
pub use options::{Options, Rules, Scope};
pub use work::affinity::Kinds;
pub use work::waiters::Wants;
