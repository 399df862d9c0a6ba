//! What a submission asks for, kept small, so that a repeat of it is told from another one.

use crate::digest::digest;
use crate::{CommandId, Fingerprint, NewExecution, codec, meaning};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A fingerprint of each field that a submission sets. Fields are compared by what they mean: JSON with other spaces or
/// another order of keys is the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Asked(BTreeMap<Arc<str>, Fingerprint>);

impl Asked {
    /// What a submission asks for. Who asks, under which key or id and in which trace is left out: a repeat may come from
    /// elsewhere.
    #[must_use]
    pub fn of(new: &NewExecution) -> Self {
        let NewExecution { namespace: _, idempotency_key: _, unique_key: _, uuid: _, trace: _, call: _, .. } = new;
        let NewExecution { kind, lane, priority, delay, run_at, expires_after, expires_at, input: _, .. } = new;
        let NewExecution { input_bytes, tags, requires, policy, signal, .. } = new;
        let (content_type, input) = new.input_parts();
        let json = std::str::from_utf8(input).ok().filter(|_| input_bytes.is_none());
        let input = json.map_or_else(|| [content_type.as_bytes(), b"\n", input].concat(), meaning::of);
        let fields = [
            ("kind", Some(kind.as_str().into())),
            ("lane", Some(lane.as_str().into())),
            ("input", Some(input)),
            ("priority", (*priority > 0).then(|| encoded(priority))),
            ("delay", delay.as_ref().map(encoded)),
            ("run_at", run_at.as_ref().map(encoded)),
            ("expires_after", expires_after.as_ref().map(encoded)),
            ("expires_at", expires_at.as_ref().map(encoded)),
            ("tags", (!tags.is_empty()).then(|| encoded(tags))),
            ("requires", (!requires.is_empty()).then(|| encoded(requires))),
            ("signal", signal.as_ref().map(encoded)),
            ("policy", (!policy.is_default()).then(|| encoded(policy))),
        ];
        let fingerprint = |value: Vec<u8>| Fingerprint(digest([&value[..]]));
        Self(fields.into_iter().filter_map(|(field, value)| Some((field.into(), fingerprint(value?)))).collect())
    }

    /// A field in which another submission asks for something else, if it does.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Option<Arc<str>> {
        let differs = |field: &&Arc<str>| self.0.get(*field) != other.0.get(*field);
        self.0.keys().chain(other.0.keys()).find(differs).cloned()
    }

    /// The id of a call that asks for this, and is known by these parts.
    #[must_use]
    pub fn command(&self, parts: [&[u8]; 2]) -> CommandId {
        let fields: Vec<_> = self.0.iter().map(|(field, value)| (field.as_bytes(), value.0.to_le_bytes())).collect();
        let fields = fields.iter().flat_map(|(field, value)| [*field, &value[..]]);
        CommandId(digest(parts.into_iter().chain(fields)))
    }
}

fn encoded(value: &impl Serialize) -> Vec<u8> {
    codec::json(value, 0).into()
}
