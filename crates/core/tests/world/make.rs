//! Commands with everything in them that a test does not care about.

use super::{Done, World};
use onward_core::record::{
    Active, EndedAttempt, Finished, Format, KeyHash, KeySecret, LaneCopy, LaneSettings, LaneState, Record, Role, State,
    WaitAddress, WaitRef, Waiting,
};
use onward_core::{
    Act, ActOutcome, ApiKeyId, Arrival, Capability, Category, Claim, Claimed, Class, Command, CommandId, Condition,
    Distinct, Due, End, ExecutionId, Failure, Fence, IssueKey, Key, Lane, LaneChange, LeaseId, Millis, Namespace,
    NewExecution, NewSignal, NewSuspension, Operate, PartitionId, Payload, Policy, Progress, Reason, Rejection, Renew,
    Reply, Report, RetryPolicy, RevokeKey, RotateTokenKeys, SetLane, Signal, Span, Submit, Suspend, TagKey, TagValue,
    TokenKeyId, TraceContext, When, act, end,
};
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

/// Where executions of these tests live unless said otherwise.
pub const HOME: PartitionId = PartitionId(0);
/// How long their leases last.
pub const TTL: Span = Span::seconds(30);

pub fn id(n: u128) -> ExecutionId {
    id_in(n, HOME)
}

pub fn id_in(n: u128, partition: PartitionId) -> ExecutionId {
    ExecutionId::new(Uuid::from_u128((0x0192_f0c8_0000_7000_8000_u128 << 48) | n), partition)
}

pub fn namespace() -> Namespace {
    Namespace::default()
}

pub fn lane() -> Lane {
    Lane::default()
}

pub fn class(capabilities: &[&str]) -> Class {
    Class::new(capabilities.iter().map(|text| text.parse::<Capability>().unwrap())).unwrap()
}

/// The same submit for other work: `with!(submit(1), priority: 7)`.
macro_rules! with {
    ($submit:expr, $($field:ident $(: $value:expr)?),+ $(,)?) => {{
        let mut submit: onward_core::Submit = $submit;
        $(with!(@set submit, $field, with!(@value $field $($value)?));)+
        submit
    }};
    (@value $field:ident $value:expr) => { $value };
    (@value $field:ident) => { $field };
    (@set $submit:ident, when, $value:expr) => { $submit.new.set_when($value) };
    (@set $submit:ident, deadline, $value:expr) => { $submit.new.set_deadline($value) };
    (@set $submit:ident, input, $value:expr) => { $submit.new.set_input($value) };
    (@set $submit:ident, $field:ident, $value:expr) => { $submit.new.$field = $value };
}
pub(crate) use with;

/// A submit of `id(n)` by the call `n`.
pub fn submit(n: u128) -> Submit {
    let new = Box::new(NewExecution::new("work".parse().unwrap(), Payload::null()));
    // Long ago, so that it queues by the time of its commit.
    Submit { command: CommandId(n), id: id(n), arrived: Arrival::at(Millis(0), 0), new }
}

/// A place in a trace.
pub fn trace() -> TraceContext {
    TraceContext::new(7, 8, 1).unwrap()
}

/// Retries so often, each after the same pause.
pub fn retry(max_retries: u32, delay: Span) -> Policy {
    Policy { retry: Some(RetryPolicy::fixed(max_retries, delay)), ..Policy::default() }
}

pub fn claim(execution: ExecutionId, lease: u128) -> Claim {
    Claim {
        execution,
        lease: LeaseId(lease),
        worker: "worker-1".parse().unwrap(),
        build: None,
        capabilities: Class::default(),
        ttl: TTL,
    }
}

pub fn report(command: u128, fence: Fence, end: impl Into<End>) -> Command {
    Command::Report(Report { command: CommandId(command), fence, end: end.into() })
}

pub fn complete(command: u128, fence: Fence) -> Command {
    report(command, fence, end::Complete { result: Payload::null() })
}

pub fn fail(command: u128, fence: Fence) -> Command {
    fail_as(command, fence, Category::transient())
}

pub fn fail_as(command: u128, fence: Fence, category: Category) -> Command {
    report(command, fence, end::Fail { failure: Failure::new(category, "it broke") })
}

pub fn unclaim(command: u128, fence: Fence) -> Command {
    report(command, fence, end::Unclaim)
}

pub fn renew(fence: Fence, ttl: Span) -> Command {
    Command::Renew(Renew { fence, ttl })
}

pub fn delay(command: u128, fence: Fence, when: When) -> Command {
    report(command, fence, end::Delay { when })
}

pub fn progress(fence: Fence, percent: Option<u8>, message: Option<&str>) -> Command {
    Command::Progress(Progress { fence, percent, message: message.map(Reason::new) })
}

pub fn cancel(command: u128, fence: Fence) -> Command {
    report(command, fence, end::Cancel { reason: "not needed".into() })
}

pub fn operate(command: u128, execution: ExecutionId, act: Act) -> Command {
    Command::Operate(Operate { command: CommandId(command), namespace: namespace(), execution, by: None, act })
}

pub fn wait(text: &str) -> WaitRef {
    text.parse().unwrap()
}

/// A condition on one wait.
pub fn one(text: &str) -> Condition {
    Condition::wait(wait(text))
}

/// A number of distinct things among waits.
pub fn count(n: u32, distinct: Distinct, waits: &[&str]) -> Condition {
    Condition::count(n, distinct, waits.iter().map(|text| wait(text)).collect())
}

pub fn suspend(command: u128, fence: Fence, new: NewSuspension) -> Command {
    Command::Suspend(Suspend { command: CommandId(command), fence, new: Box::new(new) })
}

/// Suspends until a signal comes for one wait.
pub fn suspend_on(command: u128, fence: Fence, wait: &str) -> Command {
    suspend(command, fence, NewSuspension::new(one(wait)))
}

/// A signal without a sender.
pub fn signal(command: u128, execution: ExecutionId, wait: &str) -> Signal {
    let signal = Box::new(NewSignal::new(wait.parse::<WaitAddress>().unwrap()));
    Signal { command: CommandId(command), namespace: namespace(), execution, by: None, proof: None, signal }
}

/// A signal of a person.
pub fn signal_by(command: u128, execution: ExecutionId, wait: &str, actor: &str) -> Signal {
    Signal { by: Some(actor.parse().unwrap()), ..signal(command, execution, wait) }
}

/// Ends it at once.
pub fn end() -> Act {
    Act::Cancel(act::Cancel { reason: "unwanted".into(), grace: None })
}

/// Asks it to stop by itself.
pub fn ask(grace: Span) -> Act {
    Act::Cancel(act::Cancel { reason: "unwanted".into(), grace: Some(grace) })
}

/// Takes any lease away.
pub fn revoke() -> Act {
    Act::Revoke(act::Revoke { lease: None, reason: "stuck".into() })
}

/// Runs it again, without a deadline.
pub fn replay() -> Act {
    Act::Replay(act::Replay { reason: "fixed".into(), ..act::Replay::default() })
}

pub fn tags(pairs: &[(&str, &str)]) -> BTreeMap<TagKey, TagValue> {
    pairs.iter().map(|(key, value)| (key.parse().unwrap(), value.parse().unwrap())).collect()
}

pub fn tag(set: &[(&str, &str)], remove: &[&str]) -> Act {
    let remove: BTreeSet<TagKey> = remove.iter().map(|key| key.parse().unwrap()).collect();
    Act::Tag(act::Tag { set: tags(set), remove })
}

pub fn due(execution: ExecutionId) -> Command {
    Command::Due(Due { key: Key::Execution(execution) })
}

pub fn set_lane(command: u128, state: LaneState) -> Command {
    Command::SetLane(SetLane {
        command: CommandId(command),
        namespace: namespace(),
        lane: lane(),
        by: None,
        change: LaneChange { state: Some(state), defaults: None },
    })
}

pub fn issue_key(command: u128, id: u128) -> Command {
    Command::IssueKey(IssueKey {
        command: CommandId(command),
        id: ApiKeyId(id),
        name: "ada".parse().unwrap(),
        hash: KeyHash([7; 32]),
        roles: [Role::Submit].into(),
        namespaces: BTreeSet::new(),
        expires: None,
        by: None,
    })
}

pub fn revoke_key(id: u128) -> Command {
    Command::RevokeKey(RevokeKey { id: ApiKeyId(id), by: Some("grace".parse().unwrap()) })
}

pub fn rotate_token_keys(command: u128, id: u128) -> Command {
    Command::RotateTokenKeys(RotateTokenKeys {
        command: CommandId(command),
        id: TokenKeyId(id),
        secret: KeySecret([7; 32]),
        root: None,
        grace: Some(Span::days(1)),
        by: Some("grace".parse().unwrap()),
    })
}

pub fn rotate_token_keys_within(number: u128, grace: Option<Span>) -> Command {
    let Command::RotateTokenKeys(rotate) = rotate_token_keys(number, number) else { unreachable!() };
    Command::RotateTokenKeys(RotateTokenKeys { grace, ..rotate })
}

impl World {
    /// Runs a command at home.
    pub fn home(&mut self, command: &Command) -> Done {
        self.run(HOME, command)
    }

    /// Runs a command at home that must be accepted.
    pub fn accept(&mut self, command: &Command) -> Reply {
        let done = self.home(command);
        done.result.unwrap_or_else(|rejection| panic!("{} was refused: {rejection}", command.name()))
    }

    /// Runs a command at home that must be refused.
    pub fn refuse(&mut self, command: &Command) -> Rejection {
        match self.home(command).result {
            Err(rejection) => rejection,
            Ok(reply) => panic!("{} was accepted: {reply:?}", command.name()),
        }
    }

    /// Has an operator do something with an execution that must be accepted.
    pub fn operate(&mut self, command: u128, execution: ExecutionId, act: Act) -> ActOutcome {
        match self.accept(&operate(command, execution, act)) {
            Reply::Operate(did) => did,
            other => panic!("{other:?}"),
        }
    }

    pub fn submit(&mut self, submit: Submit) -> ExecutionId {
        match self.accept(&Command::Submit(submit)) {
            Reply::Submit(submitted) => submitted.id,
            other => panic!("{other:?}"),
        }
    }

    pub fn claim(&mut self, execution: ExecutionId, lease: u128) -> Box<Claimed> {
        match self.accept(&Command::Claim(claim(execution, lease))) {
            Reply::Claim(claimed) => claimed,
            other => panic!("{other:?}"),
        }
    }

    /// How an execution ended that has.
    pub fn finished(&self, execution: ExecutionId) -> &Finished {
        match &self.execution(execution).state {
            State::Finished(finished) => finished,
            other => panic!("{execution} is {other:?}"),
        }
    }

    /// What an execution waits for that does.
    pub fn waiting(&self, execution: ExecutionId) -> &Waiting {
        match &self.execution(execution).state {
            State::Waiting(waiting) => waiting,
            other => panic!("{execution} is {other:?}"),
        }
    }

    /// The lease and the attempt of an execution that runs.
    pub fn active(&self, execution: ExecutionId) -> &Active {
        match &self.execution(execution).state {
            State::Active(active) => active,
            other => panic!("{execution} is {other:?}"),
        }
    }

    /// The newest attempt that has ended.
    pub fn last(&self, execution: ExecutionId) -> &EndedAttempt {
        self.execution(execution).last.as_ref().unwrap_or_else(|| panic!("no attempt of {execution} has ended"))
    }

    /// Submits and claims at once.
    pub fn running(&mut self, submit: Submit, lease: u128) -> Fence {
        let id = self.submit(submit);
        self.claim(id, lease).fence
    }

    /// Lets time pass until the execution is due, and says so to it.
    pub fn when_due(&mut self, execution: ExecutionId) -> Done {
        let at = self.execution(execution).due().unwrap_or_else(|| panic!("{execution} is never due"));
        self.now = self.now.max(at);
        self.home(&due(execution))
    }

    /// Claims the execution and loses the lease.
    pub fn lose(&mut self, execution: ExecutionId, lease: u128) -> Done {
        self.claim(execution, lease);
        self.when_due(execution)
    }

    /// Makes a lane let through something else in the home partition, without asking its master.
    pub fn lane_is(&mut self, state: LaneState) {
        let copy =
            LaneCopy { format: Format, settings: LaneSettings { state, ..LaneSettings::default() }, revision: 1 };
        self.put(Key::LaneCopy(namespace(), lane(), HOME), Record::LaneCopy(copy));
    }
}

/// A point in time so far after the start of a world.
pub fn after(span: Span) -> Millis {
    Millis(1_000_000) + span
}
