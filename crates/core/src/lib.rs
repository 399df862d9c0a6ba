//! The rules of Onward: every state transition as one pure, synchronous function, [`apply`].
//!
//! This crate performs no I/O, reads no clock and draws no random number: ids, seeds and the time come in with the
//! command. It never fails except by refusing ([`Rejection`]) or by asking for records it does not have ([`Stop::Need`]).
//!
//! | to learn | read |
//! |---|---|
//! | what the system accepts | [`Command`], one [`Verb`] each |
//! | what can come out | [`Reply`], [`Rejection`], [`Event`] |
//! | what is stored | [`record`] |
//! | whether records agree | [`audit`] |
//! | what happens | `rules/`, one file per verb |
//! | every bound | [`limits`] |

// The tests of the rules share their small store with the test programs beside them, which know the crate by name.
#[cfg(test)]
extern crate self as onward_core;

mod apply;
mod arrival;
mod asked;
pub mod audit;
pub mod codec;
mod condition;
mod digest;
mod event;
mod ids;
pub mod index;
mod key;
pub mod limits;
mod meaning;
mod name;
mod new_execution;
mod new_signal;
#[cfg(feature = "openapi")]
pub mod openapi;
mod payload;
mod policy;
mod reason;
pub mod record;
mod rejection;
mod rules;
mod size;
mod text;
mod time;
mod token;
mod trace;
mod verb;
mod view;
mod want;
mod why;

pub use apply::apply;
pub use arrival::Arrival;
pub use asked::Asked;
pub use condition::{Condition, Distinct};
pub use digest::digest;
pub use event::{Event, LeaseEvent, Subject, What};
pub use ids::{
    ApiKeyId, CommandId, ExecutionId, Fingerprint, IdError, LeaseId, MemberId, MessageId, PartitionId, SignalId,
    TokenKeyId,
};
pub use name::{
    Actor, Build, Capability, Class, IdempotencyKey, Kind, Lane, Name, NameError, Namespace, SignalName, TagKey,
    TagValue, UniqueKey, WaitName, WorkerName,
};
pub use new_execution::NewExecution;
pub use new_signal::NewSignal;
pub use payload::{Blob, Json, Payload, PayloadError};
pub use policy::{Category, Failure, OnExhausted, Policy, RetryPolicy};
pub use reason::Reason;
pub use record::{Key, PayloadSlot};
pub use rejection::{Handling, Rejection};
pub use rules::act::{self, Act, ActOutcome};
pub use rules::claim::Claimed;
pub use rules::due::Looked;
pub use rules::end::{self, End};
pub use rules::fence::Fence;
pub use rules::renew::Renewed;
pub use rules::report::Reported;
pub use rules::set_lane::LaneChange;
pub use rules::signal::{Proof, Signalled};
pub use rules::submit::Submitted;
pub use rules::suspend::{NewSuspension, Suspended};
pub use rules::woken::{TakenSignal, WaitResult, Woken};
pub use rules::{
    Bury, Claim, Command, Deliver, Due, Forget, IssueKey, Operate, Progress, Prune, Renew, Reply, Report, RevokeKey,
    RotateTokenKeys, SetLane, Signal, Submit, Suspend,
};
pub use size::Size;
pub use text::or_default;
pub use time::{Millis, Span, When};
pub use token::{NewToken, RootSecret, SigningKey, TokenBody, TokenText};
pub use trace::{TraceContext, TraceError};
pub use verb::{Addressed, TableVerb, Urgency, Verb};
pub use view::{LogChange, Source, Step, Stop, Touch, View, Window};
pub use want::{Candidate, PageOf, Want};
pub use why::{Because, Explanation, Release, Served, why};
