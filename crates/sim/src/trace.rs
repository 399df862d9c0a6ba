//! What happened in a run, in order: always as a hash, on request as text.

use onward_core::Millis;
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

    pub(crate) fn hash(&self) -> u64 {
        self.hash.0
    }

    pub(crate) fn take_last(&mut self) -> Vec<String> {
        std::mem::take(&mut self.last).into()
    }
}

/// FNV-1a over whatever is written to it.
#[derive(Debug)]
struct Fnv(u64);

impl Write for Fnv {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
