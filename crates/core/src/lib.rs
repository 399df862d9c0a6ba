//! The rules of Onward: every state transition as one pure, synchronous function, [`apply`].
//!
//! This crate performs no I/O, reads no clock and draws no random number: ids, seeds and the time come in with the
//! command. It never fails except by refusing ([`Rejection`]) or by asking for records it does not have ([`Stop::Need`]).
//!
//! | to learn | read |
//! |---|---|
//! | what the system accepts | [`Command`] |
//! | what can come out | [`Reply`], [`Rejection`], [`Event`] |
//! | what is stored | [`record`] |
//! | whether records agree | [`audit`] |
//! | what happens | `rules/`, one file per verb |
//! | every bound | [`limits`] |

// The tests of the rules share their small store with the test programs beside them, which know the crate by name.
#[cfg(test)]
extern crate self as onward_core;

mod apply;
pub mod audit;
pub mod codec;
mod command;
mod event;
mod ids;
pub mod index;
mod key;
pub mod limits;
mod name;
#[cfg(feature = "openapi")]
mod openapi;
mod payload;
mod policy;
mod reason;
pub mod record;
mod rejection;
mod reply;
mod rules;
mod time;
mod trace;
mod view;
mod why;

pub use apply::apply;
pub use command::{
    Act, Bury, Cancel, Claim, Command, Complete, Delay, Deliver, Due, Fail, Fence, Forget, IssueKey, LaneChange,
    Operate, Progress, Renew, RevokeKey, SetLane, Submit, Unclaim, When,
};
pub use event::{Event, LeaseEvent, What};
pub use ids::{ApiKeyId, CommandId, ExecutionId, IdError, LeaseId, MemberId, MessageId, PartitionId};
pub use key::{Key, PayloadSlot};
pub use name::{
    Actor, Capability, Class, IdempotencyKey, Kind, Lane, Name, NameError, Namespace, Share, TagKey, TagValue,
    UniqueKey, WorkerName,
};
pub use payload::{Json, Payload, PayloadError};
pub use policy::{Backoff, Category, Failure, Policy, RetryPolicy};
pub use reason::Reason;
pub use rejection::{Handling, Rejection};
pub use reply::{AfterFailure, Claimed, Renewed, Reply, Submitted};
pub use time::{Millis, Span};
pub use trace::{TraceContext, TraceError};
pub use view::{Source, Step, Stop, Touch, View, Window};
pub use why::{Because, Explanation, Release, why};
