//! What a suspended execution waits for: a tree of conditions over named waits, whether it can ever hold, and whether it does.

use crate::record::{Taken, WaitRef, formats};
use crate::{Millis, Rejection, SignalName, Span, When, limits};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;

/// When a suspended execution goes on.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Condition {
    /// A signal for one wait.
    Wait {
        /// The wait: a name, or `name#2` for the second wait for it.
        wait: WaitRef,
        /// Names of signals that it takes; any signal when empty.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "openapi", schema(max_items = 16))]
        names: Vec<SignalName>,
        /// Time after which this wait is over without a signal, which meets this part of the condition.
        timeout: Option<Span>,
        /// Time at which this wait is over; not together with `timeout`.
        #[cfg_attr(feature = "openapi", schema(value_type = Option<crate::openapi::Time>))]
        until: Option<Millis>,
    },
    /// All of these.
    All {
        /// The conditions.
        #[cfg_attr(feature = "openapi", schema(no_recursion))]
        of: Vec<Condition>,
    },
    /// One of these. Waits of those that are not met stay open.
    Any {
        /// The conditions.
        #[cfg_attr(feature = "openapi", schema(no_recursion))]
        of: Vec<Condition>,
    },
    /// A number of distinct waits, signals or people.
    Count {
        /// How many, from 1 to 256.
        n: u32,
        /// What is counted.
        #[serde(default)]
        distinct: Distinct,
        /// The waits whose signals count.
        #[cfg_attr(feature = "openapi", schema(min_items = 1, max_items = 64))]
        waits: Vec<WaitRef>,
        /// Names of signals that count; any signal when empty.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "openapi", schema(max_items = 16))]
        names: Vec<SignalName>,
        /// Time after which these waits are over, which meets this part of the condition.
        timeout: Option<Span>,
        /// Time at which these waits are over; not together with `timeout`.
        #[cfg_attr(feature = "openapi", schema(value_type = Option<crate::openapi::Time>))]
        until: Option<Millis>,
    },
    /// An operator resumes it; no signal does.
    Operator,
    /// The timeout of the suspension; no signal ends it.
    Timeout,
}

/// What a count counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Distinct {
    /// Waits that have a signal.
    #[default]
    Waits,
    /// Signals.
    Signals,
    /// People: senders that were authenticated by name. A signal without an authenticated sender does not count.
    Actors,
}

formats!(enum Condition {
    Wait { wait, names, timeout, until }, All { of }, Any { of }, Count { n, distinct, waits, names, timeout, until },
    Operator, Timeout,
});
formats!(
    enum Distinct {
        Waits,
        Signals,
        Actors,
    }
);

/// What a signal that reaches a wait does for the condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Worth {
    /// Nothing takes it.
    None,
    /// The same person counts already.
    Repeated,
    /// It counts.
    Counts,
}

/// What has been reached so far: the signals that were taken, and the waits that are over.
#[derive(Clone, Copy)]
pub(crate) struct Reached<'a> {
    pub(crate) taken: &'a [Taken],
    pub(crate) over: &'a dyn Fn(&WaitRef) -> bool,
}

impl Condition {
    /// A number of distinct waits, signals or people.
    #[must_use]
    pub fn count(n: u32, distinct: Distinct, waits: Vec<WaitRef>) -> Self {
        Self::Count { n, distinct, waits, names: Vec::new(), timeout: None, until: None }
    }

    /// A signal of any name for one wait.
    #[must_use]
    pub fn wait(wait: WaitRef) -> Self {
        Self::Wait { wait, names: Vec::new(), timeout: None, until: None }
    }

    /// Checks that it can hold and is within the limits.
    ///
    /// # Errors
    /// The path of the first part that can never hold, or the limit that is exceeded.
    pub(crate) fn check(&self, times_out: bool) -> Result<(), Rejection> {
        let bytes = serde_json::to_string(self).map_or(usize::MAX, |text| text.len());
        if bytes > limits::CONDITION_BYTES_MAX {
            return Err(too_large(format!("{bytes} bytes, the maximum is {}", limits::CONDITION_BYTES_MAX)));
        }
        let waits = self.waits().len();
        if waits > limits::WAITS_MAX {
            return Err(too_large(format!("{waits} waits, the maximum is {}", limits::WAITS_MAX)));
        }
        let needed = self.needed();
        if needed > u64::from(limits::CONDITION_SIGNALS_MAX) {
            return Err(too_large(format!("{needed} signals, the maximum is {}", limits::CONDITION_SIGNALS_MAX)));
        }
        match self {
            Self::Timeout if !times_out => Err(unsatisfiable("", "it waits for a timeout and has none")),
            Self::Operator | Self::Timeout => Ok(()),
            _ => self.check_part("", 1),
        }
    }

    fn check_part(&self, path: &str, depth: usize) -> Result<(), Rejection> {
        let no = |why: &'static str| Err(unsatisfiable(path, why));
        match self {
            Self::Wait { names, timeout, until, .. } => check_leaf(names, *timeout, *until),
            Self::All { of } | Self::Any { of } if of.is_empty() => no("it has no parts"),
            Self::All { .. } | Self::Any { .. } if depth > limits::CONDITION_DEPTH_MAX => {
                Err(Rejection::ConditionTooDeep { path: path.into(), max: limits::CONDITION_DEPTH_MAX })
            }
            Self::All { of } | Self::Any { of } => of.iter().enumerate().try_for_each(|(at, part)| {
                let dot = if path.is_empty() { "" } else { "." };
                part.check_part(&format!("{path}{dot}of[{at}]"), depth + 1)
            }),
            Self::Count { n: 0, .. } => no("it counts to 0"),
            Self::Count { waits, .. } if waits.is_empty() => no("it names no waits"),
            Self::Count { n, distinct, waits, names, timeout, until } => {
                let distinct_waits = waits.iter().collect::<BTreeSet<_>>().len();
                if distinct_waits < waits.len() {
                    return no("it names a wait twice");
                }
                if *distinct == Distinct::Waits && *n as usize > distinct_waits {
                    return no("it needs more waits than it names");
                }
                check_leaf(names, *timeout, *until)
            }
            Self::Operator => no("only a whole condition can wait for an operator"),
            Self::Timeout => no("only a whole condition can wait for the timeout"),
        }
    }

    /// The waits that it names, in order, each once.
    #[must_use]
    pub fn waits(&self) -> BTreeSet<&WaitRef> {
        let mut waits = BTreeSet::new();
        self.each(&mut |part| match part {
            Self::Wait { wait, .. } => drop(waits.insert(wait)),
            Self::Count { waits: many, .. } => waits.extend(many),
            _ => {}
        });
        waits
    }

    /// The names of signals that it takes for a wait; nothing when it takes any, or does not name the wait.
    #[must_use]
    pub fn names(&self, of: &WaitRef) -> BTreeSet<&SignalName> {
        let (mut all, mut takes_any) = (BTreeSet::new(), false);
        self.each(&mut |part| {
            let names = match part {
                Self::Wait { wait, names, .. } if wait == of => names,
                Self::Count { waits, names, .. } if waits.contains(of) => names,
                _ => return,
            };
            takes_any |= names.is_empty();
            all.extend(names);
        });
        if takes_any { BTreeSet::new() } else { all }
    }

    /// The waits that have a time of their own, with it.
    pub(crate) fn timeouts(&self) -> Vec<(&WaitRef, Millis)> {
        let mut timeouts = Vec::new();
        self.each(&mut |part| match part {
            Self::Wait { wait, until: Some(until), .. } => timeouts.push((wait, *until)),
            Self::Count { waits, until: Some(until), .. } => timeouts.extend(waits.iter().map(|wait| (wait, *until))),
            _ => {}
        });
        timeouts
    }

    /// Turns the lengths of timeouts into times.
    pub(crate) fn fix_times(&mut self, now: Millis) {
        match self {
            Self::Wait { timeout, until, .. } | Self::Count { timeout, until, .. } => {
                *until = timeout.take().map(|span| now + span).or(*until);
            }
            Self::All { of } | Self::Any { of } => of.iter_mut().for_each(|part| part.fix_times(now)),
            _ => {}
        }
    }

    fn each<'a>(&'a self, see: &mut dyn FnMut(&'a Self)) {
        see(self);
        if let Self::All { of } | Self::Any { of } = self {
            of.iter().for_each(|part| part.each(see));
        }
    }

    /// How many signals it takes at the most.
    fn needed(&self) -> u64 {
        match self {
            Self::Wait { .. } => 1,
            Self::All { of } | Self::Any { of } => of.iter().map(Self::needed).sum(),
            Self::Count { n, .. } => u64::from(*n),
            Self::Operator | Self::Timeout => 0,
        }
    }

    /// Whether it holds. Once it does, nothing that happens later changes that.
    pub(crate) fn holds(&self, reached: Reached<'_>) -> bool {
        match self {
            Self::Wait { wait, names, .. } => (reached.over)(wait) || reached.signals(wait, names).next().is_some(),
            Self::All { of } => of.iter().all(|part| part.holds(reached)),
            Self::Any { of } => of.iter().any(|part| part.holds(reached)),
            Self::Count { n, waits, .. } => {
                self.counted(reached) >= *n as usize || waits.iter().all(|wait| (reached.over)(wait))
            }
            Self::Operator | Self::Timeout => false,
        }
    }

    /// How far a count has come.
    fn counted(&self, reached: Reached<'_>) -> usize {
        let Self::Count { distinct, waits, names, .. } = self else { return 0 };
        let signals = waits.iter().flat_map(|wait| reached.signals(wait, names));
        match distinct {
            Distinct::Waits => {
                let has = |wait: &&WaitRef| (reached.over)(wait) || reached.signals(wait, names).next().is_some();
                waits.iter().filter(has).count()
            }
            Distinct::Signals => signals.map(|one| one.signal).collect::<BTreeSet<_>>().len(),
            Distinct::Actors => signals.filter_map(|one| one.actor.as_ref()).collect::<BTreeSet<_>>().len(),
        }
    }

    /// What a signal does for it.
    pub(crate) fn worth(&self, reached: Reached<'_>, signal: &Taken) -> Worth {
        match self {
            Self::Wait { wait, names, .. } if *wait == signal.wait && accepts(names, signal) => {
                if self.holds(reached) {
                    Worth::None
                } else {
                    Worth::Counts
                }
            }
            Self::All { of } | Self::Any { of } => {
                of.iter().map(|part| part.worth(reached, signal)).max().unwrap_or(Worth::None)
            }
            Self::Count { n, distinct, waits, names, .. } if waits.contains(&signal.wait) && accepts(names, signal) => {
                let same =
                    |of: &dyn Fn(&Taken) -> bool| waits.iter().flat_map(|wait| reached.signals(wait, names)).any(of);
                match distinct {
                    Distinct::Actors if signal.actor.is_none() || same(&|one| one.actor == signal.actor) => {
                        Worth::Repeated
                    }
                    Distinct::Waits if same(&|one| one.wait == signal.wait) => Worth::None,
                    _ if self.counted(reached) >= *n as usize => Worth::None,
                    _ => Worth::Counts,
                }
            }
            _ => Worth::None,
        }
    }

    /// The waits that are over when it holds: all that it names, apart from those of alternatives that do not.
    pub(crate) fn closes<'a>(&'a self, reached: Reached<'_>) -> BTreeSet<&'a WaitRef> {
        match self {
            Self::Any { of } => {
                of.iter().filter(|part| part.holds(reached)).flat_map(|part| part.closes(reached)).collect()
            }
            Self::All { of } => of.iter().flat_map(|part| part.closes(reached)).collect(),
            _ => self.waits(),
        }
    }

    /// What is still missing, in words.
    pub(crate) fn missing(&self, reached: Reached<'_>) -> Option<Missing> {
        if self.holds(reached) {
            return None;
        }
        Some(match self {
            Self::Wait { wait, names, until, .. } => {
                Missing::Signal { wait: wait.clone(), names: names.clone(), until: *until }
            }
            Self::All { of } => Missing::All(of.iter().filter_map(|part| part.missing(reached)).collect()),
            Self::Any { of } => Missing::Any(of.iter().filter_map(|part| part.missing(reached)).collect()),
            Self::Count { n, distinct, waits, until, .. } => {
                let more = *n as usize - self.counted(reached);
                Missing::Count { more, n: *n, distinct: *distinct, waits: waits.clone(), until: *until }
            }
            Self::Operator => Missing::Operator,
            Self::Timeout => Missing::Timeout,
        })
    }
}

impl<'a> Reached<'a> {
    fn signals(self, wait: &'a WaitRef, names: &'a [SignalName]) -> impl Iterator<Item = &'a Taken> {
        self.taken.iter().filter(move |one| one.wait == *wait && accepts(names, one))
    }
}

/// What a condition still lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Missing {
    Signal { wait: WaitRef, names: Vec<SignalName>, until: Option<Millis> },
    All(Vec<Self>),
    Any(Vec<Self>),
    Count { more: usize, n: u32, distinct: Distinct, waits: Vec<WaitRef>, until: Option<Millis> },
    Operator,
    Timeout,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Signal { wait, names, until } => {
                match names.as_slice() {
                    [] => write!(f, "a signal for {wait}")?,
                    names => write!(f, "a signal for {wait} named {}", list(names, " or "))?,
                }
                until.map_or(Ok(()), |until| write!(f, " until {until}"))
            }
            Self::All(parts) => f.write_str(&list(parts, " and ")),
            Self::Any(parts) => f.write_str(&list(parts, " or ")),
            Self::Count { more, n, distinct, waits, until } => {
                let what = match distinct {
                    Distinct::Waits => "waits with a signal",
                    Distinct::Signals => "signals",
                    Distinct::Actors => "signals of distinct people",
                };
                write!(f, "{more} more of {n} {what} for {}", list(waits, ", "))?;
                until.map_or(Ok(()), |until| write!(f, " until {until}"))
            }
            Self::Operator => f.write_str("an operator who resumes it"),
            Self::Timeout => f.write_str("its time"),
        }
    }
}

fn list<T: fmt::Display>(items: &[T], between: &str) -> String {
    items.iter().map(T::to_string).collect::<Vec<_>>().join(between)
}

fn accepts(names: &[SignalName], signal: &Taken) -> bool {
    names.is_empty() || signal.name.as_ref().is_some_and(|name| names.contains(name))
}

fn check_leaf(names: &[SignalName], timeout: Option<Span>, until: Option<Millis>) -> Result<(), Rejection> {
    When::of_fields("until", timeout, until)?;
    let max = limits::SIGNAL_NAMES_MAX;
    if names.len() > max {
        return Err(Rejection::invalid("names", format!("must be at most {max}, are {}", names.len())));
    }
    Ok(())
}

fn unsatisfiable(path: &str, why: &'static str) -> Rejection {
    let path = if path.is_empty() { "condition".into() } else { format!("condition.{path}").into() };
    Rejection::ConditionUnsatisfiable { path, why }
}

fn too_large(found: String) -> Rejection {
    Rejection::ConditionTooLarge { found }
}
