//! The keys that sign tokens: which one signs, how long the others are good, and what a repeat does.

use crate::record::TokenKeys;
use crate::rules::world::World;
use crate::rules::world::make::{rotate_token_keys, rotate_token_keys_within};
use crate::{Command, CommandId, Fingerprint, Rejection, Reply, RotateTokenKeys, Span, TokenKeyId, limits};

fn rotated(world: &mut World, number: u128, grace: Option<Span>) -> Result<TokenKeys, Rejection> {
    match world.home(&rotate_token_keys_within(number, grace)).result? {
        Reply::RotateTokenKeys(keys) => Ok(*keys),
        other => panic!("{other:?}"),
    }
}

fn ids(keys: &TokenKeys) -> Vec<u128> {
    keys.keys.iter().map(|key| key.id.0).collect()
}

#[test]
fn the_first_key_signs_at_once_and_a_new_one_when_every_process_has_it() {
    let mut world = World::new(4);
    let keys = rotated(&mut world, 1, None).unwrap();
    assert_eq!(keys.signs(world.now).map(|key| key.id), Some(TokenKeyId(1)));
    let keys = rotated(&mut world, 2, Some(Span::days(1))).unwrap();
    let settled = world.now + limits::TOKEN_KEY_SETTLE;
    assert_eq!(keys.signs(world.now).map(|key| key.id), Some(TokenKeyId(1)));
    assert_eq!(keys.signs(settled).map(|key| key.id), Some(TokenKeyId(2)));
}

#[test]
fn keys_before_the_newest_are_good_until_their_own_end() {
    let mut world = World::new(4);
    let day = Span::days(1);
    for (number, pause) in [(1, 0), (2, 1), (3, 1)] {
        world.now = world.now + Span::hours(pause);
        rotated(&mut world, number, Some(day)).unwrap();
    }
    let keys = rotated(&mut world, 4, Some(day)).unwrap();
    assert_eq!(ids(&keys), [1, 2, 3, 4]);
    let ends: Vec<_> = keys.keys.iter().map(|key| key.expires_at.map(|end| end - world.now)).collect();
    assert_eq!(ends, [Some(Span::hours(23)), Some(day), Some(day), None], "none is cut short by a later rotation");
    world.now = world.now + Span::hours(23) + Span(1);
    assert!(!keys.keys[0].is_good(world.now) && keys.keys[1].is_good(world.now));
    assert_eq!(ids(&rotated(&mut world, 5, Some(day)).unwrap()), [2, 3, 4, 5], "what has expired is removed");
}

#[test]
fn a_rotation_without_grace_ends_every_older_key_at_once() {
    let mut world = World::new(4);
    rotated(&mut world, 1, Some(Span::days(1))).unwrap();
    rotated(&mut world, 2, Some(Span::days(1))).unwrap();
    let keys = rotated(&mut world, 3, Some(Span(0))).unwrap();
    assert!(keys.keys[..2].iter().all(|key| !key.is_good(world.now)));
    assert_eq!(keys.signs(world.now).map(|key| key.id), Some(TokenKeyId(3)), "there is always one that signs");
}

#[test]
fn a_repeat_changes_nothing_and_a_first_key_is_made_once() {
    let mut world = World::new(4);
    let first = rotated(&mut world, 1, None).unwrap();
    assert_eq!(rotated(&mut world, 2, None).unwrap(), first, "there is one already");
    let second = rotated(&mut world, 3, Some(Span::days(1))).unwrap();
    let again = world.home(&rotate_token_keys(3, 9));
    assert!(again.step.writes.is_empty(), "the same call again");
    assert_eq!(again.result.unwrap(), Reply::RotateTokenKeys(Box::new(second)));
    assert_eq!(world.events.len(), 2);
}

#[test]
fn keys_are_bounded() {
    let mut world = World::new(4);
    for number in 1..=limits::TOKEN_KEYS_MAX as u128 {
        rotated(&mut world, number, Some(Span::days(1))).unwrap();
    }
    assert_eq!(rotated(&mut world, 99, Some(Span::days(1))).unwrap_err().code(), "token_keys_exhausted");
    assert_eq!(rotated(&mut world, 99, Some(Span::days(100_000))).unwrap_err().code(), "invalid_argument");
    let mut emergency = world.clone();
    let keys = rotated(&mut emergency, 99, Some(Span(0))).unwrap();
    let good = keys.keys.iter().filter(|key| key.is_good(emergency.now)).count();
    assert_eq!(good, 1, "all can be ended at any time");
    world.now = world.now + Span::days(1) + Span(1);
    assert_eq!(rotated(&mut world, 99, Some(Span::days(1))).unwrap().keys.len(), 2);
}

#[test]
fn a_process_without_the_secret_unbinds_no_keys() {
    let mut world = World::new(4);
    let Command::RotateTokenKeys(rotate) = rotate_token_keys(1, 1) else { unreachable!() };
    let bound = RotateTokenKeys { root: Some(Fingerprint(7)), ..rotate.clone() };
    world.accept(&bound.clone().into());
    let without = RotateTokenKeys { command: CommandId(2), grace: Some(Span(0)), ..rotate };
    assert_eq!(world.refuse(&without.into()).code(), "token_secret_missing");
    let with_another = RotateTokenKeys { command: CommandId(3), root: Some(Fingerprint(8)), ..bound };
    world.accept(&with_another.into());
}
