//! What a process that runs on a store says about itself.

use super::format::FIRST;
use super::{Format, Stored, plain};
use crate::index::{self, Entry};
use crate::{Kind, Lane, Namespace, TagKey, TagValue};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A process that runs on the store. It lives as long as this record keeps changing; nobody compares times.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// The format of this record.
    #[serde(rename = "v", skip_serializing)]
    pub format: Format,
    /// Only this namespace's executions are looked after.
    pub namespace: Option<Namespace>,
    /// Only executions with this label are looked after.
    pub tag: Option<(TagKey, TagValue)>,
    /// The lanes that its workers take work from, so that several processes can share it out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lanes: Vec<LaneServed>,
    /// The newest format of stored bodies that it reads. Homes are drawn among those that know the newest one, so that
    /// timers and messages of newer records are not left to a process that cannot read them.
    #[serde(default = "first", skip_serializing_if = "is_first")]
    pub formats: u32,
    /// How often it has said that it lives.
    pub beats: u64,
}

/// A lane that a process's workers take work from.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaneServed {
    /// Whose lane.
    pub namespace: Namespace,
    /// The lane.
    pub lane: Lane,
    /// The kinds of work they run; all when absent.
    pub kinds: Option<BTreeSet<Kind>>,
}

// Whatever is added to them: others must see that a process lives, and only the process itself rewrites its record.
plain!(Member, LaneServed);

fn first() -> u32 {
    FIRST
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference to the field")]
fn is_first(formats: &u32) -> bool {
    *formats == FIRST
}

impl Stored for Member {
    fn entries(&self) -> Vec<Entry> {
        Entry::single(index::MEMBERS, 0)
    }
}
