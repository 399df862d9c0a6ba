//! Messages between partitions.

use super::{FORMAT, Format, LaneSettings, Outbox, Record, Stored, formats};
use crate::audit::{Beside, Finding, Fix, Verdict};
use crate::{Key, Lane, MessageId, Millis, Namespace, PartitionId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A message on its way. It is due at once, which is how its sender's home finds it again after a crash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// The format of this record.
    #[serde(rename = "v", skip_serializing)]
    pub format: Format,
    /// Unique for ever, even when a sequence is used twice after a store lost its last second.
    pub id: MessageId,
    /// When it was written.
    pub sent_at: Millis,
    /// What it says.
    pub body: MessageBody,
}

/// What partitions tell each other.
///
/// A message may be applied twice, late, or behind one that was sent after it: a receiver remembers the last 64 ids of each
/// sender, and a process that was stopped between loading messages and delivering them delivers them while more than
/// that have passed. So every kind carries a total, a set or a revision, never a difference, and applying it again, or
/// behind a newer one, changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageBody {
    /// The master of a lane tells a partition what was decided.
    LaneChanged {
        /// Whose lane.
        namespace: Namespace,
        /// Its name.
        lane: Lane,
        /// What was decided.
        settings: LaneSettings,
        /// Which decision it is.
        revision: u64,
    },
    /// A partition tells the master that it has a decision.
    LaneCopied {
        /// Whose lane.
        namespace: Namespace,
        /// Its name.
        lane: Lane,
        /// Which decision it has.
        revision: u64,
        /// Who has it.
        by: PartitionId,
    },
}

formats!(strict struct Message { format, id, sent_at, body });
formats!(enum MessageBody {
    LaneChanged { namespace, lane, settings, revision }, LaneCopied { namespace, lane, revision, by },
});
/// The kinds that this version knows; a test holds them against the enum.
const KINDS: [&str; 2] = ["lane_changed", "lane_copied"];

/// A message as every version writes it, whatever its kind.
#[derive(Deserialize)]
struct Envelope {
    v: u32,
    #[serde(rename = "id")]
    _id: MessageId,
    #[serde(rename = "sent_at")]
    _sent_at: Millis,
    body: Value,
}

impl Message {
    /// Whether bytes that this version cannot read as a message are one of a newer version: of a format above those it
    /// knows, or of a kind that it does not know. Such a message waits for a process that knows it. Everything else that
    /// cannot be read is damaged.
    #[must_use]
    pub fn is_newer(body: &[u8]) -> bool {
        let Ok(value) = serde_json::from_slice::<Value>(body) else { return false };
        if value.get("v").and_then(Value::as_u64).is_some_and(|format| format > u64::from(FORMAT)) {
            return true;
        }
        // What is refused for a field that this version does not know is whole all the same.
        if serde_json::from_slice::<Self>(body).is_ok() {
            return true;
        }
        let Ok(envelope) = serde_json::from_value::<Envelope>(value) else { return false };
        let kind = match &envelope.body {
            Value::String(kind) => Some(kind),
            Value::Object(body) if body.len() == 1 => body.keys().next(),
            _ => None,
        };
        envelope.v > 0 && kind.is_some_and(|kind| !KINDS.contains(&kind.as_str()))
    }
}

impl Stored for Message {
    // At once, whatever the clock of its sender showed.
    fn due(&self) -> Option<Millis> {
        Some(Millis(0))
    }

    fn presumes(&self, key: &Key) -> Vec<Key> {
        let Key::Message(from, to, _) = *key else { return Vec::new() };
        vec![Key::Outbox(from, to)]
    }

    fn judge(&self, key: &Key, _: Millis, beside: &Beside) -> Vec<Verdict> {
        let Key::Message(from, to, seq) = *key else { return Vec::new() };
        let outbox = Key::Outbox(from, to);
        let (first, next) = match beside(&outbox) {
            Some(Record::Outbox(known)) if (known.first..known.next).contains(&seq) => return Vec::new(),
            Some(Record::Outbox(known)) => (known.first.min(seq), known.next.max(seq.saturating_add(1))),
            // What cannot be read is not overwritten.
            Some(_) => return vec![Verdict { finding: Finding::MessageUnlisted, fix: None }],
            None => (seq, seq.saturating_add(1)),
        };
        let fix = Fix::put(outbox, Record::Outbox(Outbox { format: Format, first, next }));
        vec![Verdict { finding: Finding::MessageUnlisted, fix: Some(fix) }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec;
    use bytes::Bytes;

    const KEY: Key = Key::Message(PartitionId(0), PartitionId(1), 0);

    /// A message with this format and this body.
    fn body(format: &str, body: &str) -> Bytes {
        let id = MessageId(7);
        format!(r#"{{"v":{format},"id":"{id}","sent_at":3,"body":{body}}}"#).into()
    }

    #[test]
    fn a_newer_message_is_told_from_a_damaged_one() {
        let known = r#"{"lane_copied":{"namespace":"default","lane":"bulk","revision":3,"by":1}}"#;
        assert!(matches!(codec::decode(&KEY, &body("1", known)), Record::Message(_)));
        for (newer, is_newer) in [
            (body("99", known), true),
            (body("99", "17"), true),
            (r#"{"v":99}"#.into(), true),
            (body("1", r#"{"flow_ended":{"total":4}}"#), true),
            (body("1", r#""ping""#), true),
            (body("1", known.replace("\"by\":1", "\"by\":1,\"more\":2").as_str()), true),
            (body("1", known.replace("revision", "revisions").as_str()), false),
            (body("0", r#"{"flow_ended":{}}"#), false),
            (body("1", r#"{"one":1,"two":2}"#), false),
            (body("1", "17"), false),
            (body(r#""1""#, r#"{"flow_ended":{}}"#), false),
            (r#"{"v":1,"body":{"flow_ended":{}}}"#.into(), false),
            ("[99]".into(), false),
            (Bytes::from_static(b"\x00\xff not json"), false),
            (Bytes::new(), false),
        ] {
            assert_eq!(codec::decode(&KEY, &newer), Record::Unreadable(newer.clone()));
            assert_eq!(Message::is_newer(&newer), is_newer, "{newer:?}");
        }
    }

    #[test]
    fn every_known_kind_is_listed() {
        let kind = |body: &MessageBody| {
            let (MessageBody::LaneChanged { .. } | MessageBody::LaneCopied { .. }) = body;
            serde_json::to_value(body).unwrap().as_object().and_then(|body| body.keys().next().cloned()).unwrap()
        };
        let (namespace, lane) = (Namespace::default(), Lane::default());
        let bodies = [
            MessageBody::LaneChanged {
                namespace: namespace.clone(),
                lane: lane.clone(),
                settings: LaneSettings::default(),
                revision: 1,
            },
            MessageBody::LaneCopied { namespace, lane, revision: 1, by: PartitionId(1) },
        ];
        assert_eq!(bodies.each_ref().map(kind), KINDS);
    }
}
