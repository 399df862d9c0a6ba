//! Who uses the engine: submitters, workers, waiters, readers, operators and stewards, none of them entirely reliable.

mod calls;
mod calm_races;
mod crowd;
mod many;
mod operator;
mod reader;
mod steward;
mod submitter;
mod verbs;
mod waiter;
mod worker;

pub(crate) use calls::Caller;
pub(crate) use calm_races::CalmRacer;
pub(crate) use crowd::Crowd;
pub(crate) use operator::{Operator, open_all};
pub(crate) use reader::Reader;
pub(crate) use steward::Steward;
pub(crate) use submitter::Submitter;
pub(crate) use waiter::{WAITERS, Waiter};
pub(crate) use worker::Worker;

use crate::dice::Dice;
use onward_core::{Kind, Payload, limits};

/// The kind of work that nobody keeps.
fn boomerang() -> Option<Kind> {
    "boomerang".parse().ok()
}

/// A payload that is too large to be held within a record, as JSON or as bytes.
fn large(dice: &mut Dice) -> Option<Payload> {
    let least = limits::PAYLOAD_INLINE_BYTES_MAX as u64;
    let text = String::from_utf8(vec![b'a' + dice.below(26) as u8; dice.between(least, 3_000) as usize]).ok()?;
    if dice.percent(50) { Payload::of(&text).ok() } else { Payload::bytes("text/plain", text).ok() }
}
