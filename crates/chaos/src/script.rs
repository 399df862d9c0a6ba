//! What work that waits does, step by step, and which signals it takes to complete it.

use onward_engine::clock::Chance;
use serde::{Deserialize, Serialize};

/// Most steps of one script.
const STEPS_MAX: u64 = 3;
/// Most rounds of a loop.
const ROUNDS_MAX: u64 = 4;
/// The longest time that a wait with a timeout waits, in milliseconds.
const TIMEOUT_MAX: u64 = 1_500;
/// The longest time before the first wait, in milliseconds: signals that are sent meanwhile come early.
const TAKES_MAX: u64 = 200;
/// A name that nothing waits for, so that its signals are kept.
const UNWANTED: &str = "unwanted";
/// People who send signals.
const PEOPLE: [&str; 2] = ["ada", "ben"];

/// A step of a script. Its names are those of its waits; no other step has them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Step {
    /// One signal.
    One(String),
    /// A signal on each name.
    Both(String, String),
    /// A signal on one of the names; both get one.
    Either(String, String),
    /// Signals of two people; three signals come.
    People(String),
    /// One signal after the other on the same name.
    Rounds {
        name: String,
        times: u32,
        /// Whether each signal is sent to a wait by its number.
        numbered: bool,
    },
    /// One signal, or none in time.
    Timed { name: String, millis: u64, comes: bool },
}

/// What work that waits does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Script {
    pub(crate) steps: Vec<Step>,
    /// A part of all keys, so that the ids of signals differ between executions.
    salt: u64,
    /// How long each run takes before its first wait, in milliseconds.
    pub(crate) takes: u64,
    /// Whether it goes on later once, before its first wait.
    pub(crate) later: bool,
    /// How often it fails, and behind how many steps.
    pub(crate) fails: u32,
    pub(crate) fails_behind: usize,
}

/// A signal to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Outgoing {
    /// The name that waits for it.
    pub(crate) name: String,
    /// The wait that it is for, if it is for that one only.
    pub(crate) number: Option<u32>,
    pub(crate) key: String,
    pub(crate) by: Option<&'static str>,
    /// Whether the script cannot complete without it.
    pub(crate) needed: bool,
}

impl Outgoing {
    fn new(name: &str, key: u32) -> Self {
        Self { name: name.to_owned(), number: None, key: key.to_string(), by: None, needed: true }
    }

    /// Where it is sent.
    pub(crate) fn address(&self) -> String {
        self.number.map_or_else(|| self.name.clone(), |number| format!("{}#{number}", self.name))
    }
}

impl Script {
    /// Draws a script.
    pub(crate) fn draw(chance: &Chance) -> Self {
        let steps: Vec<Step> = (0..1 + chance.word() % STEPS_MAX).map(|at| Step::draw(chance, at)).collect();
        let fails = u32::from(chance.word().is_multiple_of(5));
        Self {
            fails_behind: usize::try_from(chance.word() >> 1).unwrap_or(0) % (steps.len() + 1),
            steps,
            salt: chance.word(),
            takes: chance.word() % TAKES_MAX,
            later: chance.word().is_multiple_of(10),
            fails,
        }
    }

    /// The signals to send, in the order of the steps.
    pub(crate) fn signals(&self) -> Vec<Outgoing> {
        let mut all: Vec<Outgoing> = self.steps.iter().flat_map(Step::signals).collect();
        all.push(Outgoing { needed: false, ..Outgoing::new(UNWANTED, 0) });
        all.iter_mut().for_each(|one| one.key = format!("{:x}-{}", self.salt, one.key));
        all
    }

    /// The signals without which it does not complete: names and keys.
    pub(crate) fn needs(&self) -> Vec<(String, String)> {
        self.signals().into_iter().filter(|one| one.needed).map(|one| (one.name, one.key)).collect()
    }
}

impl Step {
    fn draw(chance: &Chance, at: u64) -> Self {
        let name = |what: &str| format!("{what}-{at}");
        let coin = chance.word().is_multiple_of(2);
        match chance.word() % 6 {
            0 => Self::One(name("paid")),
            1 => Self::Both(name("left"), name("right")),
            2 => Self::Either(name("mail"), name("phone")),
            3 => Self::People(name("review")),
            4 => {
                let times = u32::try_from(2 + chance.word() % (ROUNDS_MAX - 1)).unwrap_or(2);
                Self::Rounds { name: name("round"), times, numbered: coin }
            }
            _ => Self::Timed { name: name("reply"), millis: 50 + chance.word() % TIMEOUT_MAX, comes: coin },
        }
    }

    fn signals(&self) -> Vec<Outgoing> {
        match self {
            Self::One(name) => vec![Outgoing::new(name, 0)],
            Self::Both(one, other) | Self::Either(one, other) => {
                vec![Outgoing::new(one, 0), Outgoing::new(other, 0)]
            }
            Self::People(name) => {
                let of = |key: u32, by| Outgoing { by, needed: by.is_some(), ..Outgoing::new(name, key) };
                let mut all: Vec<Outgoing> = (0..).zip(PEOPLE).map(|(key, person)| of(key, Some(person))).collect();
                // Neither counts: a second signal of the same person, and one without an authenticated sender.
                all.push(Outgoing { needed: false, ..of(2, Some(PEOPLE[0])) });
                all.push(of(3, None));
                all
            }
            Self::Rounds { name, times, numbered } => (1..=*times)
                .map(|number| Outgoing { number: numbered.then_some(number), ..Outgoing::new(name, number) })
                .collect(),
            Self::Timed { name, comes, .. } => {
                let one = Outgoing { needed: false, ..Outgoing::new(name, 0) };
                comes.then_some(one).into_iter().collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_fit_into_a_mailbox_and_need_what_they_wait_for() {
        let chance = Chance::seeded(1);
        for _ in 0..1_000 {
            let script = Script::draw(&chance);
            let signals = script.signals();
            // A listing of the signals of an execution has up to 100, and its mailbox up to 64.
            assert!(signals.len() < 60 && script.fails_behind <= script.steps.len());
            let waits = script.steps.iter().any(|step| !matches!(step, Step::Timed { .. }));
            assert_eq!(script.needs().is_empty(), !waits);
            for (at, one) in signals.iter().enumerate() {
                assert!(signals[..at].iter().all(|other| (&other.name, &other.key) != (&one.name, &one.key)));
            }
            let text = serde_json::to_string(&script).unwrap();
            assert_eq!(serde_json::from_str::<Script>(&text).unwrap(), script);
        }
    }
}
