//! What a repeat of a call does, and which calls the header `Idempotency-Key` can name.

/// What a repeat of a call does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// With the same `Idempotency-Key` it gets the first response; without one it acts again.
    Known,
    /// It does no harm: it reads, or it leaves things as the first call did.
    Harmless,
    /// It acts again; a call with an `Idempotency-Key` is refused.
    Unknown,
}

impl Repeat {
    /// What the repeat of a client call does; `None` for an unknown call.
    pub(crate) fn of(call: &str) -> Option<Self> {
        Some(match call {
            "submit" | "submit_many" | "report" | "operate" | "operate_many" | "set_lane" | "suspend" | "signal"
            | "signal_many" | "rotate_token_keys" => Self::Known,
            "renew" | "progress" | "revoke_key" | "mint_token" | "describe_token" | "signal_by_token" => Self::Harmless,
            "waits" | "signal_payload" | "get" | "ending" | "input" | "attempts" | "history" | "why" | "find"
            | "counts" | "lanes" | "lane" | "events" | "keys" | "token_keys" => Self::Harmless,
            "claim" | "issue_key" => Self::Unknown,
            _ => return None,
        })
    }

    /// The word for it in the description of the API.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Known => "known",
            Self::Harmless => "harmless",
            Self::Unknown => "unknown",
        }
    }
}
