//! What happened in a run, in order: always as a hash, on request as text. Contents go into the hash alone.

use onward_core::Millis;
use onward_store::memory::Snapshot;
use onward_store::{Batch, Record};
use std::collections::VecDeque;
use std::fmt::{self, Write};

/// How much of a trace is kept as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// Nothing but the hash.
    Hash,
    /// The last steps.
    Last(usize),
    /// Every step is printed as it happens, and the last ones are kept.
    Print(usize),
}

/// Collects the steps of one run. Equal runs have equal hashes.
#[derive(Debug)]
pub(crate) struct Trace {
    keep: Keep,
    hash: Fnv,
    last: VecDeque<String>,
}

impl Trace {
    pub(crate) fn new(keep: Keep) -> Self {
        Self { keep, hash: Fnv(0xcbf2_9ce4_8422_2325), last: VecDeque::new() }
    }

    /// Adds a step.
    pub(crate) fn step(&mut self, at: Millis, what: fmt::Arguments<'_>) {
        // Writing to a hash cannot fail.
        let _ = writeln!(self.hash, "{at} {what}");
        let kept = match self.keep {
            Keep::Hash => return,
            Keep::Last(kept) | Keep::Print(kept) => kept,
        };
        let line = format!("{:>9} {what}", at.0 % 1_000_000_000);
        if matches!(self.keep, Keep::Print(_)) {
            println!("{line}");
        }
        if self.last.len() >= kept {
            self.last.pop_front();
        }
        self.last.push_back(line);
    }

    /// Adds what was read to the hash. There are too many reads to keep them among the last steps.
    pub(crate) fn read(&mut self, at: Millis, what: fmt::Arguments<'_>) {
        // Writing to a hash cannot fail.
        let _ = writeln!(self.hash, "{at} {what}");
        if matches!(self.keep, Keep::Print(_)) {
            println!("{:>9} {what}", at.0 % 1_000_000_000);
        }
    }

    /// Adds what a batch holds to the hash.
    pub(crate) fn batch(&mut self, batch: &Batch) {
        for (key, version) in &batch.expect {
            self.hash.bytes(key.as_str().as_bytes());
            self.hash.word(version.map_or(0, |version| version.0));
        }
        batch.put.iter().for_each(|record| self.hash.record(record));
        batch.delete.iter().for_each(|key| self.hash.bytes(key.as_str().as_bytes()));
        batch.events.iter().for_each(|event| self.hash.bytes(event));
        batch.wake.iter().for_each(|topic| self.hash.bytes(topic.as_bytes()));
    }

    /// Adds everything that the store holds to the hash.
    pub(crate) fn snapshot(&mut self, snapshot: &Snapshot) {
        for (partition, record) in snapshot.records.values() {
            self.hash.word(partition.0.into());
            self.hash.record(record);
        }
        for (name, rank, key) in snapshot.entries.keys() {
            self.hash.bytes(name.as_str().as_bytes());
            self.hash.word((*rank).into());
            self.hash.bytes(key.as_str().as_bytes());
        }
        for (due, key) in snapshot.due.keys() {
            self.hash.word((*due).into());
            self.hash.bytes(key.as_str().as_bytes());
        }
        for (position, (partition, body)) in &snapshot.feed {
            self.hash.word(u128::from(*position) << 64 | u128::from(partition.0));
            self.hash.bytes(body);
        }
    }

    pub(crate) fn hash(&self) -> u64 {
        self.hash.0
    }

    pub(crate) fn take_last(&mut self) -> Vec<String> {
        std::mem::take(&mut self.last).into()
    }
}

/// A batch in one line of the trace.
#[derive(Debug)]
pub(crate) struct Shown<'a>(pub(crate) &'a Batch);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Batch { partition, id, put, delete, events, expect, window, .. } = self.0;
        write!(f, "{:032x} on {partition}: {} expected", id.0, expect.len())?;
        if let Some(from) = window.not_before {
            write!(f, ", from {}", from % 1_000_000_000)?;
        }
        if let Some(until) = window.not_after {
            write!(f, ", until {}", until % 1_000_000_000)?;
        }
        for record in put {
            write!(f, ", put {}", record.key)?;
        }
        for key in delete {
            write!(f, ", delete {key}")?;
        }
        for event in events {
            let text = String::from_utf8_lossy(event);
            let what = text.find("\"what\":").map_or(&*text, |at| &text[at + 7..]);
            write!(f, ", event {}", what.trim_end_matches('}'))?;
        }
        Ok(())
    }
}

/// FNV-1a over whatever is written to it.
#[derive(Debug)]
struct Fnv(u64);

impl Fnv {
    fn mix(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    fn word(&mut self, word: u128) {
        self.mix(&word.to_le_bytes());
    }

    /// The length goes in too, so that two texts are not taken for one.
    fn bytes(&mut self, bytes: &[u8]) {
        self.word(bytes.len() as u128);
        self.mix(bytes);
    }

    fn record(&mut self, record: &Record) {
        self.bytes(record.key.as_str().as_bytes());
        self.word(record.version.0);
        self.bytes(&record.body);
        for entry in &record.entries {
            self.bytes(entry.name.as_str().as_bytes());
            self.word(entry.rank.into());
        }
        self.word(record.due.map_or(u128::MAX, u128::from));
    }
}

impl Write for Fnv {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.mix(text.as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onward_store::{Entry, IndexName, Key, Partition, Version};

    #[test]
    fn order_and_content_change_the_hash_and_only_the_last_steps_are_kept() {
        let run = |steps: &[&str]| {
            let mut trace = Trace::new(Keep::Last(2));
            for step in steps {
                trace.step(Millis(1), format_args!("{step}"));
            }
            (trace.hash(), trace.take_last().len())
        };
        assert_eq!(run(&["a", "b", "c"]), run(&["a", "b", "c"]));
        assert_ne!(run(&["a", "b", "c"]).0, run(&["b", "a", "c"]).0);
        assert_eq!(run(&["a", "b", "c"]).1, 2);
    }

    #[test]
    fn whatever_a_batch_writes_changes_the_hash() {
        let record = |body: &'static str, rank, due| Record {
            key: Key::new("k"),
            version: Version(1),
            body: body.into(),
            entries: vec![Entry { name: IndexName::new("list"), rank }],
            due,
        };
        let hash = |record: Record| {
            let mut trace = Trace::new(Keep::Hash);
            trace.batch(&Batch { put: vec![record], ..Batch::new(Partition(0), Version(1)) });
            trace.hash()
        };
        let records = [record("a", 1, None), record("b", 1, None), record("a", 2, None), record("a", 1, Some(7))];
        let hashes: std::collections::BTreeSet<u64> = records.into_iter().map(hash).collect();
        assert_eq!(hashes.len(), 4);
    }
}
