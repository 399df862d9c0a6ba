//! What random runs must come across, or they prove nothing.

use onward_core::What;
use std::collections::BTreeMap;

/// How often something was seen, by what it is and its name.
pub(crate) type Seen = BTreeMap<(&'static str, &'static str), u64>;

/// Everything that must be seen.
const EXPECTED: [(&str, &[&str]); 5] = [
    ("state", &STATES),
    ("accepted", &COMMANDS),
    ("refused", &REFUSALS),
    ("told", What::NAMES),
    ("repeated", &REPEATED),
];

const REPEATED: [&str; 14] = [
    "submit", "claim", "complete", "fail", "unclaim", "delay", "cancel", "tag", "replay", "purge", "suspend", "signal",
    "pause", "resume",
];

const STATES: [&str; 22] = [
    "READY-FIRST",
    "READY-RETRY",
    "READY-REPLAY",
    "READY-RESUME",
    "DELAYED-CREATE",
    "DELAYED-RETRY",
    "DELAYED-RESUME",
    "DELAYED-WORKER",
    "DELAYED-OPERATOR",
    "HELD",
    "SUSPENDED",
    "ESCALATED",
    "RUNNING",
    "LOST",
    "TERM(success)",
    "TERM(failed)",
    "TERM(cancelled)",
    "TERM(expired)",
    "TERM-NOATT(cancelled)",
    "TERM-NOATT(expired)",
    "purging",
    "history in pages",
];

const COMMANDS: [&str; 29] = [
    "submit",
    "claim",
    "renew",
    "progress",
    "complete",
    "fail",
    "unclaim",
    "delay",
    "cancel",
    "reschedule",
    "prioritise",
    "tag",
    "annotate",
    "revoke",
    "suspend",
    "signal",
    "pause",
    "resume",
    "close_wait",
    "replay",
    "purge",
    "due",
    "deliver",
    "forget",
    "bury",
    "set_lane",
    "issue_key",
    "revoke_key",
    "rotate_token_keys",
];

const REFUSALS: [&str; 25] = [
    "key_not_found",
    "invalid_argument",
    "time_in_past",
    "execution_exists",
    "execution_not_found",
    "execution_not_ready",
    "execution_not_active",
    "execution_finished",
    "execution_not_finished",
    "execution_not_waiting",
    "execution_purged",
    "execution_not_suspended",
    "execution_stopping",
    "condition_unsatisfiable",
    "waitpoint_closed",
    "replays_exhausted",
    "unique_key_taken",
    "attempt_timed_out",
    "deadline_passed",
    "capability_mismatch",
    "idempotency_mismatch",
    "lane_paused",
    "lane_draining",
    "stale_lease",
    "lease_expired",
];

/// Prints what was seen and fails when something was not.
pub(crate) fn check(seen: &Seen) {
    for ((kind, name), count) in seen {
        println!("{kind:9} {name:28} {count:>8}");
    }
    for (kind, names) in EXPECTED {
        // No command restores a store.
        for name in names.iter().filter(|name| **name != What::Restored.name()) {
            assert!(
                seen.contains_key(&(kind, *name)),
                "{kind} {name} was never reached: the moves prove nothing about it"
            );
        }
    }
}
