//! The ids under which an execution is submitted, and with them its partition.

use crate::clock::Chance;
use onward_core::{Asked, CommandId, ExecutionId, IdempotencyKey, Millis, NewExecution, PartitionId, UniqueKey};
use uuid::Uuid;

/// Draws the ids of a call and of its execution. A key or a chosen id decides the partition, so
/// that a retry meets the first submit; else `any` does.
pub(crate) fn ids(
    new: &NewExecution,
    chance: &Chance,
    now: Millis,
    partitions: u16,
    any: impl FnOnce() -> PartitionId,
) -> (CommandId, ExecutionId) {
    let uuid = new.uuid.unwrap_or_else(|| uuid_v7(now, chance.id()));
    let key = new.unique_key.as_ref().map(UniqueKey::as_str);
    let key = key.or(new.idempotency_key.as_ref().map(IdempotencyKey::as_str));
    let namespace = new.namespace.as_str().as_bytes();
    let partition = match key {
        Some(key) => PartitionId::of(&[namespace, key.as_bytes()], partitions),
        None if new.uuid.is_some() => of_chosen(uuid, partitions),
        None => any(),
    };
    let command = match new.uuid {
        // The work is part of the command id: the same chosen id for other work is a mistake and not a retry.
        Some(chosen) => Asked::of(new).command([namespace, chosen.as_bytes()]),
        None => new.call.unwrap_or_else(|| CommandId(chance.id())),
    };
    (command, ExecutionId::new(uuid, partition))
}

/// Makes an id for [`NewExecution::uuid`]: it starts with the time, and ids of one moment and one turn go to the same
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
        let new = NewExecution {
            uuid: Some(chosen),
            ..NewExecution::new("k".parse().unwrap(), onward_core::Payload::null())
        };
        let draw = |new: &NewExecution| ids(new, &chance, Millis(1), 64, || unreachable!());
        assert_eq!(draw(&new), draw(&new));
        assert_eq!(draw(&new).1.uuid(), chosen);
        let elsewhere = NewExecution { namespace: "other".parse().unwrap(), ..new.clone() };
        assert_ne!(draw(&new).0, draw(&elsewhere).0, "a submit of another namespace is no repeat");
        let other = NewExecution { kind: "other".parse().unwrap(), ..new.clone() };
        assert_ne!(draw(&new).0, draw(&other).0, "something else is no repeat");
        let keyed = NewExecution { idempotency_key: Some("order".parse().unwrap()), ..new };
        let expected = PartitionId::of(&[b"default", b"order"], 64);
        assert_eq!(draw(&keyed).1.partition(), expected, "a key decides before the id");
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
