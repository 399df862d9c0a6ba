//! What happens: one file per verb, and below what several of them share.
//!
//! Every way to become claimable goes through `ready`, every begin and end of a lease through `lease`, and every end of an
//! execution through `finish`: what must happen there happens once.

use crate::verb::verbs;
use crate::{Actor, Key, Millis, PartitionId, Stop, TableVerb, Urgency, Verb, View};

verbs! {
    /// Accept a new execution.
    submit::Submit,
    /// Give a ready execution to a worker.
    claim::Claim,
    /// Extend a lease.
    renew::Renew,
    /// Say how far an attempt is.
    progress::Progress,
    /// End a lease.
    report::Report,
    /// Wait for the world without a worker.
    suspend::Suspend,
    /// Tell an execution something from outside.
    signal::Signal,
    /// Do what an operator wants with an execution.
    operate::Operate,
    /// A record's due time passed: look at it.
    due::Due,
    /// Apply messages from another partition.
    deliver::Deliver,
    /// Remove messages that were delivered.
    forget::Forget,
    /// Set a message aside that cannot be delivered.
    bury::Bury,
    /// Forget queues that have been empty for a day.
    prune::Prune,
    /// Change the settings of a lane.
    set_lane::SetLane,
    /// Issue an API key.
    issue_key::IssueKey,
    /// Revoke an API key.
    revoke_key::RevokeKey,
    /// Make a new key that signs tokens.
    rotate_token_keys::RotateTokenKeys,
}

pub mod act;
pub mod end;

pub(crate) mod errand;
pub(crate) mod fence;
pub(crate) mod finish;
pub(crate) mod lane;
pub(crate) mod lease;
pub(crate) mod lost;
pub(crate) mod outbox;
pub(crate) mod payload;
pub(crate) mod purge;
pub(crate) mod ready;
pub(crate) mod timed_out;
pub(crate) mod times;
pub(crate) mod unique;
pub(crate) mod waits;
pub(crate) mod woken;

#[cfg(test)]
pub(crate) mod table;
#[cfg(test)]
mod tests;
#[cfg(test)]
#[path = "../../tests/world/mod.rs"]
mod world;
