//! Who uses the engine: submitters, workers, readers and operators, none of them entirely reliable.

mod calls;
mod many;
mod operator;
mod reader;
mod submitter;
mod worker;

pub(crate) use calls::Caller;
pub(crate) use operator::{Operator, open_all};
pub(crate) use reader::Reader;
pub(crate) use submitter::Submitter;
pub(crate) use worker::Worker;

use crate::dice::Dice;
use onward_core::{Payload, limits};

/// A payload that is too large to be held within a record, as JSON or as bytes.
fn large(dice: &mut Dice) -> Option<Payload> {
    let least = limits::PAYLOAD_INLINE_BYTES_MAX as u64;
    let text = String::from_utf8(vec![b'a' + dice.below(26) as u8; dice.between(least, 3_000) as usize]).ok()?;
    if dice.percent(50) { Payload::of(&text).ok() } else { Payload::bytes("text/plain", text).ok() }
}
