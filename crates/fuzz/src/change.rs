//! Inputs close to valid ones: valid ones with something deleted, inserted, replaced, repeated or cut off.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use std::fmt::Debug;

/// Characters that mean something to some parser, or to none.
const SIGNS: &str = "09afAx+-.,;:/\\|@%?&=#_*\"'[]{} \t\n\r\0\u{7f}\u{85}\u{e9}\u{2028}\u{fffd}\u{1f600}";
/// The longest input that has nothing to do with a valid one.
const LENGTH_MAX: usize = 80;
/// The most changes of one input.
const CHANGES_MAX: usize = 3;

/// One change of a list of characters or bytes.
#[derive(Debug, Clone)]
enum Change<T> {
    Delete(Index),
    Insert(Index, T),
    Replace(Index, T),
    /// Puts a copy of a part somewhere else.
    Repeat(Index, Index, usize),
    /// Leaves the first part only.
    Truncate(Index),
    /// Leaves the last part only.
    Behead(Index),
}

impl<T: Clone> Change<T> {
    fn make(self, list: &mut Vec<T>) {
        match self {
            Self::Insert(at, item) => list.insert(at.index(list.len() + 1), item),
            Self::Truncate(at) => list.truncate(at.index(list.len() + 1)),
            _ if list.is_empty() => {}
            Self::Delete(at) => drop(list.remove(at.index(list.len()))),
            Self::Replace(at, item) => {
                let at = at.index(list.len());
                list[at] = item;
            }
            Self::Repeat(from, to, length) => {
                let from = from.index(list.len());
                let part = list[from..(from + length).min(list.len())].to_vec();
                let to = to.index(list.len() + 1);
                list.splice(to..to, part);
            }
            Self::Behead(at) => drop(list.drain(..at.index(list.len()))),
        }
    }
}

fn change<T: Clone + Debug>(item: impl Strategy<Value = T> + Clone) -> impl Strategy<Value = Change<T>> {
    prop_oneof![
        3 => any::<Index>().prop_map(Change::Delete),
        4 => (any::<Index>(), item.clone()).prop_map(|(at, item)| Change::Insert(at, item)),
        4 => (any::<Index>(), item).prop_map(|(at, item)| Change::Replace(at, item)),
        2 => (any::<Index>(), any::<Index>(), 1_usize..40).prop_map(|(from, to, length)| Change::Repeat(from, to, length)),
        1 => any::<Index>().prop_map(Change::Truncate),
        1 => any::<Index>().prop_map(Change::Behead),
    ]
}

fn character() -> impl Strategy<Value = char> + Clone {
    prop_oneof![3 => select(SIGNS.chars().collect::<Vec<_>>()), 1 => any::<char>()]
}

/// Any text at all.
pub fn anything() -> impl Strategy<Value = String> + Clone {
    vec(character(), 0..LENGTH_MAX).prop_map(|characters| characters.into_iter().collect())
}

/// Valid texts, texts close to them, and some that are far from all.
pub fn near(valid: impl Strategy<Value = String> + Clone) -> impl Strategy<Value = String> + Clone {
    let changed = (valid.clone(), vec(change(character()), 1..=CHANGES_MAX)).prop_map(|(text, changes)| {
        let mut characters: Vec<char> = text.chars().collect();
        changes.into_iter().for_each(|change| change.make(&mut characters));
        characters.into_iter().collect()
    });
    prop_oneof![2 => valid, 6 => changed, 1 => anything()]
}

/// Valid bytes, bytes close to them, and some that are far from all.
pub fn near_bytes(valid: impl Strategy<Value = Vec<u8>> + Clone) -> impl Strategy<Value = Vec<u8>> + Clone {
    let changed = (valid.clone(), vec(change(any::<u8>()), 1..=CHANGES_MAX)).prop_map(|(mut bytes, changes)| {
        changes.into_iter().for_each(|change| change.make(&mut bytes));
        bytes
    });
    prop_oneof![2 => valid, 6 => changed, 1 => vec(any::<u8>(), 0..LENGTH_MAX)]
}
