//! Every call of a client as data, and its answer, so that an engine, a server and whatever stands between are alike.

use crate::wire::{
    IssuedKey, KeyInfo, MintedToken, NewKeyRequest, TokenInfo, TokenKeyInfo, TokenSignalRequest, WaitsInfo,
};
use crate::{AttemptDescription, Description, Error, Found, Result};
use onward_core::record::{ExpiredBy, PublicState, Transition};
use onward_core::{
    Act, ActOutcome, Actor, ApiKeyId, Claimed, CommandId, ExecutionId, Explanation, Failure, Fence, Lane, LaneChange,
    Namespace, NewExecution, NewSignal, NewSuspension, NewToken, Payload, Reason, Renewed, Report, Reported, SignalId,
    Signalled, Span, Submitted, Suspended, TokenText,
};
use onward_engine::{Counts, EventFilter, FindFilter, LaneListing, Told, Wants};

/// One call: what is asked, and in which namespace.
#[derive(Debug, Clone)]
pub struct Call {
    /// Whose work it is about.
    pub namespace: Namespace,
    /// Who calls, when the caller is known by name; a server knows its callers by their keys.
    pub by: Option<Actor>,
    /// What is asked.
    pub ask: Ask,
}

/// Makes the table of calls: the enum of all of them, and their names.
macro_rules! asks {
    ($($(#[$about:meta])* $name:literal $variant:ident $(($tuple:ty))? $({ $($fields:tt)* })?,)+) => {
        /// What can be asked. A call that carries ids of its own can be repeated: a repeat finds what the first one did.
        #[derive(Debug, Clone)]
        #[non_exhaustive]
        pub enum Ask {
            $($(#[$about])* $variant $(($tuple))? $({ $($fields)* })?,)+
        }

        impl Ask {
            /// The names of all calls.
            pub const NAMES: &'static [&'static str] = &[$($name,)+];

            /// A short name, the same for all calls of a kind.
            #[must_use]
            pub fn name(&self) -> &'static str {
                match self { $(Self::$variant { .. } => $name,)+ }
            }
        }
    };
}

asks! {
    /// Accept an execution.
    "submit" Submit(Box<NewExecution>),
    /// Accept executions, each on its own.
    "submit_many" SubmitMany(Vec<NewExecution>),
    /// Give out work, and wait for the first if there is none.
    "claim" Claim {
        /// To whom, and how much.
        wants: Wants,
        /// How long to wait.
        wait: Span,
    },
    /// Extend leases, each on its own.
    "renew" Renew {
        /// Which.
        leases: Vec<Fence>,
        /// For how long from now.
        ttl: Span,
    },
    /// End leases, each on its own, and give out work that is there.
    "report" Report {
        /// How each ends.
        reports: Vec<Report>,
        /// To whom, and how much.
        claim: Option<Wants>,
    },
    /// Suspend an attempt, or tell what has come already.
    "suspend" Suspend {
        /// Names this call.
        command: CommandId,
        /// Whose.
        lease: Fence,
        /// What it waits for.
        new: Box<NewSuspension>,
    },
    /// Send a signal to an execution.
    "signal" Signal {
        /// Names this call.
        command: CommandId,
        /// Which.
        id: ExecutionId,
        /// The signal.
        signal: Box<NewSignal>,
    },
    /// Send the same signal to executions, each on its own.
    "signal_many" SignalMany {
        /// Names this call.
        command: CommandId,
        /// Which.
        ids: Vec<ExecutionId>,
        /// The signal.
        signal: Box<NewSignal>,
    },
    /// Make a token for a wait of an execution.
    "mint_token" MintToken {
        /// Which.
        id: ExecutionId,
        /// The token.
        new: Box<NewToken>,
    },
    /// Check a token, and describe what it is about.
    "describe_token" DescribeToken(TokenText),
    /// Send the signal of a token's holder.
    "signal_by_token" SignalByToken(Box<TokenSignalRequest>),
    /// Make a new key that signs tokens.
    "rotate_token_keys" RotateTokenKeys {
        /// Names this call.
        command: CommandId,
        /// How long tokens of the keys before it are good; seven days when absent.
        grace: Option<Span>,
    },
    /// List the keys that sign tokens.
    "token_keys" TokenKeys,
    /// List the waits and signals of an execution.
    "waits" Waits(ExecutionId),
    /// Read what a signal carries.
    "signal_payload" SignalPayload {
        /// Which execution.
        id: ExecutionId,
        /// Which signal.
        signal: SignalId,
    },
    /// Note how far an attempt is.
    "progress" Progress {
        /// Whose.
        lease: Fence,
        /// In percent.
        percent: Option<u8>,
        /// In words.
        message: Option<Reason>,
    },
    /// Describe an execution.
    "get" Get(ExecutionId),
    /// Say what an execution ended with, and wait for its end.
    "ending" Ending {
        /// Which.
        id: ExecutionId,
        /// How long to wait.
        wait: Span,
    },
    /// Say what an execution was submitted with.
    "input" Input(ExecutionId),
    /// Describe the attempts of an execution.
    "attempts" Attempts(ExecutionId),
    /// Tell everything that happened to an execution.
    "history" History(ExecutionId),
    /// Say why an execution stands where it stands.
    "why" Why(ExecutionId),
    /// Find executions.
    "find" Find {
        /// Which.
        filter: FindFilter,
        /// From where on.
        cursor: Option<String>,
        /// The most of a page.
        limit: usize,
    },
    /// Count executions.
    "counts" Counts,
    /// Do something with an execution.
    "operate" Operate {
        /// Names this call.
        command: CommandId,
        /// Which.
        id: ExecutionId,
        /// What.
        act: Act,
    },
    /// Do the same with executions, each on its own.
    "operate_many" OperateMany {
        /// Names this call.
        command: CommandId,
        /// Which.
        ids: Vec<ExecutionId>,
        /// What.
        act: Act,
    },
    /// List the lanes that are used or were changed.
    "lanes" Lanes,
    /// Describe a lane.
    "lane" Lane(Lane),
    /// Change a lane.
    "set_lane" SetLane {
        /// Names this call.
        command: CommandId,
        /// Which.
        lane: Lane,
        /// What.
        change: LaneChange,
    },
    /// Tell events, and wait for the first if there is none.
    "events" Events {
        /// Which.
        filter: EventFilter,
        /// From where on.
        cursor: Option<String>,
        /// How long to wait.
        wait: Span,
        /// The most of a page.
        limit: usize,
    },
    /// Issue a key.
    "issue_key" IssueKey(NewKeyRequest),
    /// List keys.
    "keys" Keys,
    /// Make a key good for nothing.
    "revoke_key" RevokeKey(ApiKeyId),
}

impl Ask {
    /// Whether it may take long because it waits for something to happen.
    #[must_use]
    pub fn waits(&self) -> bool {
        match self {
            Self::Claim { wait, .. } | Self::Ending { wait, .. } | Self::Events { wait, .. } => *wait > Span(0),
            _ => false,
        }
    }

    /// The execution that it is about, if it is about one.
    #[must_use]
    pub fn execution(&self) -> Option<ExecutionId> {
        match self {
            Self::Get(id)
            | Self::Input(id)
            | Self::Attempts(id)
            | Self::History(id)
            | Self::Why(id)
            | Self::Waits(id) => Some(*id),
            Self::Ending { id, .. }
            | Self::Operate { id, .. }
            | Self::Signal { id, .. }
            | Self::MintToken { id, .. }
            | Self::SignalPayload { id, .. } => Some(*id),
            Self::Progress { lease, .. } | Self::Suspend { lease, .. } => Some(lease.execution),
            _ => None,
        }
    }
}

/// What an execution ended with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// Nothing yet.
    None(PublicState),
    /// A result.
    Success(Payload),
    /// A failure.
    Failed(Failure),
    /// Somebody wanted it no more.
    Cancelled(Reason),
    /// Its time was up.
    Expired(Failure, Option<ExpiredBy>),
}

/// What came of reports.
#[derive(Debug)]
pub struct Reports {
    /// One for each.
    pub reported: Vec<Result<Reported>>,
    /// Work that was asked for in the same breath.
    pub claimed: Result<Vec<Claimed>>,
}

/// A page of events.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventsPage {
    /// What happened, in order for each execution.
    pub told: Vec<Told>,
    /// Where to go on after the last of them.
    pub cursor: Option<String>,
}

macro_rules! answers {
    ($($(#[$about:meta])* $variant:ident($type:ty),)+) => {
        /// The answer to a call that was carried out.
        #[derive(Debug)]
        #[non_exhaustive]
        pub enum Answer {
            $($(#[$about])* $variant($type),)+
        }

        $(impl From<$type> for Answer {
            fn from(answer: $type) -> Self {
                Self::$variant(answer)
            }
        }

        impl TryFrom<Answer> for $type {
            type Error = Error;

            fn try_from(answer: Answer) -> Result<Self> {
                match answer {
                    Answer::$variant(answer) => Ok(answer),
                    other => Err(onward_engine::Error::Internal(format!("the wrong kind of answer: {other:?}")).into()),
                }
            }
        })+
    };
}

answers! {
    /// To a submit.
    Submitted(Submitted),
    /// To submits, in their order.
    SubmittedMany(Vec<Result<Submitted>>),
    /// To a claim.
    Claimed(Vec<Claimed>),
    /// To renewals, in their order.
    Renewed(Vec<Result<Renewed>>),
    /// To reports.
    Reported(Reports),
    /// To a suspension.
    Suspended(Suspended),
    /// To a signal.
    Signalled(Signalled),
    /// To signals, in the order of the executions.
    SignalledMany(Vec<Result<Signalled>>),
    /// A token that was made.
    Minted(Box<MintedToken>),
    /// A token that was checked.
    Token(Box<TokenInfo>),
    /// Keys that sign tokens.
    TokenKeys(Vec<TokenKeyInfo>),
    /// Waits and signals.
    Waits(Box<WaitsInfo>),
    /// To what an attempt said about itself.
    Noted(Renewed),
    /// An execution; nothing when there is none.
    Described(Option<Box<Description>>),
    /// What an execution ended with.
    Ended(Ending),
    /// An input; nothing when there is no such execution.
    Payload(Option<Payload>),
    /// Attempts.
    Attempts(Vec<AttemptDescription>),
    /// A history.
    History(Vec<Transition>),
    /// Why an execution stands where it stands.
    Why(Box<Explanation>),
    /// A page of executions.
    Found(Found),
    /// How many there are.
    Counted(Counts),
    /// What was done.
    ActOutcome(ActOutcome),
    /// What was done, in the order of the executions.
    ActedMany(Vec<Result<ActOutcome>>),
    /// Lanes.
    Lanes(Vec<LaneListing>),
    /// A lane, as it is or as it has become.
    Lane(LaneListing),
    /// Events.
    Events(EventsPage),
    /// A key that was issued.
    Issued(IssuedKey),
    /// Keys.
    Keys(Vec<KeyInfo>),
    /// A key.
    Key(KeyInfo),
}
