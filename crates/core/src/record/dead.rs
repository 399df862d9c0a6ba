//! Messages that could not be delivered.

use super::Stored;
use crate::audit::{Beside, Finding, Verdict};
use crate::codec::Body;
use crate::index::{self, Entry};
use crate::{Key, Millis};
use bytes::Bytes;

/// The bytes of a message that could not be delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetter(pub Bytes);

impl Body for DeadLetter {
    fn encode(&self, _: usize) -> Bytes {
        self.0.clone()
    }

    fn decode(body: &Bytes) -> Option<Self> {
        Some(Self(body.clone()))
    }
}

impl Stored for DeadLetter {
    fn bytes(&self) -> usize {
        self.0.len()
    }

    fn entries(&self) -> Vec<Entry> {
        Entry::single(index::DEAD, 0)
    }

    fn judge(&self, _: &Key, _: Millis, _: &Beside) -> Vec<Verdict> {
        vec![Verdict { finding: Finding::DeadLetter, fix: None }]
    }
}
