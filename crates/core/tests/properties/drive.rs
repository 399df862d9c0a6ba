//! Makes moves in a world, and checks after each what must hold.

use crate::checks;
use crate::history::History;
use crate::moves::{Move, PARTITIONS, SLOTS, Verb, Which};
use crate::world::make::{self, HOME, class, id, namespace};
use crate::world::vector::{legal, vector};
use crate::world::{Done, World};
use onward_core::record::{Record, State};
use onward_core::{
    Bury, Claim, Claimed, Class, Command, CommandId, Complete, Deliver, Due, Fail, Failure, Fence, Forget, Key,
    LeaseId, PartitionId, Reply, Submit, Submitted, codec, limits,
};
use std::collections::BTreeMap;

/// What random runs must come across, or they prove nothing.
pub(crate) const EXPECTED: [&str; 32] = [
    "READY-FIRST",
    "READY-RETRY",
    "READY-RESUME",
    "DELAYED-CREATE",
    "DELAYED-RETRY",
    "DELAYED-RESUME",
    "RUNNING",
    "LOST",
    "TERM(success)",
    "TERM(failed)",
    "submit",
    "claim",
    "renew",
    "complete",
    "fail",
    "unclaim",
    "due",
    "deliver",
    "forget",
    "bury",
    "set_lane",
    "repeat",
    "time_in_past",
    "execution_exists",
    "execution_not_found",
    "execution_not_ready",
    "execution_not_active",
    "capability_mismatch",
    "idempotency_mismatch",
    "lane_paused",
    "stale_lease",
    "lease_expired",
];

/// A call that was accepted.
struct Accepted {
    partition: PartitionId,
    command: Command,
    reply: Reply,
}

/// A world, what was done in it, and what was seen.
pub(crate) struct Driver {
    world: World,
    history: History,
    accepted: Vec<Accepted>,
    delivered: Vec<(PartitionId, Command)>,
    fences: BTreeMap<u128, Vec<Fence>>,
    /// Every call and lease gets a number of its own.
    next: u128,
    pub(crate) seen: BTreeMap<&'static str, u64>,
}

impl Driver {
    pub(crate) fn new() -> Self {
        Self {
            world: World::new(PARTITIONS),
            history: History::default(),
            accepted: Vec::new(),
            delivered: Vec::new(),
            fences: BTreeMap::new(),
            next: 1_000,
            seen: BTreeMap::new(),
        }
    }

    fn number(&mut self) -> u128 {
        self.next += 1;
        self.next
    }

    fn see(&mut self, what: &'static str) {
        *self.seen.entry(what).or_default() += 1;
    }

    pub(crate) fn make(&mut self, one: &Move) {
        match one {
            Move::Pass(span) => self.world.pass(*span),
            Move::Back(span) => self.world.now = self.world.now - *span,
            Move::Redeliver(index) if !self.delivered.is_empty() => {
                let (to, command) = index.get(&self.delivered).clone();
                let done = self.run(to, &command);
                assert_eq!(done.result, Ok(Reply::Delivered { applied: 0 }));
                assert!(done.step.writes.is_empty(), "a redelivery wrote");
            }
            Move::Repeat(index) if !self.accepted.is_empty() => {
                let index = index.index(self.accepted.len());
                if !self.repeat(index) {
                    let Accepted { partition, command, .. } = &self.accepted[index];
                    self.run(*partition, &command.clone());
                }
            }
            Move::Redeliver(_) | Move::Repeat(_) => {}
            Move::Deliver { from, to } => self.deliver(PartitionId(*from), PartitionId(*to)),
            Move::Bury { to } => self.bury(PartitionId(*to)),
            Move::WaitUntilDue { slot } => self.wait_until_due(*slot),
            other => {
                if let Some(command) = self.command(other) {
                    self.run(HOME, &command);
                }
            }
        }
    }

    fn command(&mut self, one: &Move) -> Option<Command> {
        match one {
            Move::Submit { slot, key, when, priority, policy, input, gpu } => {
                let command = if self.world.find(id(*slot)).is_none() { *slot } else { self.number() };
                Some(Command::Submit(Box::new(Submit {
                    command: CommandId(command),
                    idempotency_key: key.map(|key| format!("key-{key}").parse().unwrap()),
                    when: *when,
                    priority: *priority,
                    policy: policy.clone(),
                    input: input.clone(),
                    requires: if *gpu { class(&["gpu"]) } else { Class::default() },
                    ..make::submit(*slot)
                })))
            }
            Move::Claim { slot, gpu, ttl } => {
                let capabilities = if *gpu { class(&["gpu"]) } else { Class::default() };
                Some(Command::Claim(Claim { capabilities, ttl: *ttl, ..make::claim(id(*slot), self.number()) }))
            }
            Move::Hold { slot, which, verb } => {
                let fence = self.fence(*slot, *which)?;
                let command = CommandId(self.number());
                Some(match verb.clone() {
                    Verb::Renew(ttl) => make::renew(fence, ttl),
                    Verb::Complete(result) => Command::Complete(Complete { command, fence, result }),
                    Verb::Fail(category, seed) => {
                        Command::Fail(Fail { command, fence, failure: Failure::new(category, "it broke"), seed })
                    }
                    Verb::Unclaim => make::unclaim(command.0, fence),
                })
            }
            Move::Due { slot } => Some(make::due(id(*slot))),
            Move::DueKey { key } => {
                let key = Key::Idempotency(namespace(), format!("key-{key}").parse().unwrap());
                Some(Command::Due(Due { key }))
            }
            Move::SetLane(state) => Some(make::set_lane(self.number(), *state)),
            _ => None,
        }
    }

    fn fence(&self, slot: u128, which: Which) -> Option<Fence> {
        let fences = self.fences.get(&slot)?;
        let newest = *fences.last()?;
        Some(match which {
            Which::Newest => newest,
            Which::Older(n) => fences[n % fences.len()],
            Which::WrongLease => Fence { lease: LeaseId(1), ..newest },
            Which::WrongEpoch => Fence { epoch: newest.epoch + 1, ..newest },
        })
    }

    fn wait_until_due(&mut self, slot: u128) {
        let Some(at) = self.world.find(id(slot)).and_then(|execution| execution.state.due()) else { return };
        self.world.now = self.world.now.max(at);
        let done = self.run(HOME, &make::due(id(slot)));
        assert!(matches!(done.result, Ok(Reply::Due { acted: true, .. })), "it was due");
        let again = self.run(HOME, &make::due(id(slot)));
        assert!(again.step.writes.is_empty(), "looking twice at one time changed something");
    }

    fn deliver(&mut self, from: PartitionId, to: PartitionId) {
        let waiting = self.world.outgoing(from, to);
        let Some(&(through, _)) = waiting.last() else { return };
        let messages: Vec<_> = waiting.into_iter().map(|(_, message)| message).collect();
        let ids = messages.iter().map(|message| message.id).collect();
        let command = Command::Deliver(Deliver { from, messages });
        self.run(to, &command);
        self.delivered.push((to, command));
        self.run(from, &Command::Forget(Forget { to, through, ids }));
    }

    fn bury(&mut self, to: PartitionId) {
        let Some((seq, message)) = self.world.outgoing(HOME, to).pop() else { return };
        let body = codec::encode(&Record::Message(message));
        self.run(HOME, &Command::Bury(Bury { to, seq, body }));
    }

    /// Runs a command, notes what it did and checks everything.
    fn run(&mut self, partition: PartitionId, command: &Command) -> Done {
        let before = self.world.clone();
        let done = self.world.run(partition, command);
        match &done.result {
            Err(rejection) => self.see(rejection.code()),
            Ok(reply) => {
                self.see(command.name());
                let (command, reply) = (command.clone(), reply.clone());
                if let Reply::Claimed(claimed) = &reply {
                    self.remember(claimed);
                }
                self.accepted.push(Accepted { partition, command, reply });
            }
        }
        self.history.note(&before, &self.world, command, &done);
        let change =
            checks::Change { before: &before, after: &self.world, command, done: &done, history: &self.history };
        for (_, check) in checks::CHECKS {
            check(&change);
        }
        for slot in 1..=SLOTS {
            if let Some(execution) = self.world.find(id(slot)) {
                let name = legal(&vector(&execution.state, self.world.now));
                self.see(name.unwrap_or("unlisted"));
            }
        }
        done
    }

    fn remember(&mut self, claimed: &Claimed) {
        let slot = (1..=SLOTS).find(|slot| id(*slot) == claimed.fence.execution).unwrap();
        let fences = self.fences.entry(slot).or_default();
        if !fences.contains(&claimed.fence) {
            fences.push(claimed.fence);
        }
    }

    /// Repeats a call that was accepted: the first answer, and nothing written. Says whether that must hold now.
    fn repeat(&mut self, index: usize) -> bool {
        let Accepted { partition, command, reply } = &self.accepted[index];
        if !self.must_be_the_same(command, reply) {
            return false;
        }
        let (partition, command, first) = (*partition, command.clone(), reply.clone());
        let done = self.run(partition, &command);
        self.see("repeat");
        let answer = done.result.unwrap_or_else(|refusal| panic!("the repeat of {command:?} was refused: {refusal}"));
        assert_eq!(without_expiry(answer), without_expiry(first), "the repeat of {command:?}");
        assert!(done.step.writes.is_empty() && done.events.is_empty(), "the repeat of {command:?} wrote");
        true
    }

    /// Whether a repeat is due the first answer now.
    fn must_be_the_same(&self, command: &Command, reply: &Reply) -> bool {
        match command {
            Command::Submit(submit) => match reply {
                Reply::Submitted(Submitted { created: true, .. }) => true,
                _ => self.key_stands(submit, reply),
            },
            Command::Claim(claim) => match (self.world.find(claim.execution).map(|found| &found.state), reply) {
                (Some(State::Active(active)), Reply::Claimed(claimed)) => {
                    active.lease.epoch == claimed.fence.epoch && self.world.now < active.lease.expires_at
                }
                _ => false,
            },
            Command::Complete(_) | Command::Fail(_) | Command::Unclaim(_) => true,
            Command::SetLane(set) => {
                let later = self.accepted.iter().rev().filter_map(|one| match &one.command {
                    Command::SetLane(set) => Some(set.command),
                    _ => None,
                });
                let mut different: Vec<CommandId> = Vec::new();
                for command in later {
                    if !different.contains(&command) {
                        different.push(command);
                    }
                }
                different.iter().take(limits::OPERATOR_COMMANDS_KEPT).any(|command| *command == set.command)
            }
            Command::Bury(_) | Command::Forget(_) => true,
            Command::Renew(_) | Command::Due(_) | Command::Deliver(_) => false,
        }
    }

    /// Whether the submit's key still stands for what it stood for. Only time can change that.
    fn key_stands(&self, submit: &Submit, reply: &Reply) -> bool {
        let Some(key) = &submit.idempotency_key else { return false };
        match self.world.record(&Key::Idempotency(submit.namespace.clone(), key.clone())) {
            Some(Record::Idempotency(known)) => {
                let same = *reply == Reply::Submitted(Submitted { id: known.execution, created: false });
                same && known.expires_at > self.world.now && self.world.find(submit.id).is_none()
            }
            _ => false,
        }
    }

    pub(crate) fn repeat_everything(&mut self) {
        for index in 0..self.accepted.len() {
            self.repeat(index);
        }
    }
}

/// A lease may have been renewed between a claim and its repeat.
fn without_expiry(reply: Reply) -> Reply {
    match reply {
        Reply::Claimed(claimed) => Reply::Claimed(Box::new(Claimed { expires_at: onward_core::Millis(0), ..*claimed })),
        other => other,
    }
}
