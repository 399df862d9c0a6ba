//! What a kind of record says about itself: where it is listed, when it is due, and what must stand beside it.

use crate::audit::{self, Beside, Verdict};
use crate::index::{DueKind, Entry};
use crate::{Key, Millis};

/// One kind of record. A kind is one file here, and one row of the table in `mod.rs`.
pub(crate) trait Stored {
    /// Most bodies fit this, so that they are written without growing.
    fn usual_bytes(&self) -> usize {
        256
    }

    /// About how many bytes its body has.
    fn bytes(&self) -> usize {
        self.usual_bytes()
    }

    /// In how many places it is listed, its due time and its place among the parts of an execution included; never too few.
    fn places(&self) -> usize {
        self.entries().len() + 2
    }

    /// Every place in which it is listed.
    fn entries(&self) -> Vec<Entry> {
        Vec::new()
    }

    /// The earliest time at which the engine must look at it.
    fn due(&self) -> Option<Millis> {
        None
    }

    /// What its due time is for.
    fn due_kind(&self) -> DueKind {
        DueKind::Timer
    }

    /// The records of the same partition that it must be judged beside; for a part of an execution, the execution.
    fn presumes(&self, key: &Key) -> Vec<Key> {
        audit::owner(key)
    }

    /// What is wrong with it, given those; `now` stamps what a fix writes.
    fn judge(&self, key: &Key, _now: Millis, beside: &Beside) -> Vec<Verdict> {
        audit::judge_part(key, beside)
    }
}
