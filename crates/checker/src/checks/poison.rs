//! A message that nobody can read: it is set aside, and what comes behind it is delivered.

use crate::history::History;
use crate::report::Check;

pub(super) fn set_aside(history: &History) -> Check {
    let mut check = Check::new("a poisoned message is set aside");
    check.looked_at = history.poisoned.len();
    for (key, at) in &history.poisoned {
        if !history.dead.contains(key) {
            check.breaks(format!("{key}, planted at {at}, is not among the dead"));
        }
    }
    for key in history.dead.iter().filter(|key| !history.poisoned.iter().any(|(planted, _)| planted == *key)) {
        check.breaks(format!("{key} was set aside and nobody planted it"));
    }
    if history.poisoned.is_empty() && history.plan.as_ref().is_some_and(|plan| plan.expects_poison) {
        check.breaks("no message was planted");
    }
    check
}

pub(super) fn pair_moves_on(history: &History) -> Check {
    let mut check = Check::new("messages behind it are delivered");
    for (key, planted) in &history.poisoned {
        check.looked_at += 1;
        // A decision is answered when every partition has it, so one that was asked for later came past the poison.
        if !history.decided.iter().any(|(asked, _)| asked > planted) {
            check.breaks(format!("no decision that was asked for after {key} was planted at {planted} came through"));
        }
    }
    check
}
