//! What a caller submits, and the ids under which it does.

use crate::clock::Chance;
use onward_core::{
    Class, Command, CommandId, ExecutionId, IdempotencyKey, Kind, Lane, Millis, Namespace, PartitionId, Payload,
    Policy, Share, Submit, TagKey, TagValue, UniqueKey, When,
};
use std::collections::BTreeMap;
use uuid::Uuid;

/// What to run.
#[derive(Debug, Clone)]
pub struct NewExecution {
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
    /// What to do when it fails, and so on.
    pub policy: Policy,
    /// Makes a second submit with the same key return the first execution.
    pub idempotency_key: Option<IdempotencyKey>,
    /// Makes a second submit with the same key return the first execution until that one ends.
    pub unique_key: Option<UniqueKey>,
    /// When it expires, wherever it stands then.
    pub deadline: Option<When>,
}

impl NewExecution {
    /// Work for a handler, in the default namespace and lane, at once.
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
        }))
    }
}

/// The ids of one submit. A caller that repeats a submit after an unknown outcome repeats them too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubmitIds {
    /// The call.
    pub command: CommandId,
    /// The execution.
    pub execution: ExecutionId,
}

impl SubmitIds {
    /// Draws ids. The partition follows from the key, so that a repeat meets the first submit; without one it may be any.
    pub(crate) fn draw(
        new: &NewExecution,
        chance: &Chance,
        now: Millis,
        partitions: u16,
        any: impl FnOnce() -> PartitionId,
    ) -> Self {
        let uuid = uuid_v7(now, chance.id());
        let key = new.unique_key.as_ref().map(UniqueKey::as_str);
        let key = key.or(new.idempotency_key.as_ref().map(IdempotencyKey::as_str));
        let partition = match key {
            Some(key) => PartitionId::of(&[new.namespace.as_str().as_bytes(), key.as_bytes()], partitions),
            None => any(),
        };
        Self { command: CommandId(chance.id()), execution: ExecutionId::new(uuid, partition) }
    }
}

/// A version 7 uuid: 48 bits of time, then chance.
fn uuid_v7(now: Millis, chance: u128) -> Uuid {
    let time = u128::from(now.0 & 0xffff_ffff_ffff) << 80;
    let random = chance & 0x0fff_3fff_ffff_ffff_ffff;
    Uuid::from_u128(time | 0x7000_8000_0000_0000_0000 | random)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_start_with_the_time_and_are_of_version_seven() {
        let uuid = uuid_v7(Millis(0x0192_f0c8_aabb), u128::MAX);
        assert_eq!(uuid.to_string(), "0192f0c8-aabb-7fff-bfff-ffffffffffff");
        assert_eq!((uuid.get_version_num(), uuid.get_variant()), (7, uuid::Variant::RFC4122));
    }
}
