//! Every input the system accepts: the table of contents of the rules.

use crate::record::{KeyHash, LaneState, Message, Role};
use crate::{
    Actor, ApiKeyId, Class, CommandId, ExecutionId, Failure, IdempotencyKey, Key, Kind, Lane, LeaseId, MessageId,
    Millis, Namespace, PartitionId, Payload, Policy, Reason, Share, Span, TagKey, TagValue, TraceContext, UniqueKey,
    WorkerName,
};
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};

/// A command to one partition. Everything a rule cannot know by itself comes with it: ids, seeds, the caller's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Accept a new execution.
    Submit(Box<Submit>),
    /// Give a ready execution to a worker.
    Claim(Claim),
    /// Extend a lease.
    Renew(Renew),
    /// End an execution well.
    Complete(Complete),
    /// End an attempt badly; the policy decides what follows.
    Fail(Fail),
    /// Give a lease back.
    Unclaim(Unclaim),
    /// Go on with an attempt later.
    Delay(Delay),
    /// Say how far an attempt is.
    Progress(Progress),
    /// End an execution that its worker finds unwanted.
    Cancel(Cancel),
    /// Do what an operator wants with an execution.
    Operate(Box<Operate>),
    /// A record's due time passed: look at it.
    Due(Due),
    /// Apply messages from another partition.
    Deliver(Deliver),
    /// Remove messages that were delivered.
    Forget(Forget),
    /// Set a message aside that cannot be delivered.
    Bury(Bury),
    /// Change what a lane lets through.
    SetLane(SetLane),
    /// Let somebody call.
    IssueKey(Box<IssueKey>),
    /// Let somebody call no more.
    RevokeKey(RevokeKey),
}

/// See [`Command::Submit`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submit {
    /// This call.
    pub command: CommandId,
    /// The id it gets unless its idempotency key stands for another.
    pub id: ExecutionId,
    /// Whose.
    pub namespace: Namespace,
    /// Where it queues.
    pub lane: Lane,
    /// Which handler runs it.
    pub kind: Kind,
    /// What it works on.
    pub input: Payload,
    /// Higher runs first; 0 to 9,000.
    pub priority: u16,
    /// When it may run.
    pub when: When,
    /// Labels.
    pub tags: BTreeMap<TagKey, TagValue>,
    /// Which capabilities it requires.
    pub requires: Class,
    /// Its fairness key.
    pub share: Share,
    /// What to do when it fails, and so on.
    pub policy: Policy,
    /// Makes a second submit with the same key return the first execution.
    pub idempotency_key: Option<IdempotencyKey>,
    /// Makes a second submit with the same key return the first execution until that one ends.
    pub unique_key: Option<UniqueKey>,
    /// When it expires, wherever it stands then.
    pub deadline: Option<When>,
    /// The trace from which it comes. It says nothing about the work, so that it does not tell a call from its repeat.
    pub trace: Option<TraceContext>,
}

/// When an execution may run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum When {
    /// At once.
    #[default]
    Now,
    /// After a pause.
    After(Span),
    /// At a time, which may not lie in the past.
    At(Millis),
}

/// See [`Command::Claim`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// Which execution; a hint that it is ready.
    pub execution: ExecutionId,
    /// The lease to give out. A repeat of the claim carries the same.
    pub lease: LeaseId,
    /// Who.
    pub worker: WorkerName,
    /// What the worker can do.
    pub capabilities: Class,
    /// How long the lease lasts without renewal.
    pub ttl: Span,
}

/// Proves that a caller holds an execution's current lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fence {
    /// Which execution.
    pub execution: ExecutionId,
    /// The lease.
    pub lease: LeaseId,
    /// Its epoch.
    pub epoch: u64,
    /// The attempt it runs.
    pub attempt: u32,
}

/// See [`Command::Renew`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Renew {
    /// Whose lease.
    pub fence: Fence,
    /// How long it lasts from now.
    pub ttl: Span,
}

/// See [`Command::Complete`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complete {
    /// This call.
    pub command: CommandId,
    /// Proof of ownership.
    pub fence: Fence,
    /// What the handler returned.
    pub result: Payload,
}

/// See [`Command::Fail`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fail {
    /// This call.
    pub command: CommandId,
    /// Proof of ownership.
    pub fence: Fence,
    /// Why.
    pub failure: Failure,
    /// The chance from which the pause is drawn.
    pub seed: u64,
}

/// See [`Command::Unclaim`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unclaim {
    /// This call.
    pub command: CommandId,
    /// Proof of ownership.
    pub fence: Fence,
}

/// See [`Command::Delay`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delay {
    /// This call.
    pub command: CommandId,
    /// Proof of ownership.
    pub fence: Fence,
    /// When the attempt goes on.
    pub when: When,
}

/// See [`Command::Progress`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// Proof of ownership.
    pub fence: Fence,
    /// 0 to 100; what was said before stands when absent.
    pub percent: Option<u8>,
    /// For people; what was said before stands when absent.
    pub message: Option<Reason>,
}

/// See [`Command::Cancel`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cancel {
    /// This call.
    pub command: CommandId,
    /// Proof of ownership.
    pub fence: Fence,
    /// Why.
    pub reason: Reason,
}

/// See [`Command::Operate`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operate {
    /// This call.
    pub command: CommandId,
    /// Whose execution; one of another namespace does not exist for the caller.
    pub namespace: Namespace,
    /// Which.
    pub execution: ExecutionId,
    /// Who wants it, when it is somebody with a name.
    pub by: Option<Actor>,
    /// What to do with it.
    pub act: Act,
}

/// What an operator can do with an execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// End it: at once, or after a running attempt had time to stop by itself.
    Cancel {
        /// Why.
        reason: Reason,
        /// How long a running attempt gets to stop by itself.
        grace: Option<Span>,
    },
    /// Choose when it may run; only while it waits.
    Reschedule {
        /// When.
        when: When,
    },
    /// Choose its place in the queue.
    Prioritise {
        /// Higher runs first; 0 to 9,000.
        priority: u16,
    },
    /// Change its labels.
    Tag {
        /// Labels to add or replace.
        set: BTreeMap<TagKey, TagValue>,
        /// Labels to take away.
        remove: BTreeSet<TagKey>,
    },
    /// Take it away from its worker.
    Revoke {
        /// Only this lease; any when absent.
        lease: Option<LeaseId>,
        /// Why.
        reason: Reason,
    },
    /// Run it again after it has ended.
    Replay {
        /// Why.
        reason: Reason,
        /// When it expires; the deadline of its first life is over.
        deadline: Option<When>,
    },
    /// Remove it with all that belongs to it, after it has ended.
    Purge,
}

impl Act {
    /// A short name for traces and metrics.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Cancel { .. } => "cancel",
            Self::Reschedule { .. } => "reschedule",
            Self::Prioritise { .. } => "prioritise",
            Self::Tag { .. } => "tag",
            Self::Revoke { .. } => "revoke",
            Self::Replay { .. } => "replay",
            Self::Purge => "purge",
        }
    }
}

/// See [`Command::Due`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due {
    /// The record whose due time passed, as far as the caller knows.
    pub key: Key,
}

/// See [`Command::Deliver`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deliver {
    /// The sender.
    pub from: PartitionId,
    /// In the order of their sequence.
    pub messages: Vec<Message>,
}

/// See [`Command::Forget`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forget {
    /// The receiver.
    pub to: PartitionId,
    /// The last sequence that was delivered.
    pub through: u64,
    /// What was delivered. A store that lost its last second may hold another message under the same sequence by now,
    /// and that one is still to be delivered.
    pub ids: Vec<MessageId>,
}

/// See [`Command::Bury`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bury {
    /// The receiver.
    pub to: PartitionId,
    /// Which message.
    pub seq: u64,
    /// Its bytes, kept for a person to look at.
    pub body: Bytes,
}

/// See [`Command::SetLane`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetLane {
    /// This call.
    pub command: CommandId,
    /// Whose lane.
    pub namespace: Namespace,
    /// Its name.
    pub lane: Lane,
    /// Who wants it, when it is somebody with a name.
    pub by: Option<Actor>,
    /// What to decide.
    pub change: LaneChange,
}

/// See [`Command::IssueKey`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssueKey {
    /// This call.
    pub command: CommandId,
    /// The key's public part.
    pub id: ApiKeyId,
    /// Who will hold it.
    pub name: Actor,
    /// What its secret part hashes to.
    pub hash: KeyHash,
    /// What it allows.
    pub roles: BTreeSet<Role>,
    /// Where; everywhere when empty.
    pub namespaces: BTreeSet<Namespace>,
    /// Until when it is good; without an end when absent.
    pub expires: Option<When>,
    /// Who wants it, when it is somebody with a name.
    pub by: Option<Actor>,
}

/// See [`Command::RevokeKey`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevokeKey {
    /// Which key.
    pub id: ApiKeyId,
    /// Who wants it, when it is somebody with a name.
    pub by: Option<Actor>,
}

/// What to change about a lane; what is absent stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LaneChange {
    /// What it lets through.
    pub state: Option<LaneState>,
    /// What holds for submissions that do not say otherwise.
    pub defaults: Option<Policy>,
}

impl Command {
    /// The keys that the rule reads unless it ends early, apart from those that a fresh id makes absent.
    #[must_use]
    pub fn keys(&self, partition: PartitionId) -> Vec<Key> {
        match self {
            Self::Submit(submit) => {
                let mut keys = vec![
                    Key::LaneCopy(submit.namespace.clone(), submit.lane.clone(), partition),
                    Key::class(&submit.namespace, &submit.lane, &submit.requires, partition),
                ];
                let namespace = &submit.namespace;
                keys.extend(submit.idempotency_key.iter().map(|key| Key::Idempotency(namespace.clone(), key.clone())));
                keys.extend(submit.unique_key.iter().map(|key| Key::Unique(namespace.clone(), key.clone())));
                keys
            }
            Self::Claim(claim) => vec![Key::Execution(claim.execution)],
            Self::Renew(Renew { fence, .. })
            | Self::Complete(Complete { fence, .. })
            | Self::Fail(Fail { fence, .. })
            | Self::Unclaim(Unclaim { fence, .. })
            | Self::Delay(Delay { fence, .. })
            | Self::Progress(Progress { fence, .. })
            | Self::Cancel(Cancel { fence, .. }) => vec![Key::Execution(fence.execution)],
            Self::Operate(operate) => vec![Key::Execution(operate.execution)],
            Self::Due(due) => vec![due.key.clone()],
            Self::Deliver(deliver) => vec![Key::Inbox(partition, deliver.from)],
            Self::Forget(forget) => vec![Key::Outbox(partition, forget.to)],
            Self::Bury(bury) => vec![Key::Message(partition, bury.to, bury.seq)],
            Self::SetLane(set) => vec![Key::LaneMaster(set.namespace.clone(), set.lane.clone())],
            Self::IssueKey(issue) => vec![Key::ApiKey(issue.id)],
            Self::RevokeKey(revoke) => vec![Key::ApiKey(revoke.id)],
        }
    }

    /// A key that is absent unless this very command ran before; assuming so saves a read, and the commit checks it.
    #[must_use]
    pub fn fresh_key(&self) -> Option<Key> {
        match self {
            Self::Submit(submit) => Some(Key::Execution(submit.id)),
            _ => None,
        }
    }

    /// Who sent it, when it is somebody with a name.
    #[must_use]
    pub fn actor(&self) -> Option<&Actor> {
        match self {
            Self::Operate(operate) => operate.by.as_ref(),
            Self::SetLane(set) => set.by.as_ref(),
            Self::IssueKey(issue) => issue.by.as_ref(),
            Self::RevokeKey(revoke) => revoke.by.as_ref(),
            _ => None,
        }
    }

    /// A short name for traces and metrics.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Submit(_) => "submit",
            Self::Claim(_) => "claim",
            Self::Renew(_) => "renew",
            Self::Complete(_) => "complete",
            Self::Fail(_) => "fail",
            Self::Unclaim(_) => "unclaim",
            Self::Delay(_) => "delay",
            Self::Progress(_) => "progress",
            Self::Cancel(_) => "cancel",
            Self::Operate(operate) => operate.act.name(),
            Self::Due(_) => "due",
            Self::Deliver(_) => "deliver",
            Self::Forget(_) => "forget",
            Self::Bury(_) => "bury",
            Self::SetLane(_) => "set_lane",
            Self::IssueKey(_) => "issue_key",
            Self::RevokeKey(_) => "revoke_key",
        }
    }
}
