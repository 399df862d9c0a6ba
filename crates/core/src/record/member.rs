//! What a process that runs on a store says about itself.

use super::Format;
use crate::{Namespace, TagKey, TagValue};
use serde::{Deserialize, Serialize};

/// A process that runs on the store. It lives as long as this record keeps changing; nobody compares times.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// The format of this record.
    #[serde(rename = "v")]
    pub format: Format,
    /// Only this namespace's executions are looked after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Namespace>,
    /// Only executions with this label are looked after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<(TagKey, TagValue)>,
    /// How often it has said that it lives.
    pub beats: u64,
}
