//! How batches become the arguments of one call of the commit script, and its answer their outcomes.

use super::keys::{Keys, Tag};
use super::script::Call;
use super::value::{halves, pack, place_start, unpack};
use super::{ValkeyState, fault};
use crate::check::{self, Plan};
use crate::cost::Cost;
use crate::{Batch, Key, Millis, Outcome, Partition, Result, Trim};
use redis::{Cmd, Value};
use std::borrow::Cow;
use std::collections::HashMap;

/// Names of keys that every call has: records, index and marker.
const FIXED: usize = 3;

/// What one call hands over beside its script: the names of keys it touches, and its arguments in order.
struct Parts<'a> {
    keys: &'a Keys,
    names: Vec<String>,
    numbers: HashMap<String, u32>,
    args: Vec<Cow<'a, [u8]>>,
}

/// One call for batches of one tag, in order, which also tells listeners the hint, if there is one. With `marks` it
/// writes the tag's marker.
pub(super) fn command<'a>(
    keys: &'a Keys,
    tag: &'a Tag,
    plans: &[&'a Plan],
    state: &ValkeyState,
    (hint, marks): (Vec<u8>, bool),
) -> Cmd {
    let mut parts = Parts { keys, names: Vec::new(), numbers: HashMap::new(), args: Vec::new() };
    parts.bytes(tag.channel.as_bytes());
    parts.bytes(hint);
    // Nothing means the server's own time.
    parts.bytes(state.clock.as_ref().map_or_else(Vec::new, |clock| clock().to_string().into_bytes()));
    parts.bytes(if marks { b"1".as_slice() } else { b"" });
    for plan in plans {
        parts.batch(plan);
    }
    let call = if plans.iter().any(|plan| grows(&plan.batch)) { Call::Commit } else { Call::Release };
    let fixed = [&tag.records, &tag.index, &tag.marker];
    let names: Vec<&str> = fixed.into_iter().chain(&parts.names).map(String::as_str).collect();
    let mut command = call.with(names.into_iter());
    for arg in &parts.args {
        command.arg(&**arg);
    }
    command
}

/// Whether a batch can make the store larger, and so has to be refused when the server's memory is full.
pub(super) fn grows(batch: &Batch) -> bool {
    !(batch.put.is_empty() && batch.append.is_empty() && batch.events.is_empty())
        || batch.mend.iter().any(|mend| mend.listed)
}

impl<'a> Parts<'a> {
    /// The number of a key in the call.
    fn number(&mut self, name: String) -> u32 {
        let next = u32::try_from(FIXED + self.names.len() + 1).unwrap_or(u32::MAX);
        *self.numbers.entry(name).or_insert_with_key(|name| {
            self.names.push(name.clone());
            next
        })
    }

    fn log(&mut self, partition: Partition, log: &Key) -> u32 {
        self.number(self.keys.log(partition, log))
    }

    fn bytes(&mut self, bytes: impl Into<Cow<'a, [u8]>>) {
        self.args.push(bytes.into());
    }

    fn batch(&mut self, plan: &'a Plan) {
        let batch = &plan.batch;
        let at = self.args.len();
        self.bytes(Vec::new());
        for (key, _) in &batch.expect {
            self.bytes(key.as_str().as_bytes());
        }
        for (_, version) in &batch.expect {
            self.bytes(version.map_or_else(Vec::new, |version| version.0.to_be_bytes().to_vec()));
        }
        for (key, which) in batch.delete.iter().zip(&plan.delete_at) {
            let log = self.log(batch.partition, key);
            self.bytes([counted(*which + 1), log.to_be_bytes()].concat());
        }
        for (record, which) in batch.put.iter().zip(&plan.put_at) {
            self.bytes(counted(*which + 1).to_vec());
            self.bytes(pack(record, batch.partition));
        }
        for append in &batch.append {
            let log = self.log(batch.partition, &append.log);
            self.bytes(log.to_be_bytes().to_vec());
            self.bytes([&append.seq.to_be_bytes(), &*append.body].concat());
            self.bytes((append.seq + 1).to_be_bytes().to_vec());
        }
        for event in &batch.events {
            self.bytes(&**event);
        }
        for trim in &batch.trim {
            self.trim(batch.partition, trim);
        }
        for mend in &batch.mend {
            let mut place = place_start(&mend.place, &mend.key);
            if mend.listed {
                place.extend_from_slice(&batch.partition.0.to_be_bytes());
            }
            self.bytes(if mend.listed { b"+" } else { b"-" }.as_slice());
            self.bytes(place);
        }
        let span = self.args.len() - at - 1;
        self.args[at] = self.header(batch, span).into();
    }

    fn trim(&mut self, partition: Partition, trim: &Trim) {
        match trim {
            Trim::Log { log, through } => {
                let log = self.log(partition, log);
                self.bytes([[0; 4], log.to_be_bytes()].concat());
                self.bytes(through.saturating_add(1).to_be_bytes().to_vec());
            }
            Trim::Feed { through } => {
                let feed = self.number(self.keys.feed(partition));
                self.bytes([counted(1), feed.to_be_bytes()].concat());
                self.bytes(doubles(halves(through.saturating_add(1))));
            }
        }
    }

    /// What the script reads first; the order is that of its `HEADER`.
    fn header(&mut self, batch: &Batch, span: usize) -> Vec<u8> {
        let feed = if batch.events.is_empty() { 0 } else { self.number(self.keys.feed(batch.partition)) };
        let first = if batch.feed_above == 0 { 0 } else { batch.feed_above.saturating_add(1) };
        let mut header = Vec::with_capacity(70);
        header.extend(number(batch.window.not_before.unwrap_or(0)).to_be_bytes());
        header.extend(batch.window.not_after.map_or(f64::INFINITY, number).to_be_bytes());
        let counts = [
            span,
            batch.expect.len(),
            batch.delete.len(),
            batch.put.len(),
            batch.append.len(),
            batch.events.len(),
            batch.trim.len(),
            batch.mend.len(),
        ];
        header.extend(counts.into_iter().flat_map(counted));
        header.extend(feed.to_be_bytes());
        header.extend(doubles(halves(first)));
        header.extend(batch.partition.0.to_be_bytes());
        header
    }
}

/// A count as the script reads it; every count is far below the limit of four bytes.
fn counted(count: usize) -> [u8; 4] {
    u32::try_from(count).unwrap_or(u32::MAX).to_be_bytes()
}

fn doubles((high, low): (u64, u64)) -> Vec<u8> {
    [number(high).to_be_bytes(), number(low).to_be_bytes()].concat()
}

/// A number for Lua: times and halves of positions are exact in it.
#[allow(clippy::cast_precision_loss)]
fn number(of: u64) -> f64 {
    of as f64
}

/// What came of one batch, and what it cost.
pub(super) type Done = Result<(Outcome, Cost)>;

/// The outcome of each batch, from the script's answer.
pub(super) fn outcomes(plans: &[&Plan], answer: Value) -> Result<Vec<Done>> {
    let strange = || fault::corrupt("the commit script answered something else");
    let Value::Array(parts) = answer else { return Err(strange()) };
    let mut parts = parts.into_iter();
    let Some(Value::Int(now)) = parts.next() else { return Err(strange()) };
    let now = Millis::try_from(now).map_err(|_| strange())?;
    if parts.len() != plans.len() {
        return Err(strange());
    }
    plans.iter().zip(parts).map(|(plan, part)| outcome(&plan.batch, plan, part, now).ok_or_else(strange)).collect()
}

fn outcome(batch: &Batch, plan: &Plan, part: Value, now: Millis) -> Option<Done> {
    let Value::Array(part) = part else { return None };
    let mut part = part.into_iter();
    let Value::Int(kind) = part.next()? else { return None };
    let outcome = match (kind, part.next(), part.next()) {
        (0, Some(Value::Int(rows)), Some(Value::Int(bytes))) => {
            let found = Cost { rows: u64::try_from(rows).ok()?, bytes: u64::try_from(bytes).ok()? };
            return Some(Ok((Outcome::Committed { now }, cost(plan, found))));
        }
        (1, Some(which), Some(value)) => conflict(batch, [which, value].into_iter().chain(part), now)?,
        (2, None, None) => Ok(Outcome::Outside { now }),
        (3, Some(Value::Int(which)), Some(Value::BulkString(found))) => {
            let (key, _) = batch.expect.get(usize::try_from(which).ok()?)?;
            let found = Partition(u16::from_be_bytes(found.try_into().ok()?));
            Err(check::elsewhere(key, batch.partition, found))
        }
        _ => return None,
    };
    Some(outcome.map(|outcome| (outcome, Cost::default())))
}

fn conflict(batch: &Batch, mut parts: impl Iterator<Item = Value>, now: Millis) -> Option<Result<Outcome>> {
    let mut current = Vec::new();
    while let (Some(Value::Int(which)), Some(value)) = (parts.next(), parts.next()) {
        let key = &batch.expect.get(usize::try_from(which).ok()?)?.0;
        let record = match value {
            Value::BulkString(value) => match unpack(key, value) {
                Ok((_, record)) => Some(record),
                Err(error) => return Some(Err(error)),
            },
            _ => None,
        };
        current.push((key.clone(), record));
    }
    Some(Ok(Outcome::Conflict { current, now }))
}

/// What a committed batch cost: the script tells what only it can know.
fn cost(plan: &Plan, found: Cost) -> Cost {
    let mut cost = found;
    cost.written(plan);
    for mend in &plan.batch.mend {
        cost.mended(mend);
    }
    cost
}
