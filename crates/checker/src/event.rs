//! What an event of the feed means: whose it is, whether it begins or ends a lease, and whether it ends its execution.

use serde_json::Value;

/// One event, as far as it matters here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Its text, which tells it from all others.
    pub text: String,
    /// The execution it belongs to, or the lane that it changed.
    pub subject: String,
    /// What happened.
    pub name: String,
    /// When, by the store's clock.
    pub time: u64,
    /// The attempt, if it has one.
    pub attempt: Option<u64>,
    /// The epoch of the lease that begins.
    pub epoch: Option<u64>,
    /// The signal that came.
    pub signal: Option<String>,
    /// How the suspension ended, or what followed from its timeout.
    pub how: Option<String>,
    /// Whether nobody held a lease although there is an attempt.
    paused: bool,
    /// Whether the execution is tried again, or held for an operator.
    again: bool,
}

impl Event {
    /// Reads an event; `None` when it is none.
    #[must_use]
    pub fn read(value: &Value) -> Option<Self> {
        let number = |key: &str| value.get(key).and_then(Value::as_u64);
        let word = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        let subject = match value.get("execution").and_then(Value::as_str) {
            Some(execution) => execution.to_owned(),
            None => format!("lane {}", value.get("lane")?.as_str()?),
        };
        Some(Self {
            text: value.to_string(),
            subject,
            name: value.get("type")?.as_str()?.to_owned(),
            time: number("at")?,
            attempt: number("attempt"),
            epoch: number("epoch"),
            signal: word("signal"),
            how: word("resumed_by").or_else(|| word("then")),
            paused: value.get("paused").and_then(Value::as_bool).unwrap_or(false),
            again: ["retry_at", "again_at"].iter().any(|key| value.get(*key).is_some_and(|at| !at.is_null()))
                || value.get("held").and_then(Value::as_bool).unwrap_or(false),
        })
    }

    /// Whether it belongs to an execution.
    #[must_use]
    pub fn is_of_execution(&self) -> bool {
        self.subject.starts_with("x-")
    }

    /// The state in which this leaves its execution for good, if it does.
    #[must_use]
    pub fn end_state(&self) -> Option<&'static str> {
        match self.name.as_str() {
            "completed" => Some("completed"),
            "attempt_failed" | "lease_expired" | "lease_revoked" if !self.again => Some("failed"),
            "timed_out" if !self.again => Some("expired"),
            "expired" => Some("expired"),
            "cancelled" => Some("cancelled"),
            "suspension_timed_out" => match self.how.as_deref() {
                Some("fail") => Some("failed"),
                Some("cancel") => Some("cancelled"),
                Some("expire") => Some("expired"),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether it gives a lease to somebody.
    #[must_use]
    pub fn begins_lease(&self) -> bool {
        self.name == "claimed"
    }

    /// Whether it takes the lease from whoever has it.
    #[must_use]
    pub fn ends_lease(&self) -> bool {
        match self.name.as_str() {
            "completed" | "attempt_failed" | "lease_expired" | "lease_revoked" | "returned" | "delayed"
            | "timed_out" | "suspended" => true,
            "expired" | "cancelled" => self.attempt.is_some() && !self.paused,
            "paused" => self.attempt.is_some(),
            _ => false,
        }
    }
}
