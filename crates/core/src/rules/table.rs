//! Every state against every command: what comes out, written down as one table without a hole.

use crate::record::{AttemptEnd, AttemptKind, Execution, LaneState, Outcome, Readiness, State, Waiting, WhyDelayed};
use crate::rules::world::World;
use crate::rules::world::make::{self, HOME, TTL, claim, due, id, set_lane, submit};
use crate::{Bury, Command, CommandId, Deliver, Fence, Forget, Key, LeaseId, Millis, Span, Submit, When};
use bytes::Bytes;

/// The states that differ in what they answer. The caller of a worker's command holds or held lease 10.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Absent,
    ReadyFirst,
    ReadyRetry,
    ReadyReclaim,
    ReadyReturned,
    DelayedSubmitted,
    DelayedRetry,
    DelayedReclaim,
    ActiveMine,
    ActiveOther,
    ActiveLapsed,
    Completed,
    Failed,
}

const CLASSES: [Class; 13] = [
    Class::Absent,
    Class::ReadyFirst,
    Class::ReadyRetry,
    Class::ReadyReclaim,
    Class::ReadyReturned,
    Class::DelayedSubmitted,
    Class::DelayedRetry,
    Class::DelayedReclaim,
    Class::ActiveMine,
    Class::ActiveOther,
    Class::ActiveLapsed,
    Class::Completed,
    Class::Failed,
];

/// The commands, told apart by what decides about their answer.
const CALLS: [&str; 18] = [
    "submit (same call)",
    "submit (other call)",
    "claim",
    "claim (repeat)",
    "renew",
    "complete",
    "complete (repeat)",
    "fail (retry left)",
    "fail (none left)",
    "fail (repeat)",
    "unclaim",
    "unclaim (repeat)",
    "due (too early)",
    "due (in time)",
    "deliver",
    "forget",
    "bury",
    "set_lane",
];

/// The calls of a command; a new command must be added here, to the calls above and to the table below.
fn calls_of(command: &Command) -> &'static [&'static str] {
    match command {
        Command::Submit(_) => &CALLS[0..2],
        Command::Claim(_) => &CALLS[2..4],
        Command::Renew(_) => &CALLS[4..5],
        Command::Complete(_) => &CALLS[5..7],
        Command::Fail(_) => &CALLS[7..10],
        Command::Unclaim(_) => &CALLS[10..12],
        Command::Due(_) => &CALLS[12..14],
        Command::Deliver(_) => &CALLS[14..15],
        Command::Forget(_) => &CALLS[15..16],
        Command::Bury(_) => &CALLS[16..17],
        Command::SetLane(_) => &CALLS[17..18],
    }
}

/// The class of a stored state; a new variant must be added here.
fn class_of(execution: Option<&Execution>, now: Millis) -> Class {
    let Some(execution) = execution else { return Class::Absent };
    match &execution.state {
        State::Waiting(Waiting { readiness: Readiness::Ready { .. }, next }) => match next {
            _ if execution.last.as_ref().is_some_and(|last| last.end == AttemptEnd::Returned) => Class::ReadyReturned,
            AttemptKind::Initial => Class::ReadyFirst,
            AttemptKind::Retry => Class::ReadyRetry,
            AttemptKind::Reclaim => Class::ReadyReclaim,
        },
        State::Waiting(Waiting { readiness: Readiness::Delayed { why, .. }, .. }) => match why {
            WhyDelayed::Submitted => Class::DelayedSubmitted,
            WhyDelayed::Retry => Class::DelayedRetry,
            WhyDelayed::Reclaim => Class::DelayedReclaim,
        },
        State::Active(active) if active.lease.expires_at <= now => Class::ActiveLapsed,
        State::Active(active) if active.lease.id == LeaseId(10) => Class::ActiveMine,
        State::Active(_) => Class::ActiveOther,
        State::Finished(finished) => match finished.outcome {
            Outcome::Success => Class::Completed,
            Outcome::Failed => Class::Failed,
        },
    }
}

/// A world with execution 1 in a class, and the fence of the caller.
fn world_in(class: Class, retries_left: bool) -> (World, Fence) {
    let mut world = World::new(1);
    let fence = Fence { execution: id(1), lease: LeaseId(10), epoch: 1, attempt: 0 };
    let pause = if class == Class::ReadyRetry { Span(0) } else { Span::seconds(5) };
    let needed = u32::from(matches!(class, Class::ReadyRetry | Class::DelayedRetry));
    let policy = make::retry(needed + u32::from(retries_left), pause);
    let work = Submit { policy, ..submit(1) };
    if class == Class::Absent {
        return (world, fence);
    }
    let when = if class == Class::DelayedSubmitted { When::After(Span::seconds(5)) } else { When::Now };
    world.submit(Submit { when, ..work });
    match class {
        Class::Absent | Class::ReadyFirst | Class::DelayedSubmitted => {}
        Class::ReadyRetry | Class::DelayedRetry => {
            world.claim(id(1), 10);
            world.accept(&make::fail(40, fence));
        }
        Class::ReadyReclaim => drop(world.lose(id(1), 10)),
        Class::DelayedReclaim => [10, 11, 12].into_iter().for_each(|lease| drop(world.lose(id(1), lease))),
        Class::ReadyReturned => {
            world.claim(id(1), 10);
            world.accept(&make::unclaim(40, fence));
        }
        Class::ActiveMine => {
            world.claim(id(1), 10);
            world.pass(Span::seconds(1));
        }
        Class::ActiveOther => {
            world.lose(id(1), 10);
            world.claim(id(1), 11);
        }
        Class::ActiveLapsed => {
            world.claim(id(1), 10);
            world.pass(TTL);
        }
        Class::Completed => {
            world.claim(id(1), 10);
            world.accept(&make::complete(40, fence));
        }
        Class::Failed => {
            world.claim(id(1), 10);
            world.accept(&make::fail_as(40, fence, crate::Category::permanent()));
        }
    }
    assert_eq!(class_of(world.find(id(1)), world.now), class);
    (world, fence)
}

fn command_of(call: &str, world: &mut World, fence: Fence) -> Command {
    let early = world.now;
    match call {
        "submit (same call)" => Command::Submit(Box::new(submit(1))),
        "submit (other call)" => Command::Submit(Box::new(Submit { command: CommandId(99), ..submit(1) })),
        "claim" => Command::Claim(claim(id(1), 77)),
        "claim (repeat)" => Command::Claim(claim(id(1), 10)),
        "renew" => make::renew(fence, TTL),
        "complete" => make::complete(60, fence),
        "complete (repeat)" => make::complete(40, fence),
        "fail (retry left)" | "fail (none left)" => make::fail(60, fence),
        "fail (repeat)" => make::fail(40, fence),
        "unclaim" => make::unclaim(60, fence),
        "unclaim (repeat)" => make::unclaim(40, fence),
        "due (too early)" => due(id(1)),
        "due (in time)" => {
            let at = world.find(id(1)).and_then(|execution| execution.state.due());
            world.now = early.max(at.unwrap_or(early));
            due(id(1))
        }
        "deliver" => {
            world.accept(&set_lane(5, LaneState::Draining));
            let messages = world.outgoing(HOME, HOME).into_iter().map(|(_, message)| message).collect();
            Command::Deliver(Deliver { from: HOME, messages })
        }
        "forget" => Command::Forget(Forget { to: HOME, through: 3, ids: Vec::new() }),
        "bury" => Command::Bury(Bury { to: HOME, seq: 0, body: Bytes::from_static(b"x") }),
        "set_lane" => set_lane(5, LaneState::Paused),
        other => panic!("no such call: {other}"),
    }
}

/// What a command makes of a state: the refusal's code, the new class, or `=` when nothing was written.
fn outcome(class: Class, call: &str) -> String {
    let (mut world, fence) = world_in(class, call == "fail (retry left)");
    let command = command_of(call, &mut world, fence);
    assert!(calls_of(&command).contains(&call), "{call} is listed under {}", command.name());
    let before = world.find(id(1)).cloned();
    let done = world.home(&command);
    let after = class_of(world.find(id(1)), world.now);
    let wrote = done.step.writes.contains(&Key::Execution(id(1)));
    assert_eq!(wrote, world.find(id(1)) != before.as_ref(), "{class:?} {call}: a write changes something");
    let told = done.events.iter().filter(|event| event.execution == Some(id(1))).count();
    assert_eq!(told, usize::from(wrote && call != "renew"), "{class:?} {call}: one event per transition");
    match done.result {
        Err(rejection) => rejection.code().to_owned(),
        Ok(_) if !wrote => "=".to_owned(),
        Ok(_) => format!("→ {after:?}"),
    }
}

/// One row per class, one column per call, in the order of the two lists.
#[rustfmt::skip]
const EXPECTED: [[&str; 18]; 13] = {
    const NA: &str = "execution_not_active";
    const NF: &str = "execution_not_found";
    const NR: &str = "execution_not_ready";
    const EX: &str = "execution_exists";
    const IA: &str = "invalid_argument";
    const LE: &str = "lease_expired";
    const ST: &str = "stale_lease";
    const MINE: &str = "→ ActiveMine";
    const OTHER: &str = "→ ActiveOther";
    const FIRST: &str = "→ ReadyFirst";
    const RETRY: &str = "→ ReadyRetry";
    const AGAIN: &str = "→ ReadyReclaim";
    const BACK: &str = "→ ReadyReturned";
    const DONE: &str = "→ Completed";
    const LATER: &str = "→ DelayedRetry";
    const OVER: &str = "→ Failed";
    [
    // submit       claim        renew complete     fail                unclaim     due           deliver … set_lane
        [FIRST, FIRST, NF, NF,   NF,   NF, NF,      NF, NF, NF,         NF, NF,     "=", "=",     "=", "=", "=", "="],
        ["=", EX,   OTHER, MINE, NA,   NA, NA,      NA, NA, NA,         NA, NA,     "=", "=",     "=", "=", "=", "="],
        ["=", EX,   OTHER, LE,   NA,   NA, IA,      NA, NA, "=",        NA, IA,     "=", "=",     "=", "=", "=", "="],
        ["=", EX,   OTHER, LE,   NA,   NA, NA,      NA, NA, NA,         NA, NA,     "=", "=",     "=", "=", "=", "="],
        ["=", EX,   OTHER, LE,   NA,   NA, IA,      NA, NA, IA,         NA, "=",    "=", "=",     "=", "=", "=", "="],
        ["=", EX,   NR, NR,      NA,   NA, NA,      NA, NA, NA,         NA, NA,     "=", FIRST,   "=", "=", "=", "="],
        ["=", EX,   NR, NR,      NA,   NA, IA,      NA, NA, "=",        NA, IA,     "=", RETRY,   "=", "=", "=", "="],
        ["=", EX,   NR, NR,      NA,   NA, NA,      NA, NA, NA,         NA, NA,     "=", AGAIN,   "=", "=", "=", "="],
        ["=", EX,   NR, "=",     MINE, DONE, DONE,  LATER, OVER, OVER,  BACK, BACK, "=", AGAIN,   "=", "=", "=", "="],
        ["=", EX,   NR, NR,      ST,   ST, ST,      ST, ST, ST,         ST, ST,     "=", AGAIN,   "=", "=", "=", "="],
        ["=", EX,   NR, LE,      LE,   LE, LE,      LE, LE, LE,         LE, LE,     AGAIN, AGAIN, "=", "=", "=", "="],
        ["=", EX,   NR, NR,      NA,   NA, "=",     NA, NA, IA,         NA, IA,     "=", "=",     "=", "=", "=", "="],
        ["=", EX,   NR, NR,      NA,   NA, IA,      NA, NA, "=",        NA, IA,     "=", "=",     "=", "=", "=", "="],
    ]
};

#[test]
fn every_state_answers_every_command_as_written_down() {
    let mut wrong = Vec::new();
    println!("\n(state × command); `=` means accepted without a write");
    for (class, expected) in CLASSES.into_iter().zip(EXPECTED) {
        println!("\n{class:?}");
        for (call, expected) in CALLS.into_iter().zip(expected) {
            let found = outcome(class, call);
            println!("    {call:20} {found}");
            if found != expected {
                wrong.push(format!("{class:?} × {call}: expected {expected}, found {found}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_command_has_its_calls_in_the_table() {
    let mut listed = 0;
    for call in CALLS {
        let (mut world, fence) = world_in(Class::ActiveMine, true);
        let command = command_of(call, &mut world, fence);
        listed += usize::from(calls_of(&command)[0] == call);
    }
    assert_eq!(listed, 11, "each kind of command begins a group of calls");
}
