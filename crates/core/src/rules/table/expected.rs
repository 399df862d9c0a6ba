//! What comes out, one row per class, one column per call, in the order of their lists.

const TO: &str = "attempt_timed_out";
const DP: &str = "deadline_passed";
const EX: &str = "execution_exists";
const FI: &str = "execution_finished";
const NA: &str = "execution_not_active";
const NX: &str = "execution_not_finished";
const NF: &str = "execution_not_found";
const NR: &str = "execution_not_ready";
const NW: &str = "execution_not_waiting";
const PU: &str = "execution_purged";
const IA: &str = "invalid_argument";
const LE: &str = "lease_expired";
const ST: &str = "stale_lease";
const SAME: &str = "=";
const GONE: &str = "→ Absent";
const STUB: &str = "→ Stub";
const ASKED: &str = "→ ActiveAsked";
const LAPSED: &str = "→ ActiveLapsed";
const MINE: &str = "→ ActiveMine";
const ONWARD: &str = "→ ActiveOnward";
const OTHER: &str = "→ ActiveOther";
const ON: &str = "→ ActiveResumed";
const STOP: &str = "→ ActiveStopOver";
const TIMED: &str = "→ ActiveTimedOut";
const TOO_LATE: &str = "→ ActiveTooLate";
const ENDED: &str = "→ Cancelled";
const DONE: &str = "→ Completed";
const MOVED: &str = "→ DelayedOperator";
const REST: &str = "→ DelayedReclaim";
const PAUSE: &str = "→ DelayedRetry";
const LATER: &str = "→ DelayedSubmitted";
const PUT_OFF: &str = "→ DelayedWorker";
const EXPIRED: &str = "→ Expired";
const FAILED: &str = "→ Failed";
const FIRST: &str = "→ ReadyFirst";
const AGAIN: &str = "→ ReadyReclaim";
const REPLAY: &str = "→ ReadyReplay";
const RESUME: &str = "→ ReadyResume";
const RETRY: &str = "→ ReadyRetry";
const BACK: &str = "→ ReadyReturned";
const LATE: &str = "→ ReadyTooLate";

/// What submitters and workers are answered.
#[rustfmt::skip]
pub(super) const OF_WORKERS: [[&str; 17]; 28] = [
    // submit      claim         renew  progress complete    fail                   unclaim         delay             cancel
    [FIRST, FIRST, NF,     NF,   NF,    NF,      NF,   NF,   NF,    NF,     NF,     NF,     NF,     NF,      NF,      NF,    NF], // Absent
    [SAME,  EX,    OTHER,  MINE, NA,    NA,      NA,   NA,   NA,    NA,     NA,     NA,     NA,     NA,      NA,      NA,    NA], // ReadyFirst
    [SAME,  EX,    OTHER,  LE,   NA,    NA,      NA,   IA,   NA,    NA,     SAME,   NA,     IA,     NA,      IA,      NA,    IA], // ReadyRetry
    [SAME,  EX,    OTHER,  LE,   NA,    NA,      NA,   NA,   NA,    NA,     NA,     NA,     NA,     NA,      NA,      NA,    NA], // ReadyReclaim
    [SAME,  EX,    OTHER,  LE,   NA,    NA,      NA,   IA,   NA,    NA,     IA,     NA,     SAME,   NA,      IA,      NA,    IA], // ReadyReturned
    [SAME,  EX,    OTHER,  LE,   NA,    NA,      NA,   SAME, NA,    NA,     IA,     NA,     IA,     NA,      IA,      NA,    IA], // ReadyReplay
    [SAME,  EX,    ONWARD, LE,   NA,    NA,      NA,   IA,   NA,    NA,     IA,     NA,     IA,     NA,      SAME,    NA,    IA], // ReadyResume
    [SAME,  EX,    DP,     DP,   NA,    NA,      NA,   NA,   NA,    NA,     NA,     NA,     NA,     NA,      NA,      NA,    NA], // ReadyTooLate
    [SAME,  EX,    NR,     NR,   NA,    NA,      NA,   NA,   NA,    NA,     NA,     NA,     NA,     NA,      NA,      NA,    NA], // DelayedSubmitted
    [SAME,  EX,    NR,     NR,   NA,    NA,      NA,   IA,   NA,    NA,     SAME,   NA,     IA,     NA,      IA,      NA,    IA], // DelayedRetry
    [SAME,  EX,    NR,     NR,   NA,    NA,      NA,   NA,   NA,    NA,     NA,     NA,     NA,     NA,      NA,      NA,    NA], // DelayedReclaim
    [SAME,  EX,    NR,     NR,   NA,    NA,      NA,   IA,   NA,    NA,     IA,     NA,     IA,     NA,      SAME,    NA,    IA], // DelayedWorker
    [SAME,  EX,    NR,     NR,   NA,    NA,      NA,   NA,   NA,    NA,     NA,     NA,     NA,     NA,      NA,      NA,    NA], // DelayedOperator
    [SAME,  EX,    NR,     SAME, MINE,  MINE,    DONE, DONE, PAUSE, FAILED, FAILED, BACK,   BACK,   PUT_OFF, PUT_OFF, ENDED, ENDED], // ActiveMine
    [SAME,  EX,    NR,     SAME, ON,    ON,      DONE, DONE, PAUSE, FAILED, FAILED, RESUME, RESUME, PUT_OFF, PUT_OFF, ENDED, ENDED], // ActiveResumed
    [SAME,  EX,    NR,     SAME, ASKED, ASKED,   DONE, DONE, ENDED, ENDED,  ENDED,  ENDED,  ENDED,  ENDED,   ENDED,   ENDED, ENDED], // ActiveAsked
    [SAME,  EX,    NR,     NR,   ST,    ST,      ST,   ST,   ST,    ST,     ST,     ST,     ST,     ST,      ST,      ST,    ST], // ActiveOther
    [SAME,  EX,    NR,     NR,   ST,    ST,      ST,   IA,   ST,    ST,     IA,     ST,     IA,     ST,      SAME,    ST,    IA], // ActiveOnward
    [SAME,  EX,    NR,     LE,   LE,    LE,      LE,   LE,   LE,    LE,     LE,     LE,     LE,     LE,      LE,      LE,    LE], // ActiveLapsed
    [SAME,  EX,    NR,     TO,   TO,    TO,      TO,   TO,   TO,    TO,     TO,     TO,     TO,     TO,      TO,      TO,    TO], // ActiveTimedOut
    [SAME,  EX,    NR,     DP,   DP,    DP,      DP,   DP,   DP,    DP,     DP,     DP,     DP,     DP,      DP,      DP,    DP], // ActiveTooLate
    [SAME,  EX,    NR,     SAME, STOP,  STOP,    DONE, DONE, ENDED, ENDED,  ENDED,  ENDED,  ENDED,  ENDED,   ENDED,   ENDED, ENDED], // ActiveStopOver
    [SAME,  EX,    NR,     NR,   NA,    NA,      NA,   SAME, NA,    NA,     IA,     NA,     IA,     NA,      IA,      NA,    IA], // Completed
    [SAME,  EX,    NR,     NR,   NA,    NA,      NA,   IA,   NA,    NA,     SAME,   NA,     IA,     NA,      IA,      NA,    IA], // Failed
    [SAME,  EX,    NR,     NR,   NA,    NA,      NA,   IA,   NA,    NA,     IA,     NA,     IA,     NA,      IA,      NA,    SAME], // Cancelled
    [SAME,  EX,    NR,     NR,   NA,    NA,      NA,   NA,   NA,    NA,     NA,     NA,     NA,     NA,      NA,      NA,    NA], // Expired
    [SAME,  EX,    NR,     NR,   PU,    PU,      PU,   IA,   PU,    PU,     SAME,   PU,     IA,     PU,      IA,      PU,    IA], // Purging
    [SAME,  EX,    NR,     NR,   PU,    PU,      PU,   SAME, PU,    PU,     IA,     PU,     IA,     PU,      IA,      PU,    IA], // Stub
];

/// What operators are answered.
#[rustfmt::skip]
pub(super) const OF_OPERATORS: [[&str; 16]; 28] = [
    // end, ask                 reschedule            prioritise tag       revoke     replay          purge       elsewhere
    [NF,    NF,       NF,       NF,    NF,     NF,    NF,        NF,       NF,    NF, NF,     NF,     SAME, SAME, NF, SAME], // Absent
    [ENDED, ENDED,    ENDED,    MOVED, FIRST,  MOVED, FIRST,     FIRST,    NA,    NA, NX,     NX,     NX,   NX,   NF, SAME], // ReadyFirst
    [ENDED, ENDED,    ENDED,    MOVED, RETRY,  MOVED, RETRY,     RETRY,    NA,    NA, NX,     NX,     NX,   NX,   NF, SAME], // ReadyRetry
    [ENDED, ENDED,    ENDED,    MOVED, AGAIN,  MOVED, AGAIN,     AGAIN,    NA,    NA, NX,     NX,     NX,   NX,   NF, SAME], // ReadyReclaim
    [ENDED, ENDED,    ENDED,    MOVED, BACK,   MOVED, BACK,      BACK,     NA,    NA, NX,     NX,     NX,   NX,   NF, SAME], // ReadyReturned
    [ENDED, ENDED,    IA,       MOVED, REPLAY, IA,    REPLAY,    REPLAY,   NA,    NA, NX,     SAME,   NX,   IA,   NF, SAME], // ReadyReplay
    [ENDED, ENDED,    ENDED,    MOVED, RESUME, MOVED, RESUME,    RESUME,   NA,    NA, NX,     NX,     NX,   NX,   NF, SAME], // ReadyResume
    [ENDED, ENDED,    ENDED,    MOVED, LATE,   MOVED, LATE,      LATE,     NA,    NA, NX,     NX,     NX,   NX,   NF, SAME], // ReadyTooLate
    [ENDED, ENDED,    ENDED,    MOVED, FIRST,  MOVED, LATER,     LATER,    NA,    NA, NX,     NX,     NX,   NX,   NF, SAME], // DelayedSubmitted
    [ENDED, ENDED,    ENDED,    MOVED, RETRY,  MOVED, PAUSE,     PAUSE,    NA,    NA, NX,     NX,     NX,   NX,   NF, SAME], // DelayedRetry
    [ENDED, ENDED,    ENDED,    MOVED, AGAIN,  MOVED, REST,      REST,     NA,    NA, NX,     NX,     NX,   NX,   NF, SAME], // DelayedReclaim
    [ENDED, ENDED,    ENDED,    MOVED, RESUME, MOVED, PUT_OFF,   PUT_OFF,  NA,    NA, NX,     NX,     NX,   NX,   NF, SAME], // DelayedWorker
    [ENDED, ENDED,    IA,       MOVED, FIRST,  SAME,  MOVED,     MOVED,    NA,    NA, NX,     IA,     NX,   IA,   NF, SAME], // DelayedOperator
    [ENDED, ASKED,    ASKED,    NW,    NW,     NW,    MINE,      MINE,     AGAIN, ST, NX,     NX,     NX,   NX,   NF, SAME], // ActiveMine
    [ENDED, ASKED,    ASKED,    NW,    NW,     NW,    ON,        ON,       AGAIN, ST, NX,     NX,     NX,   NX,   NF, SAME], // ActiveResumed
    [ENDED, ASKED,    SAME,     NW,    NW,     IA,    ASKED,     ASKED,    ENDED, ST, NX,     IA,     NX,   IA,   NF, SAME], // ActiveAsked
    [ENDED, ASKED,    ASKED,    NW,    NW,     NW,    OTHER,     OTHER,    AGAIN, ST, NX,     NX,     NX,   NX,   NF, SAME], // ActiveOther
    [ENDED, ASKED,    ASKED,    NW,    NW,     NW,    ONWARD,    ONWARD,   AGAIN, ST, NX,     NX,     NX,   NX,   NF, SAME], // ActiveOnward
    [ENDED, LAPSED,   LAPSED,   NW,    NW,     NW,    LAPSED,    LAPSED,   AGAIN, ST, NX,     NX,     NX,   NX,   NF, SAME], // ActiveLapsed
    [ENDED, TIMED,    TIMED,    NW,    NW,     NW,    TIMED,     TIMED,    AGAIN, ST, NX,     NX,     NX,   NX,   NF, SAME], // ActiveTimedOut
    [ENDED, TOO_LATE, TOO_LATE, NW,    NW,     NW,    TOO_LATE,  TOO_LATE, LATE,  ST, NX,     NX,     NX,   NX,   NF, SAME], // ActiveTooLate
    [ENDED, STOP,     SAME,     NW,    NW,     IA,    STOP,      STOP,     ENDED, ST, NX,     IA,     NX,   IA,   NF, SAME], // ActiveStopOver
    [FI,    FI,       FI,       NW,    NW,     NW,    FI,        DONE,     NA,    NA, REPLAY, REPLAY, STUB, STUB, NF, SAME], // Completed
    [FI,    FI,       FI,       NW,    NW,     NW,    FI,        FAILED,   NA,    NA, REPLAY, REPLAY, STUB, STUB, NF, SAME], // Failed
    [FI,    FI,       FI,       NW,    NW,     NW,    FI,        ENDED,    NA,    NA, REPLAY, REPLAY, STUB, STUB, NF, SAME], // Cancelled
    [FI,    FI,       FI,       NW,    NW,     NW,    FI,        EXPIRED,  NA,    NA, REPLAY, REPLAY, STUB, STUB, NF, SAME], // Expired
    [PU,    PU,       IA,       PU,    PU,     IA,    PU,        PU,       PU,    PU, PU,     IA,     SAME, SAME, NF, SAME], // Purging
    [PU,    PU,       IA,       PU,    PU,     IA,    PU,        PU,       PU,    PU, PU,     IA,     SAME, SAME, NF, SAME], // Stub
];

/// What comes of due times, and of what concerns no execution.
#[rustfmt::skip]
pub(super) const OF_ENGINE: [[&str; 8]; 28] = [
    // due             deliver, forget, bury, set_lane, issue_key, revoke_key
    [SAME,    SAME,    SAME, SAME, SAME, SAME, SAME, SAME], // Absent
    [SAME,    SAME,    SAME, SAME, SAME, SAME, SAME, SAME], // ReadyFirst
    [SAME,    SAME,    SAME, SAME, SAME, SAME, SAME, SAME], // ReadyRetry
    [SAME,    SAME,    SAME, SAME, SAME, SAME, SAME, SAME], // ReadyReclaim
    [SAME,    SAME,    SAME, SAME, SAME, SAME, SAME, SAME], // ReadyReturned
    [SAME,    SAME,    SAME, SAME, SAME, SAME, SAME, SAME], // ReadyReplay
    [SAME,    SAME,    SAME, SAME, SAME, SAME, SAME, SAME], // ReadyResume
    [EXPIRED, EXPIRED, SAME, SAME, SAME, SAME, SAME, SAME], // ReadyTooLate
    [SAME,    FIRST,   SAME, SAME, SAME, SAME, SAME, SAME], // DelayedSubmitted
    [SAME,    RETRY,   SAME, SAME, SAME, SAME, SAME, SAME], // DelayedRetry
    [SAME,    AGAIN,   SAME, SAME, SAME, SAME, SAME, SAME], // DelayedReclaim
    [SAME,    RESUME,  SAME, SAME, SAME, SAME, SAME, SAME], // DelayedWorker
    [SAME,    FIRST,   SAME, SAME, SAME, SAME, SAME, SAME], // DelayedOperator
    [SAME,    AGAIN,   SAME, SAME, SAME, SAME, SAME, SAME], // ActiveMine
    [SAME,    AGAIN,   SAME, SAME, SAME, SAME, SAME, SAME], // ActiveResumed
    [SAME,    ENDED,   SAME, SAME, SAME, SAME, SAME, SAME], // ActiveAsked
    [SAME,    AGAIN,   SAME, SAME, SAME, SAME, SAME, SAME], // ActiveOther
    [SAME,    AGAIN,   SAME, SAME, SAME, SAME, SAME, SAME], // ActiveOnward
    [AGAIN,   AGAIN,   SAME, SAME, SAME, SAME, SAME, SAME], // ActiveLapsed
    [EXPIRED, EXPIRED, SAME, SAME, SAME, SAME, SAME, SAME], // ActiveTimedOut
    [EXPIRED, EXPIRED, SAME, SAME, SAME, SAME, SAME, SAME], // ActiveTooLate
    [ENDED,   ENDED,   SAME, SAME, SAME, SAME, SAME, SAME], // ActiveStopOver
    [SAME,    GONE,    SAME, SAME, SAME, SAME, SAME, SAME], // Completed
    [SAME,    GONE,    SAME, SAME, SAME, SAME, SAME, SAME], // Failed
    [SAME,    GONE,    SAME, SAME, SAME, SAME, SAME, SAME], // Cancelled
    [SAME,    GONE,    SAME, SAME, SAME, SAME, SAME, SAME], // Expired
    [STUB,    STUB,    SAME, SAME, SAME, SAME, SAME, SAME], // Purging
    [SAME,    GONE,    SAME, SAME, SAME, SAME, SAME, SAME], // Stub
];
