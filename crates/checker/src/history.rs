//! How a history is read: file by file, with the one kind of torn line that a killed process may leave behind.

use crate::event::Event;
use crate::line::{Line, Losses, Plan};
use crate::wait_lines::{Answered, NotTaken, Opened, Script, Told, Waited};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

/// Everything that was written down, sorted by what it is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct History {
    /// What was run.
    pub plan: Option<Plan>,
    /// Lines that were read.
    pub lines: usize,
    /// Lines that are none, other than the torn end of a killed process.
    pub torn: Vec<String>,
    /// Torn ends of killed processes.
    pub torn_ends: usize,
    /// What was broken on purpose.
    pub faults: Vec<Fault>,
    /// Acknowledged submits: the execution, when it was asked for and answered.
    pub submitted: Vec<(String, u64, u64)>,
    /// Calls that ended with an error, by call and code.
    pub failed: BTreeMap<(String, String), usize>,
    /// Calls that were answered as they should be.
    pub answered: usize,
    /// Executions whose handler began, and how often.
    pub begun: BTreeMap<String, usize>,
    /// Leases without renewal.
    pub leased: Vec<Lease>,
    /// Calls under such leases.
    pub calls: Vec<Call>,
    /// Lane decisions: when they were asked for and answered.
    pub decided: Vec<(u64, u64)>,
    /// What executions need, as their senders know it.
    pub scripts: Vec<Script>,
    /// Acknowledged signals.
    pub signalled: Vec<Answered>,
    /// Refused signals.
    pub not_taken: Vec<NotTaken>,
    /// Waits with a timeout that handlers came to.
    pub opened: Vec<Opened>,
    /// What handlers got from waits.
    pub told: Vec<Told>,
    /// The waits and signals of each execution when all was over.
    pub waited: BTreeMap<String, Waited>,
    /// Planted messages: their key once they are set aside, and when.
    pub poisoned: Vec<(String, u64)>,
    /// Messages that were set aside.
    pub dead: BTreeSet<String>,
    /// What the live reader saw, in its order, and when.
    pub saw: Vec<(Event, u64)>,
    /// When the live reader was told that it missed something.
    pub gaps: Vec<u64>,
    /// The feed when all was over.
    pub stored: Vec<Event>,
    /// The state of each execution when all was over, as often as it was listed.
    pub listed: BTreeMap<String, Vec<String>>,
    /// Records that were examined, and what did not agree.
    pub examined: Option<(u64, Vec<String>)>,
}

/// Something was broken on purpose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What.
    pub what: String,
    /// The process that was hit.
    pub process: Option<String>,
    /// When it began and when it was done.
    pub at: u64,
    /// See above.
    pub until: u64,
    /// Whether it was a primary server.
    pub primary: bool,
}

/// A lease that nobody renews.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// Of which execution, attempt and epoch.
    pub of: (String, u64, u64),
    /// When it was asked for and answered.
    pub asked: u64,
    /// See above.
    pub at: u64,
    /// How long it was to last.
    pub ttl: u64,
    /// When it ends by the store's clock.
    pub expires_at: u64,
}

/// A call that ends an execution under such a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Of which execution, attempt and epoch.
    pub of: (String, u64, u64),
    /// When it was made and answered.
    pub asked: u64,
    /// See above.
    pub at: u64,
    /// Why it was refused, if it was.
    pub refused: Option<String>,
}

impl History {
    /// Reads every `.jsonl` file of a directory, in the order of their names.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn read(directory: &Path) -> io::Result<Self> {
        let mut files = Vec::new();
        for entry in std::fs::read_dir(directory)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "jsonl") {
                let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                files.push((name, String::from_utf8_lossy(&std::fs::read(&path)?).into_owned()));
            }
        }
        files.sort();
        Ok(Self::of(&files))
    }

    /// A history from its files: the name of each process and what it wrote.
    #[must_use]
    pub fn of(files: &[(String, String)]) -> Self {
        let mut history = Self::default();
        let mut torn_ends = Vec::new();
        for (name, text) in files {
            let whole = text.is_empty() || text.ends_with('\n');
            let last = text.lines().count();
            for (number, line) in text.lines().enumerate() {
                let place = || format!("{name}, line {}: {}", number + 1, line.chars().take(120).collect::<String>());
                let torn = number + 1 == last && !whole;
                match serde_json::from_str::<Line>(line) {
                    // A line without its end may be cut, even if what is left can be read.
                    Ok(line) if !torn => history.take(line, &place),
                    _ if torn => torn_ends.push((name.clone(), place())),
                    _ => history.torn.push(place()),
                }
            }
        }
        for (process, place) in torn_ends {
            if history.faults.iter().any(|fault| fault.process.as_ref() == Some(&process)) {
                history.torn_ends += 1;
            } else {
                history.torn.push(place);
            }
        }
        history
    }

    fn take(&mut self, line: Line, place: &dyn Fn() -> String) {
        self.lines += 1;
        match line {
            Line::Plan(plan) => self.plan = Some(plan),
            Line::Fault { what, process, at, until, primary } => {
                self.faults.push(Fault { what, process, at, until, primary });
            }
            Line::Submitted { execution, asked, at } => {
                self.answered += 1;
                self.submitted.push((execution, asked, at));
            }
            Line::Failed { call, code, .. } => *self.failed.entry((call, code)).or_default() += 1,
            Line::Begun { execution, .. } => *self.begun.entry(execution).or_default() += 1,
            Line::Left { .. } => {}
            Line::Leased { execution, attempt, epoch, asked, at, ttl, expires_at } => {
                self.answered += 1;
                self.leased.push(Lease { of: (execution, attempt, epoch), asked, at, ttl, expires_at });
            }
            Line::Ended { execution, attempt, epoch, asked, at } => {
                self.answered += 1;
                self.calls.push(Call { of: (execution, attempt, epoch), asked, at, refused: None });
            }
            Line::Refused { execution, attempt, epoch, code, asked, at } => {
                self.answered += 1;
                self.calls.push(Call { of: (execution, attempt, epoch), asked, at, refused: Some(code) });
            }
            Line::Decided { asked, at, .. } => {
                self.answered += 1;
                self.decided.push((asked, at));
            }
            Line::Script(script) => self.scripts.push(script),
            Line::Signalled(answered) => {
                self.answered += 1;
                self.signalled.push(answered);
            }
            Line::NotTaken(refused) => {
                self.answered += 1;
                self.not_taken.push(refused);
            }
            Line::Opened(opened) => self.opened.push(opened),
            Line::Told(told) => self.told.push(told),
            Line::Waited(waited) => drop(self.waited.insert(waited.execution.clone(), waited)),
            Line::Poisoned { dead, at } => self.poisoned.push((dead, at)),
            Line::Saw { event, at, .. } => match Event::read(&event) {
                Some(event) => self.saw.push((event, at)),
                None => self.torn.push(place()),
            },
            Line::Gap { at } => self.gaps.push(at),
            Line::Stored { event } => match Event::read(&event) {
                Some(event) => self.stored.push(event),
                None => self.torn.push(place()),
            },
            Line::Listed { execution, state } => self.listed.entry(execution).or_default().push(state),
            Line::Dead { key } => {
                self.dead.insert(key);
            }
            Line::Examined { records, faults } => self.examined = Some((records, faults)),
        }
    }

    /// The stored events of each execution, in order.
    pub(crate) fn lives(&self) -> BTreeMap<&str, Vec<&Event>> {
        let mut lives: BTreeMap<&str, Vec<&Event>> = BTreeMap::new();
        for event in self.stored.iter().filter(|event| event.is_of_execution()) {
            lives.entry(&event.subject).or_default().push(event);
        }
        lives
    }

    /// Whether executions must have waited.
    pub(crate) fn expects_waits(&self) -> bool {
        self.plan.as_ref().is_some_and(|plan| plan.expects_waits)
    }

    /// Whether something acknowledged at this time may be gone.
    pub(crate) fn may_lose(&self, acknowledged: u64) -> bool {
        let losses = self.plan.as_ref().map_or(Losses::None, |plan| plan.losses);
        losses == Losses::LastSecond && self.may_undo(acknowledged)
    }

    /// Whether something seen at this time may be undone, since a primary died within the second behind it. An answer that
    /// was on its way by then is read a little later; nobody else can have given it that early.
    pub(crate) fn may_undo(&self, seen: u64) -> bool {
        const SECOND: u64 = 1_000;
        self.faults.iter().any(|fault| fault.primary && seen + SECOND >= fault.at && seen <= fault.until + SECOND)
    }
}
