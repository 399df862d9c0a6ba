//! Which primary of a cluster has which slots.

use super::address::Host;
use super::keys::SLOTS;
use crate::{Error, ErrorKind, Result};
use redis::Value;

/// The host of each slot, from the answer to `CLUSTER SLOTS` that `asked` gave.
pub(super) fn parse(answers: Vec<Value>, asked: &Host) -> Result<Vec<Host>> {
    let mut slots: Vec<Option<Host>> = vec![None; usize::from(SLOTS)];
    let Some(Value::Array(ranges)) = answers.into_iter().next() else { return Err(incomplete(0)) };
    for range in ranges {
        let Value::Array(parts) = range else { continue };
        let [Value::Int(first), Value::Int(last), Value::Array(primary), ..] = parts.as_slice() else { continue };
        let [name, Value::Int(port), ..] = primary.as_slice() else { continue };
        // A server that does not know its own name leaves it out: the one that was asked can be reached.
        let name = match name {
            Value::BulkString(name) if !name.is_empty() && name != b"?" => String::from_utf8_lossy(name).into_owned(),
            Value::SimpleString(name) if !name.is_empty() => name.clone(),
            _ => asked.0.clone(),
        };
        let host = (name, u16::try_from(*port).unwrap_or(asked.1));
        // However far a range reaches, no more than the slots are walked through.
        let (first, last) = ((*first).max(0), (*last).min(i64::from(SLOTS) - 1));
        for slot in first..=last {
            if let Some(slot) = usize::try_from(slot).ok().and_then(|slot| slots.get_mut(slot)) {
                *slot = Some(host.clone());
            }
        }
    }
    let known: Vec<Host> = slots.into_iter().flatten().collect();
    if known.len() == usize::from(SLOTS) { Ok(known) } else { Err(incomplete(known.len())) }
}

/// The refusal of a cluster in which some keys have no home.
pub(super) fn incomplete(known: usize) -> Error {
    let message = format!(
        "the cluster serves {known} of its {SLOTS} slots: bring its primaries back or repair it with `valkey-cli --cluster fix`"
    );
    Error::new(ErrorKind::Unavailable, message).unwritten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(first: i64, last: i64, name: &str, port: i64) -> Value {
        let primary = Value::Array(vec![Value::BulkString(name.into()), Value::Int(port)]);
        Value::Array(vec![Value::Int(first), Value::Int(last), primary])
    }

    #[test]
    fn ranges_become_hosts_and_holes_are_refused() {
        let asked = ("asked".to_owned(), 1);
        let whole = Value::Array(vec![range(0, 8191, "", 7), range(8192, 16_383, "b", 8)]);
        let slots = parse(vec![whole], &asked).unwrap();
        assert_eq!((&slots[8191], &slots[8192]), (&("asked".to_owned(), 7), &("b".to_owned(), 8)));
        let endless = Value::Array(vec![range(i64::MIN, i64::MAX, "a", 7)]);
        assert_eq!(parse(vec![endless], &asked).unwrap().len(), usize::from(SLOTS));
        let holes = Value::Array(vec![range(0, 8191, "a", 7)]);
        let error = parse(vec![holes], &asked).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert!(error.to_string().contains("8192 of its 16384"), "{error}");
    }
}
