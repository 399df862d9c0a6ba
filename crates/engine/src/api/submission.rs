//! Submissions: a new execution, and the ids under which it is submitted.

use crate::clock::Chance;
use onward_core::{
    Class, Command, CommandId, ExecutionId, IdempotencyKey, Kind, Lane, Millis, Namespace, PartitionId, Payload,
    Policy, Share, Submit, TagKey, TagValue, TraceContext, UniqueKey, When,
};
use std::collections::BTreeMap;
use uuid::Uuid;

/// An execution to submit.
#[derive(Debug, Clone)]
pub struct NewExecution {
    /// Namespace that it belongs to.
    pub namespace: Namespace,
    /// Lane that it queues in.
    pub lane: Lane,
    /// Kind of work, which selects the handler.
    pub kind: Kind,
    /// Input of the handler.
    pub input: Payload,
    /// Higher runs first; 0 to 9,000.
    pub priority: u16,
    /// Earliest time at which it may run.
    pub when: When,
    /// Labels by which it can be found.
    pub tags: BTreeMap<TagKey, TagValue>,
    /// Capabilities that a worker needs to claim it.
    pub requires: Class,
    /// Retries, timeout and retention.
    pub policy: Policy,
    /// Makes a second submit with the same key return the first execution.
    pub idempotency_key: Option<IdempotencyKey>,
    /// Makes a second submit with the same key return the first execution until that one ends.
    pub unique_key: Option<UniqueKey>,
    /// When it expires, unless it has ended by then.
    pub deadline: Option<When>,
    /// Trace context of the submitter.
    pub trace: Option<TraceContext>,
    /// The unique part of its id, a version 7 UUID chosen by its submitter, so that a retry of the submit finds the
    /// first one.
    pub chosen: Option<Uuid>,
}

impl NewExecution {
    /// Creates an execution in the default namespace and lane that may run at once.
    #[must_use]
    pub fn new(kind: Kind, input: Payload) -> Self {
        Self {
            namespace: Namespace::default(),
            lane: Lane::default(),
            kind,
            input,
            priority: 0,
            when: When::Now,
            tags: BTreeMap::new(),
            requires: Class::default(),
            policy: Policy::default(),
            idempotency_key: None,
            unique_key: None,
            deadline: None,
            trace: None,
            chosen: None,
        }
    }

    /// The command that submits it.
    pub(crate) fn submit(self, ids: SubmitIds) -> Command {
        Command::Submit(Box::new(Submit {
            command: ids.command,
            id: ids.execution,
            namespace: self.namespace,
            lane: self.lane,
            kind: self.kind,
            input: self.input,
            priority: self.priority,
            when: self.when,
            tags: self.tags,
            requires: self.requires,
            share: Share::default(),
            policy: self.policy,
            idempotency_key: self.idempotency_key,
            unique_key: self.unique_key,
            deadline: self.deadline,
            trace: self.trace,
        }))
    }
}

/// The ids of one submit. A retry after an unknown outcome carries the same ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubmitIds {
    /// Id of the call.
    pub command: CommandId,
    /// Id of the execution, which contains its partition.
    pub execution: ExecutionId,
}

impl SubmitIds {
    /// Draws ids. A key or a chosen id decides the partition, so that a retry meets the first submit; else `any` does.
    pub(crate) fn draw(
        new: &NewExecution,
        chance: &Chance,
        now: Millis,
        partitions: u16,
        any: impl FnOnce() -> PartitionId,
    ) -> Self {
        let uuid = new.chosen.unwrap_or_else(|| uuid_v7(now, chance.id()));
        let key = new.unique_key.as_ref().map(UniqueKey::as_str);
        let key = key.or(new.idempotency_key.as_ref().map(IdempotencyKey::as_str));
        let namespace = new.namespace.as_str().as_bytes();
        let partition = match key {
            Some(key) => PartitionId::of(&[namespace, key.as_bytes()], partitions),
            None if new.chosen.is_some() => of_chosen(uuid, partitions),
            None => any(),
        };
        let command = match new.chosen {
            // The work is part of the command id: the same chosen id for other work is a mistake and not a retry.
            Some(chosen) => CommandId::of(&[
                namespace,
                chosen.as_bytes(),
                new.lane.as_str().as_bytes(),
                new.kind.as_str().as_bytes(),
                new.input.content_type().as_bytes(),
                new.input.as_bytes(),
            ]),
            None => CommandId(chance.id()),
        };
        Self { command, execution: ExecutionId::new(uuid, partition) }
    }
}

/// Makes an id for [`NewExecution::chosen`]: it starts with the time, and ids of one moment and one turn go to the same
/// partition, so that they share a batch.
#[must_use]
pub fn chosen_id(now: Millis, chance: u128, turn: usize) -> Uuid {
    Uuid::from_u128(uuid_v7(now, chance).as_u128() & !ONE_OF_FEW | turn as u128 & ONE_OF_FEW)
}

/// The bits of a chosen id that select one of the few partitions of its second.
const ONE_OF_FEW: u128 = 3;

/// The partition of a chosen id: it follows from the id alone, and ids of one second share a few, so that many of them
/// share a batch.
fn of_chosen(uuid: Uuid, partitions: u16) -> PartitionId {
    let bits = uuid.as_u128();
    let (second, one_of_few) = ((bits >> 80) / 1_000, bits & ONE_OF_FEW);
    PartitionId::of(&[&second.to_le_bytes(), &one_of_few.to_le_bytes()], partitions)
}

/// A version 7 UUID: 48 bits of time, then random bits.
fn uuid_v7(now: Millis, chance: u128) -> Uuid {
    let time = u128::from(now.0 & 0xffff_ffff_ffff) << 80;
    let random = chance & 0x0fff_3fff_ffff_ffff_ffff;
    Uuid::from_u128(time | 0x7000_8000_0000_0000_0000 | random)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chosen_id_decides_where_it_goes_and_who_repeats_it() {
        let chance = Chance::seeded(1);
        let chosen = uuid_v7(Millis(0x0192_f0c8_aabb), 7);
        let new = NewExecution { chosen: Some(chosen), ..NewExecution::new("k".parse().unwrap(), Payload::null()) };
        let draw = |new: &NewExecution| SubmitIds::draw(new, &chance, Millis(1), 64, || unreachable!());
        assert_eq!(draw(&new), draw(&new));
        assert_eq!(draw(&new).execution.uuid(), chosen);
        let elsewhere = NewExecution { namespace: "other".parse().unwrap(), ..new.clone() };
        assert_ne!(draw(&new).command, draw(&elsewhere).command, "another namespace repeats nobody");
        let other = NewExecution { kind: "other".parse().unwrap(), ..new.clone() };
        assert_ne!(draw(&new).command, draw(&other).command, "something else is no repeat");
        let keyed = NewExecution { idempotency_key: Some("order".parse().unwrap()), ..new };
        let expected = PartitionId::of(&[b"default", b"order"], 64);
        assert_eq!(draw(&keyed).execution.partition(), expected, "a key decides before the id");
    }

    #[test]
    fn chosen_ids_of_one_turn_share_a_partition() {
        let chance = Chance::seeded(1);
        let partition = |turn| of_chosen(chosen_id(Millis(1_700_000_000_000), chance.id(), turn), 64);
        assert!((0..50).all(|_| partition(6) == partition(2)), "there are four turns");
        assert!((1..4).any(|turn| partition(turn) != partition(0)));
    }

    #[test]
    fn ids_start_with_the_time_and_are_of_version_seven() {
        let uuid = uuid_v7(Millis(0x0192_f0c8_aabb), u128::MAX);
        assert_eq!(uuid.to_string(), "0192f0c8-aabb-7fff-bfff-ffffffffffff");
        assert_eq!((uuid.get_version_num(), uuid.get_variant()), (7, uuid::Variant::RFC4122));
    }
}
