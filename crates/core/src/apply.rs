//! The only entry point of the rules.

use crate::{Command, Millis, Reply, Stop, View, rules};

/// Runs one command against the records at hand.
///
/// A refused or stopped command leaves no write behind; what it read and the window it relied on stay in the view,
/// because a refusal must be as true as an acceptance when it is answered.
///
/// # Errors
/// [`Stop::Refuse`] with the reason, or [`Stop::Need`] with the keys of records that must be loaded first.
pub fn apply(view: &mut View, command: &Command, now: Millis) -> Result<Reply, Stop> {
    view.begin(command.actor());
    let result = dispatch(view, command, now);
    if result.is_err() {
        view.undo();
    }
    result
}

fn dispatch(view: &mut View, command: &Command, now: Millis) -> Result<Reply, Stop> {
    match command {
        Command::Submit(submit) => rules::submit::submit(view, submit, now),
        Command::Claim(claim) => rules::claim::claim(view, claim, now),
        Command::Renew(renew) => rules::renew::renew(view, renew, now),
        Command::Complete(complete) => rules::complete::complete(view, complete, now),
        Command::Fail(fail) => rules::fail::fail(view, fail, now),
        Command::Unclaim(unclaim) => rules::unclaim::unclaim(view, unclaim, now),
        Command::Delay(delay) => rules::delay::delay(view, delay, now),
        Command::Progress(progress) => rules::progress::progress(view, progress, now),
        Command::Cancel(cancel) => rules::cancel::by_owner(view, cancel, now),
        Command::Operate(operate) => rules::operate::operate(view, operate, now),
        Command::Due(due) => rules::due::due(view, due, now),
        Command::Deliver(deliver) => rules::message::deliver(view, deliver, now),
        Command::Forget(forget) => rules::message::forget(view, forget),
        Command::Bury(bury) => rules::message::bury(view, bury),
        Command::SetLane(set) => rules::lane::set(view, set, now),
        Command::IssueKey(issue) => rules::access::issue(view, issue, now),
        Command::RevokeKey(revoke) => rules::access::revoke(view, revoke, now),
    }
}
