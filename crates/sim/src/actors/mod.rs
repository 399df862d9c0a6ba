//! Who uses the engine: submitters, workers, waiters, readers, operators and stewards, none of them entirely reliable.

mod calls;
mod calm_races;
mod crowd;
mod keeper;
mod many;
mod operator;
mod reader;
mod signaller;
mod steward;
mod submitter;
mod suspender;
mod verbs;
mod waiter;
mod worker;

pub(crate) use calls::Caller;
pub(crate) use calm_races::CalmRacer;
pub(crate) use crowd::Crowd;
pub(crate) use keeper::Keeper;
pub(crate) use operator::{Operator, open_all};
pub(crate) use reader::Reader;
pub(crate) use signaller::Signaller;
pub(crate) use steward::Steward;
pub(crate) use submitter::Submitter;
pub(crate) use waiter::{WAITERS, Waiter};
pub(crate) use worker::Worker;

use crate::dice::Dice;
use onward_core::record::{WaitAddress, WaitRef};
use onward_core::{IdempotencyKey, Kind, Name, NewSignal, Payload, SignalName, WaitName, limits};

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

/// The names of waits, and those of signals.
const WAITS: [&str; 3] = ["approval", "payment", "review"];
const SIGNALS: [&str; 3] = ["yes", "no", "later"];
/// Keys under which callbacks are repeated.
const CALLBACKS: u64 = 6;

fn wait_name(dice: &mut Dice) -> Option<WaitName> {
    dice.pick(&WAITS)?.parse().ok()
}

fn signal_name(dice: &mut Dice) -> Option<SignalName> {
    dice.pick(&SIGNALS)?.parse().ok()
}

/// A wait: mostly the first one for its name.
fn any_wait(dice: &mut Dice) -> WaitRef {
    let name = wait_name(dice).unwrap_or_else(|| WaitName::parse("approval").expect("it is a name"));
    let n = match dice.below(10) {
        0..=6 => 1,
        7..=8 => 2,
        _ => 3,
    };
    WaitRef::new(name, n)
}

/// A signal: for a wait or only for its name, mostly without a key, and now and then with a large payload.
fn new_signal(dice: &mut Dice, wait: Option<WaitRef>) -> NewSignal {
    let known = wait.is_some();
    let WaitRef { name, n } = wait.unwrap_or_else(|| any_wait(dice));
    let n = match dice.below(10) {
        0..=5 => None,
        6..=8 if known => Some(n),
        6 => Some(n),
        7..=8 => None,
        _ => Some(dice.between(1, 3) as u32),
    };
    let mut signal = NewSignal::new(WaitAddress { name, n });
    signal.name = if dice.percent(70) { signal_name(dice) } else { None };
    if dice.percent(30) {
        signal.idempotency_key = IdempotencyKey::parse(&format!("callback/{}", dice.below(CALLBACKS))).ok();
    }
    let payload = match dice.below(10) {
        0..=1 => None,
        2 => large(dice),
        3 => Payload::bytes("text/plain", vec![b'y'; dice.between(1, 90) as usize]).ok(),
        _ => Payload::of(&dice.below(1_000)).ok(),
    };
    if let Some(payload) = payload {
        signal.set_payload(payload);
    }
    signal
}
