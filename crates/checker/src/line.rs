//! The lines of a history. Times called `at`, `asked` and `until` are milliseconds of the machine's monotonic clock.

use crate::wait_lines::{Answered, NotTaken, Opened, Script, Told, Waited};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One line.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(tag = "is", rename_all = "snake_case", deny_unknown_fields)]
pub enum Line {
    /// What was run.
    Plan(Plan),
    /// Something was broken on purpose.
    Fault {
        /// What.
        what: String,
        /// Which process was hit, when it was one that writes a file here.
        process: Option<String>,
        /// When it began.
        at: u64,
        /// When it was done; a server that was killed is dead by now.
        until: u64,
        /// Whether it was a primary server, which takes along what its replica did not have yet.
        #[serde(default)]
        primary: bool,
    },
    /// A submit was acknowledged.
    Submitted {
        /// Of which execution.
        execution: String,
        /// When the call was made.
        asked: u64,
        /// When it was answered.
        at: u64,
    },
    /// A call was answered by an error.
    Failed {
        /// Which.
        call: String,
        /// The code of the error.
        code: String,
        /// When it was answered.
        at: u64,
    },
    /// A handler began.
    Begun {
        /// Of which execution.
        execution: String,
        /// Which attempt, counted from 1.
        attempt: u64,
        /// When.
        at: u64,
    },
    /// A handler is done; whether that was accepted is not known.
    Left {
        /// Of which execution.
        execution: String,
        /// Which attempt, counted from 1.
        attempt: u64,
        /// When.
        at: u64,
    },
    /// A lease was given to a caller that never renews it.
    Leased {
        /// Of which execution.
        execution: String,
        /// Which attempt, counted from 1.
        attempt: u64,
        /// Its epoch.
        epoch: u64,
        /// When it was asked for, and when it was answered.
        asked: u64,
        /// See above.
        at: u64,
        /// How long it was to last, in milliseconds.
        ttl: u64,
        /// When it ends by the store's clock.
        expires_at: u64,
    },
    /// Such a caller completed its execution and that was acknowledged.
    Ended {
        /// Which.
        execution: String,
        /// Which attempt, counted from 1.
        attempt: u64,
        /// Of which lease.
        epoch: u64,
        /// When the call was made.
        asked: u64,
        /// When it was answered.
        at: u64,
    },
    /// Such a caller was refused.
    Refused {
        /// Which execution.
        execution: String,
        /// Which attempt, counted from 1.
        attempt: u64,
        /// Of which lease.
        epoch: u64,
        /// The code of the refusal.
        code: String,
        /// When the call was made.
        asked: u64,
        /// When it was answered.
        at: u64,
    },
    /// A lane was changed and every partition has it.
    Decided {
        /// Which lane.
        lane: String,
        /// When the call was made.
        asked: u64,
        /// When it was answered.
        at: u64,
    },
    /// What must be sent to an execution so that it completes.
    Script(Script),
    /// A signal was acknowledged.
    Signalled(Answered),
    /// A signal was refused.
    NotTaken(NotTaken),
    /// A handler comes to a wait with a timeout.
    Opened(Opened),
    /// A handler went on after a wait.
    Told(Told),
    /// The waits and signals of an execution when all was over.
    Waited(Waited),
    /// A message that nobody can read was put into the store.
    Poisoned {
        /// The key it must have once it is set aside.
        dead: String,
        /// When.
        at: u64,
    },
    /// The live reader saw an event.
    Saw {
        /// The event as it is stored.
        event: Value,
        /// When.
        at: u64,
        /// Where to go on after it.
        cursor: String,
    },
    /// The live reader was told that it missed events.
    Gap {
        /// When.
        at: u64,
    },
    /// An event as it was read when all was over.
    Stored {
        /// The event.
        event: Value,
    },
    /// An execution as it was listed when all was over.
    Listed {
        /// Which.
        execution: String,
        /// Its state.
        state: String,
    },
    /// A message that was set aside.
    Dead {
        /// Its key.
        key: String,
    },
    /// The store was examined when all was over.
    Examined {
        /// How many records were looked at.
        records: u64,
        /// What did not agree.
        faults: Vec<String>,
    },
}

/// What was run, and what may happen in it.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Its name.
    pub name: String,
    /// How long every lease lasts, in milliseconds.
    pub lease: u64,
    /// How many partitions the store has.
    pub partitions: u64,
    /// What may be lost.
    pub losses: Losses,
    /// How soon every partition must accept work again after the death of a primary, in milliseconds.
    pub live_within: Option<u64>,
    /// Whether a message that nobody can read must have been planted.
    #[serde(default)]
    pub expects_poison: bool,
    /// Whether executions must have been suspended and resumed by signals.
    #[serde(default)]
    pub expects_waits: bool,
}

/// What may be lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Losses {
    /// Nothing that was acknowledged.
    None,
    /// What was acknowledged within the second before the death of a primary.
    LastSecond,
}
