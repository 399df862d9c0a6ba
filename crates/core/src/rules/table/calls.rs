//! The commands, told apart by what decides about their answer.

use crate::record::LaneState;
use crate::rules::world::World;
use crate::rules::world::make::{self, HOME, TTL, claim, due, id, set_lane, submit};
use crate::{Act, Bury, Command, CommandId, Deliver, Fence, Forget, LeaseId, Operate, Span, Submit, When};
use bytes::Bytes;

/// What submitters and workers call. Command 40 repeats the caller's last, command 60 is new.
pub(super) const WORKERS: [&str; 17] = [
    "submit (same call)",
    "submit (other call)",
    "claim",
    "claim (repeat)",
    "renew",
    "progress",
    "complete",
    "complete (repeat)",
    "fail (retry left)",
    "fail (none left)",
    "fail (repeat)",
    "unclaim",
    "unclaim (repeat)",
    "delay",
    "delay (repeat)",
    "cancel",
    "cancel (repeat)",
];

/// What operators call. Command 41 repeats their last, command 61 is new.
pub(super) const OPERATORS: [&str; 16] = [
    "end",
    "ask to stop",
    "ask (repeat)",
    "reschedule (later)",
    "reschedule (now)",
    "reschedule (repeat)",
    "prioritise",
    "tag",
    "revoke",
    "revoke (other lease)",
    "replay",
    "replay (repeat)",
    "purge",
    "purge (repeat)",
    "end (elsewhere)",
    "purge (elsewhere)",
];

/// What the engine calls by itself, and what concerns no execution.
pub(super) const ENGINE: [&str; 8] =
    ["due (too early)", "due (in time)", "deliver", "forget", "bury", "set_lane", "issue_key", "revoke_key"];

/// The calls of a command; a new command or act must be added here, to the calls above and to the table.
pub(super) fn calls_of(command: &Command) -> &'static [&'static str] {
    match command {
        Command::Submit(_) => &WORKERS[0..2],
        Command::Claim(_) => &WORKERS[2..4],
        Command::Renew(_) => &WORKERS[4..5],
        Command::Progress(_) => &WORKERS[5..6],
        Command::Complete(_) => &WORKERS[6..8],
        Command::Fail(_) => &WORKERS[8..11],
        Command::Unclaim(_) => &WORKERS[11..13],
        Command::Delay(_) => &WORKERS[13..15],
        Command::Cancel(_) => &WORKERS[15..17],
        Command::Operate(operate) if operate.namespace != make::namespace() => &OPERATORS[14..16],
        Command::Operate(operate) => match &operate.act {
            Act::Cancel { .. } => &OPERATORS[0..3],
            Act::Reschedule { .. } => &OPERATORS[3..6],
            Act::Prioritise { .. } => &OPERATORS[6..7],
            Act::Tag { .. } => &OPERATORS[7..8],
            Act::Revoke { .. } => &OPERATORS[8..10],
            Act::Replay { .. } => &OPERATORS[10..12],
            Act::Purge => &OPERATORS[12..14],
        },
        Command::Due(_) => &ENGINE[0..2],
        Command::Deliver(_) => &ENGINE[2..3],
        Command::Forget(_) => &ENGINE[3..4],
        Command::Bury(_) => &ENGINE[4..5],
        Command::SetLane(_) => &ENGINE[5..6],
        Command::IssueKey(_) => &ENGINE[6..7],
        Command::RevokeKey(_) => &ENGINE[7..8],
    }
}

/// Whether a command names itself, so that its repeat gets the first answer and writes nothing.
pub(super) fn has_id(command: &Command) -> bool {
    match command {
        Command::Submit(_)
        | Command::Claim(_)
        | Command::Complete(_)
        | Command::Fail(_)
        | Command::Unclaim(_)
        | Command::Delay(_)
        | Command::Cancel(_)
        | Command::Operate(_)
        | Command::SetLane(_)
        | Command::IssueKey(_)
        | Command::RevokeKey(_) => true,
        Command::Renew(_)
        | Command::Progress(_)
        | Command::Due(_)
        | Command::Deliver(_)
        | Command::Forget(_)
        | Command::Bury(_) => false,
    }
}

pub(super) fn command_of(call: &str, world: &mut World, fence: Fence) -> Command {
    if WORKERS.contains(&call) {
        return of_worker(call, fence);
    }
    if OPERATORS.contains(&call) {
        return of_operator(call);
    }
    let early = world.now;
    match call {
        "due (too early)" => due(id(1)),
        "due (in time)" => {
            let at = world.find(id(1)).and_then(|execution| execution.due());
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
        "issue_key" => make::issue_key(6, 7),
        "revoke_key" => {
            world.accept(&make::issue_key(6, 7));
            make::revoke_key(7)
        }
        other => panic!("no such call: {other}"),
    }
}

fn of_worker(call: &str, fence: Fence) -> Command {
    let later = When::After(Span::seconds(5));
    match call {
        "submit (same call)" => Command::Submit(Box::new(submit(1))),
        "submit (other call)" => Command::Submit(Box::new(Submit { command: CommandId(99), ..submit(1) })),
        "claim" => Command::Claim(claim(id(1), 77)),
        "claim (repeat)" => Command::Claim(claim(id(1), 10)),
        "renew" => make::renew(fence, TTL),
        "progress" => make::progress(fence, Some(50), None),
        "complete" => make::complete(60, fence),
        "complete (repeat)" => make::complete(40, fence),
        "fail (retry left)" | "fail (none left)" => make::fail(60, fence),
        "fail (repeat)" => make::fail(40, fence),
        "unclaim" => make::unclaim(60, fence),
        "unclaim (repeat)" => make::unclaim(40, fence),
        "delay" => make::delay(60, fence, later),
        "delay (repeat)" => make::delay(40, fence, later),
        "cancel" => make::cancel(60, fence),
        "cancel (repeat)" => make::cancel(40, fence),
        other => panic!("no such call: {other}"),
    }
}

fn of_operator(call: &str) -> Command {
    let later = Act::Reschedule { when: When::After(Span::seconds(9)) };
    let act = |command, act| make::operate(command, id(1), act);
    match call {
        "end" => act(61, make::end()),
        "ask to stop" => act(61, make::ask(Span::seconds(5))),
        "ask (repeat)" => act(41, make::ask(Span::seconds(5))),
        "reschedule (later)" => act(61, later),
        "reschedule (now)" => act(61, Act::Reschedule { when: When::Now }),
        "reschedule (repeat)" => act(41, later),
        "prioritise" => act(61, Act::Prioritise { priority: 7 }),
        "tag" => act(61, make::tag(&[("a", "b")], &[])),
        "revoke" => act(61, make::revoke()),
        "revoke (other lease)" => act(61, Act::Revoke { lease: Some(LeaseId(7)), reason: "stuck".into() }),
        "replay" => act(61, make::replay()),
        "replay (repeat)" => act(41, make::replay()),
        "purge" => act(61, Act::Purge),
        "purge (repeat)" => act(41, Act::Purge),
        "end (elsewhere)" => elsewhere(make::end()),
        "purge (elsewhere)" => elsewhere(Act::Purge),
        other => panic!("no such call: {other}"),
    }
}

/// What an operator of another namespace does.
fn elsewhere(act: Act) -> Command {
    let namespace = "other".parse().unwrap();
    Command::Operate(Box::new(Operate { command: CommandId(61), namespace, execution: id(1), by: None, act }))
}
