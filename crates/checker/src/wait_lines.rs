//! The lines about waits and signals. A wait is `<name>#<n>`, counted from 1; a signal is sent to a name.

use serde::{Deserialize, Serialize};

/// What must be sent to an execution so that it completes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// The execution.
    pub execution: String,
    /// Each signal by the name it is sent to and its idempotency key.
    pub needs: Vec<(String, String)>,
}

/// An acknowledged signal.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Answered {
    /// The execution.
    pub execution: String,
    /// The name it was sent to.
    pub wait: String,
    /// Its idempotency key.
    pub key: String,
    /// Its payload, which no other call has. When another call with the key was faster, that one's payload stands.
    pub sent: String,
    /// The id in the answer.
    pub signal: String,
    /// What it did, as answered.
    pub effect: String,
    /// When the call was made.
    pub asked: u64,
    /// When it was answered.
    pub at: u64,
}

/// A signal that was refused.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct NotTaken {
    /// The execution.
    pub execution: String,
    /// The name it was sent to.
    pub wait: String,
    /// Its idempotency key.
    pub key: String,
    /// Code of the refusal.
    pub code: String,
    /// When the call was made.
    pub asked: u64,
    /// When it was answered.
    pub at: u64,
}

/// A handler comes to a wait with a timeout.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Opened {
    /// The execution.
    pub execution: String,
    /// The wait.
    pub wait: String,
    /// Its timeout, in milliseconds.
    pub millis: u64,
    /// When.
    pub at: u64,
}

/// What a handler got from a wait.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Told {
    /// The execution.
    pub execution: String,
    /// Number of the attempt, counted from 1.
    pub attempt: u64,
    /// The wait.
    pub wait: String,
    /// Payloads of the signals, in order.
    pub signals: Vec<String>,
    /// When.
    pub at: u64,
}

/// The waits and signals of an execution when all was over.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Waited {
    /// The execution.
    pub execution: String,
    /// Its waits that are over.
    pub waits: Vec<Over>,
    /// The signals it accepted.
    pub signals: Vec<Accepted>,
    /// Ids of the signals that it keeps for later waits.
    pub kept: Vec<String>,
    /// Its result: each wait with the payloads of its signals.
    pub result: Option<Vec<(String, Vec<String>)>>,
}

/// A wait that is over.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Over {
    /// The wait.
    pub wait: String,
    /// How it ended.
    pub how: String,
    /// Ids of the signals it took, in order.
    pub signals: Vec<String>,
}

/// A signal that was accepted.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Accepted {
    /// Its id.
    pub signal: String,
    /// The name it was sent to.
    pub wait: String,
    /// Who sent it, when that was authenticated.
    pub by: Option<String>,
    /// Its payload.
    pub sent: String,
    /// What it did.
    pub effect: String,
}
