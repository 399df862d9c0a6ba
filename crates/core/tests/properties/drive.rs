//! Makes moves in a world, and checks after each what must hold.

use crate::checks;
use crate::history::History;
use crate::moves::{Move, New, PARTITIONS, SLOTS, Sent, Verb, Which};
use crate::reached::Seen;
use crate::repeats::Accepted;
use crate::world::make::{self, HOME, class, id, namespace};
use crate::world::vector::{legal, vector_of};
use crate::world::{Done, World};
use onward_core::record::{ErrandKind, PublicState, Record, WaitAddress, WaitId, WaitRef};
use onward_core::{
    Act, Arrival, Bury, Claim, Claimed, Class, Command, CommandId, Deliver, Due, ExecutionId, Fence, Forget, Key,
    LaneChange, LeaseId, Looked, NewExecution, NewSignal, Operate, PartitionId, Proof, Reply, SetLane, Signal, Span,
    Submit, act, codec, end, index, limits,
};
use std::collections::BTreeMap;

/// A world, what was done in it, and what was seen.
pub(crate) struct Driver {
    pub(crate) world: World,
    pub(crate) history: History,
    pub(crate) accepted: Vec<Accepted>,
    delivered: Vec<(PartitionId, Command)>,
    /// The execution in each slot; one that was purged makes room for another.
    slots: [ExecutionId; SLOTS],
    fences: BTreeMap<usize, Vec<Fence>>,
    /// Every call, lease and execution gets a number of its own.
    next: u128,
    pub(crate) seen: Seen,
}

impl Driver {
    pub(crate) fn new() -> Self {
        Self {
            world: World::new(PARTITIONS),
            history: History::default(),
            accepted: Vec::new(),
            delivered: Vec::new(),
            slots: std::array::from_fn(|slot| id(slot as u128)),
            fences: BTreeMap::new(),
            next: 1_000,
            seen: Seen::new(),
        }
    }

    fn number(&mut self) -> u128 {
        self.next += 1;
        self.next
    }

    pub(crate) fn see(&mut self, what: &'static str, name: &'static str) {
        *self.seen.entry((what, name)).or_default() += 1;
    }

    pub(crate) fn make(&mut self, one: &Move) {
        match one {
            Move::Pass(span) => self.world.pass(*span),
            Move::Back(span) => self.world.now = self.world.now - *span,
            Move::Redeliver(index) if !self.delivered.is_empty() => {
                let (to, command) = index.get(&self.delivered).clone();
                let done = self.run(to, &command);
                assert_eq!(done.result, Ok(Reply::Deliver(0)));
                assert!(done.step.writes.is_empty(), "a redelivery wrote");
            }
            Move::Repeat(index) if !self.accepted.is_empty() => {
                let index = index.index(self.accepted.len());
                if !self.repeat(index) {
                    self.run_again(index);
                }
            }
            Move::Redeliver(_) | Move::Repeat(_) => {}
            Move::Deliver { from, to } => self.deliver(PartitionId(*from), PartitionId(*to)),
            Move::Bury { to } => self.bury(PartitionId(*to)),
            Move::WaitUntilDue { slot } => self.wait_until_due(self.slots[*slot]),
            Move::Wear { slot, purge } => self.wear(self.slots[*slot], *purge),
            other => {
                if let Some(command) = self.command(other) {
                    self.run(HOME, &command);
                }
            }
        }
    }

    /// Runs a call again that may do its work again. Nobody repeats a submit once nothing of what it made is left: that
    /// is longer than callers repeat themselves.
    fn run_again(&mut self, index: usize) {
        let Accepted { partition, command, .. } = &self.accepted[index];
        let purged = matches!(command, Command::Submit(submit) if self.is_gone(submit.id));
        if !purged {
            self.run(*partition, &command.clone());
        }
    }

    fn is_gone(&self, id: ExecutionId) -> bool {
        self.history.stories.contains_key(&id) && self.world.find(id).is_none()
    }

    fn command(&mut self, one: &Move) -> Option<Command> {
        match one {
            Move::Submit(new) => Some(Command::Submit(self.submit(new))),
            Move::Claim { slot, gpu, ttl } => {
                let capabilities = if *gpu { class(&["gpu"]) } else { Class::default() };
                let claim = make::claim(self.slots[*slot], self.number());
                Some(Command::Claim(Claim { capabilities, ttl: *ttl, ..claim }))
            }
            Move::Hold { slot, which, verb } => {
                let fence = self.fence(*slot, *which)?;
                let command = CommandId(self.number());
                Some(match verb.clone() {
                    Verb::Renew(ttl) => make::renew(fence, ttl),
                    Verb::Progress(percent, message) => make::progress(fence, percent, message.as_deref()),
                    Verb::Complete(result) => make::report(command.0, fence, end::Complete { result }),
                    Verb::Fail(category) => make::fail_as(command.0, fence, category),
                    Verb::Unclaim => make::unclaim(command.0, fence),
                    Verb::Delay(when) => make::delay(command.0, fence, when),
                    Verb::Cancel => make::cancel(command.0, fence),
                    Verb::Suspend(new) => make::suspend(command.0, fence, *new),
                })
            }
            Move::Operate { slot, elsewhere, act } => {
                let namespace = if *elsewhere { "elsewhere".parse().unwrap() } else { namespace() };
                let command = CommandId(self.number());
                let (execution, act) = (self.slots[*slot], act.clone());
                Some(Command::Operate(Operate { command, namespace, execution, by: None, act }))
            }
            Move::Signal(sent) => Some(self.signal(sent).into()),
            Move::Due { slot } => Some(make::due(self.slots[*slot])),
            Move::DueKey { key } => {
                let key = Key::Idempotency(namespace(), format!("key-{key}").parse().unwrap());
                Some(Command::Due(Due { key }))
            }
            Move::SetLane(state, defaults) => Some(Command::SetLane(SetLane {
                command: CommandId(self.number()),
                namespace: namespace(),
                lane: make::lane(),
                by: None,
                change: LaneChange { state: Some(*state), defaults: defaults.clone() },
            })),
            Move::IssueKey { key } => Some(make::issue_key(self.number(), u128::from(*key))),
            Move::RevokeKey { key } => Some(make::revoke_key(u128::from(*key))),
            Move::RotateTokenKeys { grace } => Some(make::rotate_token_keys_within(self.number(), *grace)),
            _ => None,
        }
    }

    /// A submit into a slot. An id is used once: what was purged leaves its slot to another execution.
    fn submit(&mut self, new: &New) -> Submit {
        if self.is_gone(self.slots[new.slot]) {
            self.slots[new.slot] = id(self.number());
        }
        let mut work = NewExecution {
            idempotency_key: new.key.map(|key| format!("key-{key}").parse().unwrap()),
            unique_key: new.unique.map(|key| format!("unique-{key}").parse().unwrap()),
            priority: new.priority,
            policy: new.policy.clone(),
            requires: if new.gpu { class(&["gpu"]) } else { Class::default() },
            signal: new.signal.as_ref().map(|wait| Box::new(NewSignal::new(wait.parse::<WaitAddress>().unwrap()))),
            ..NewExecution::new("work".parse().unwrap(), new.input.clone())
        };
        work.set_when(new.when);
        work.set_deadline(new.deadline);
        let arrived = Arrival::at(self.world.now, new.slot as u8);
        Submit { command: CommandId(self.number()), id: self.slots[new.slot], arrived, new: Box::new(work) }
    }

    fn signal(&mut self, sent: &Sent) -> Signal {
        let execution = self.slots[sent.slot];
        let mut signal = make::signal(self.number(), execution, &sent.wait);
        if sent.elsewhere {
            signal.namespace = "elsewhere".parse().unwrap();
        }
        signal.by = sent.actor.map(|n| format!("person-{n}").parse().unwrap());
        signal.signal.name = sent.name.map(|n| format!("name-{n}").parse().unwrap());
        signal.signal.idempotency_key = sent.key.map(|n| format!("key-{n}").parse().unwrap());
        signal.signal.set_payload(sent.payload.clone());
        if let (true, Some(actor)) = (sent.token, signal.by.clone()) {
            let life = self.world.find(execution).map_or(0, |found| found.life);
            let wait =
                WaitId { life, wait: WaitRef::new(signal.signal.wait.name.clone(), signal.signal.wait.n.unwrap_or(1)) };
            let not_after = self.world.now + Span::seconds(20);
            signal.proof = Some(Proof { wait, actor, names: Vec::new(), not_after, minted_by: None });
        }
        signal
    }

    fn fence(&self, slot: usize, which: Which) -> Option<Fence> {
        let fences = self.fences.get(&slot)?;
        let newest = *fences.last()?;
        Some(match which {
            Which::Newest => newest,
            Which::Older(n) => fences[n % fences.len()],
            Which::WrongLease => Fence { lease: LeaseId(1), ..newest },
            Which::WrongEpoch => Fence { epoch: newest.epoch + 1, ..newest },
        })
    }

    /// Lets time pass until an execution is due and looks until nothing of it is. What passed comes first by time.
    fn wait_until_due(&mut self, id: ExecutionId) {
        let Some(at) = self.world.find(id).and_then(|execution| execution.due()) else { return };
        self.world.now = self.world.now.max(at);
        for looks in 0.. {
            self.run_errand(id);
            if self.world.find(id).is_none() {
                return;
            }
            let done = self.run(HOME, &make::due(id));
            let Ok(Reply::Due(Looked { acted, next })) = done.result else { panic!("{:?}", done.result) };
            assert!(acted || looks > 0, "it was due");
            let Some(execution) = self.world.find(id) else { break };
            assert_eq!(next, execution.due(), "the answer names the next due time");
            if next.is_none_or(|next| next > self.world.now) {
                let again = self.run(HOME, &make::due(id));
                assert!(again.step.writes.is_empty(), "looking twice at one time changed something");
                break;
            }
            assert!(looks < 8, "it is due for ever");
        }
    }

    /// Makes many attempts, so that older ones and history take many records and a purge more than one piece.
    fn wear(&mut self, id: ExecutionId, purge: bool) {
        for _ in 0..=limits::PURGE_PIECE {
            let ready = self.world.find(id).is_some_and(|found| found.public_state() == PublicState::Waiting);
            if !ready {
                return;
            }
            let claim = Claim { capabilities: class(&["gpu"]), ..make::claim(id, self.number()) };
            let Ok(Reply::Claim(claimed)) = self.run(HOME, &Command::Claim(claim)).result else { return };
            let back = make::unclaim(self.number(), claimed.fence);
            self.run(HOME, &back);
        }
        if purge {
            for act in [make::end(), Act::Purge(act::Purge {})] {
                let operate = make::operate(self.number(), id, act);
                self.run(HOME, &operate);
            }
            self.run_errand(id);
        }
    }

    /// Does the next piece of what a purge left over, once its time has come.
    fn run_errand(&mut self, id: ExecutionId) {
        let key = Key::Errand(id, ErrandKind::Purge);
        let Some(at) = self.world.record(&key).and_then(index::due) else { return };
        self.world.now = self.world.now.max(at);
        self.run(HOME, &Command::Due(Due { key }));
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
    pub(crate) fn run(&mut self, partition: PartitionId, command: &Command) -> Done {
        let before = self.world.clone();
        let done = self.world.run(partition, command);
        match &done.result {
            Err(rejection) => self.see("refused", rejection.code()),
            Ok(reply) => {
                self.see("accepted", command.name());
                if let Reply::Claim(claimed) = reply {
                    self.remember(claimed);
                }
                let wrote = !done.step.writes.is_empty();
                let (command, reply) = (command.clone(), reply.clone());
                self.accepted.push(Accepted { partition, command, reply, wrote });
            }
        }
        for event in &done.events {
            self.see("told", event.what.name());
        }
        self.history.note(&before, &self.world, command, &done);
        let change =
            checks::Change { before: &before, after: &self.world, command, done: &done, history: &self.history };
        for (_, check) in checks::CHECKS {
            check(&change);
        }
        self.look();
        done
    }

    /// Notes which states the executions are in.
    fn look(&mut self) {
        for id in self.slots {
            let Some(execution) = self.world.find(id) else { continue };
            let name = legal(&vector_of(execution, self.world.now)).unwrap_or("unlisted");
            let (purging, paged) = (execution.is_purging(), execution.pages > 0);
            self.see("state", name);
            if purging {
                self.see("state", "purging");
            }
            if paged {
                self.see("state", "history in pages");
            }
        }
    }

    fn remember(&mut self, claimed: &Claimed) {
        let Some(slot) = self.slots.iter().position(|id| *id == claimed.fence.execution) else { return };
        let fences = self.fences.entry(slot).or_default();
        if !fences.contains(&claimed.fence) {
            fences.push(claimed.fence);
        }
    }
}
