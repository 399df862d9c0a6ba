//! Every state against every command: the rows that stand with their verbs, run and printed.

mod states;

use crate::rules::world::World;
use crate::rules::world::make::id;
use crate::{Act, Command, CommandId, End, Event, Fence, Key, Operate, What, act, end, rules};
use states::{CLASSES, Class, class_of, world_in};

/// One call against every state: its name, how it is made, and what comes of it.
pub(crate) struct Row {
    call: &'static str,
    make: Make,
    /// What comes out, with the states of which it holds, `*` for all others: the code of a refusal, `→` and the new
    /// state, `stays` when it is written and stays what it is, `=` when it is accepted without a write.
    expected: Outcomes,
    /// The same for what it shares with other calls.
    shared: Outcomes,
}

type Outcomes = &'static [(&'static str, &'static str)];
type Make = fn(&mut World, Fence) -> Command;

/// Refusals of every new call under a lease.
const FENCED: Outcomes = &[
    ("execution_not_found", "Absent"),
    ("stale_lease", "ActiveOther ActiveOnward"),
    ("attempt_timed_out", "ActiveTimedOut"),
    ("deadline_passed", "ActiveTooLate"),
    ("execution_purged", "Stub"),
    ("execution_not_active", "*"),
];

/// Refusals of every call under a lease whose id the attempt may remember.
const REPEATED: Outcomes = &[
    ("execution_not_found", "Absent"),
    (
        "execution_not_active",
        "ReadyFirst ReadyReclaim ReadyTooLate DelayedSubmitted DelayedReclaim DelayedOperator Held Expired",
    ),
    ("stale_lease", "ActiveOther"),
    ("attempt_timed_out", "ActiveTimedOut"),
    ("deadline_passed", "ActiveTooLate"),
    ("invalid_argument", "*"),
];

impl Row {
    pub(crate) const fn new(call: &'static str, make: Make, expected: Outcomes) -> Self {
        Self { call, make, expected, shared: &[] }
    }

    /// A new call under a lease.
    pub(crate) const fn fenced(call: &'static str, make: Make, expected: Outcomes) -> Self {
        Self { call, make, expected, shared: FENCED }
    }

    /// A call under a lease with the id of an earlier one.
    pub(crate) const fn repeated(call: &'static str, make: Make, expected: Outcomes) -> Self {
        Self { call, make, expected, shared: REPEATED }
    }

    /// What must come of it in a state; a state is named once, or not at all where there is a `*`.
    fn expected(&self, class: Class) -> String {
        let name = format!("{class:?}");
        let named = |states: &str| states.split(' ').any(|state| state == name);
        let found: Vec<_> = self.expected.iter().chain(self.shared).filter(|(_, states)| named(states)).collect();
        assert!(found.len() <= 1, "{}: {name} is named twice", self.call);
        let rest = self.expected.iter().chain(self.shared).find(|(_, states)| *states == "*");
        let outcome = found.first().copied().or(rest).unwrap_or_else(|| panic!("{}: {name} is missing", self.call)).0;
        if outcome == "stays" { format!("→ {name}") } else { outcome.to_owned() }
    }
}

/// What an operator of another namespace does.
pub(crate) fn elsewhere(act: Act) -> Command {
    Operate { command: CommandId(61), namespace: "other".parse().unwrap(), execution: id(1), by: None, act }.into()
}

/// What a command makes of a state: the refusal's code, the new class, or `=` when nothing was written. Along the way it
/// checks what holds for every command: a write changes something, a transition is told once, a repeat is answered alike.
fn outcome(class: Class, row: &Row) -> String {
    let call = row.call;
    let (mut world, fence) = world_in(class, call == "fail (retry left)");
    let command = (row.make)(&mut world, fence);
    let before = world.find(id(1)).cloned();
    let done = world.home(&command);
    let after = class_of(world.find(id(1)), world.now);
    let wrote = done.step.writes.contains(&Key::Execution(id(1)));
    assert_eq!(wrote, world.find(id(1)) != before.as_ref(), "{class:?} {call}: a write changes something");
    let is_signal = |event: &&Event| matches!(event.what, What::Signalled { .. });
    let about = |event: &&Event| event.execution() == Some(id(1));
    let told = done.events.iter().filter(about).filter(|event| !is_signal(event)).count();
    let signalled = done.events.iter().filter(is_signal).count();
    let is_sent = matches!(command, Command::Signal(_));
    assert_eq!(signalled, usize::from(is_sent && wrote), "{class:?} {call}: a signal is told once");
    // A purge is told with its first piece, and a signal that changes no state is no transition.
    let kept = is_sent && after == class;
    let silent = call == "renew" || call == "progress" || matches!(class, Class::Stub) || kept;
    assert_eq!(told, usize::from(wrote && !silent), "{class:?} {call}: one event per transition");
    if done.result.is_ok() && has_id(&command) {
        let again = world.home(&command);
        assert_eq!(again.result, done.result, "{class:?} {call}: the repeat is answered alike");
        assert!(again.step.writes.is_empty() && again.events.is_empty(), "{class:?} {call}: the repeat wrote");
    }
    match done.result {
        Err(rejection) => rejection.code().to_owned(),
        Ok(_) if !wrote => "=".to_owned(),
        Ok(_) => format!("→ {after:?}"),
    }
}

/// Whether a command names itself, so that its repeat gets the first answer and writes nothing.
fn has_id(command: &Command) -> bool {
    !matches!(
        command,
        Command::Renew(_)
            | Command::Progress(_)
            | Command::Due(_)
            | Command::Deliver(_)
            | Command::Forget(_)
            | Command::Bury(_)
    )
}

#[test]
fn every_state_answers_every_command_as_written_down() {
    let mut wrong = Vec::new();
    println!("\n(state × command); `=` means accepted without a write");
    for (verb, rows) in rules::ROWS.iter().chain(end::ROWS).chain(act::ROWS) {
        for row in *rows {
            println!("\n{verb}: {}", row.call);
            for class in CLASSES {
                let (found, expected) = (outcome(class, row), row.expected(class));
                println!("    {:18} {found}", format!("{class:?}"));
                if found != expected {
                    wrong.push(format!("{class:?} × {}: expected {expected}, found {found}", row.call));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_verb_and_act_has_its_rows() {
    println!("verbs: {}", Command::NAMES.join(", "));
    println!("ends of leases: {}\nacts of operators: {}", End::NAMES.join(", "), Act::NAMES.join(", "));
    for (verb, rows) in rules::ROWS.iter().chain(end::ROWS).chain(act::ROWS) {
        let is_table = ["report", "operate"].contains(verb);
        assert_eq!(rows.is_empty(), is_table, "{verb}: reports have the rows of ends, operators those of acts");
        for row in *rows {
            let (mut world, fence) = world_in(Class::ActiveMine, true);
            let command = (row.make)(&mut world, fence);
            assert_eq!(command.name(), *verb, "{} stands with another verb", row.call);
        }
    }
}
