//! Acknowledged submits: each is there, ran, and ended exactly once; acknowledged ends stay ends.

use crate::history::History;
use crate::line::Losses;
use crate::report::Check;
use std::collections::BTreeSet;

fn losses(history: &History) -> Losses {
    history.plan.as_ref().map_or(Losses::None, |plan| plan.losses)
}

/// Puts a loss where it belongs: to what may be lost, or to what broke the promise.
fn lost(history: &History, check: &mut Check, excused: &mut usize, acknowledged: u64, what: String) {
    if history.may_lose(acknowledged) {
        *excused += 1;
    } else {
        check.breaks(what);
    }
}

pub(super) fn kept(history: &History) -> Check {
    let mut check = Check::new("an acknowledged submit is kept");
    let mut excused = 0;
    for (execution, _, at) in &history.submitted {
        check.looked_at += 1;
        if !history.listed.contains_key(execution) {
            let what = format!("{execution}, acknowledged at {at}, is gone");
            lost(history, &mut check, &mut excused, *at, what);
        }
    }
    if check.looked_at == 0 {
        check.breaks("no submit was acknowledged");
    }
    if losses(history) == Losses::LastSecond {
        check.note = format!("{excused} lost from the last second");
    }
    check
}

pub(super) fn end_once(history: &History) -> Check {
    let mut check = Check::new("every execution ends exactly once");
    let lives = history.lives();
    for (execution, states) in &history.listed {
        check.looked_at += 1;
        let ends: Vec<&str> =
            lives.get(execution.as_str()).into_iter().flatten().filter_map(|event| event.end_state()).collect();
        if states.len() != 1 {
            check.breaks(format!("{execution} is listed {} times", states.len()));
        } else if ends.len() != 1 {
            check.breaks(format!("{execution} is {} and has {} ends: {ends:?}", states[0], ends.len()));
        } else if ends[0] != states[0] {
            check.breaks(format!("{execution} is listed as {} and ended as {}", states[0], ends[0]));
        }
    }
    for execution in lives.keys().filter(|execution| !history.listed.contains_key(**execution)) {
        check.breaks(format!("{execution} has events and is not listed"));
    }
    check
}

pub(super) fn ran(history: &History) -> Check {
    let mut check = Check::new("every execution ran at least once");
    let leased: BTreeSet<&str> = history.leased.iter().map(|lease| lease.of.0.as_str()).collect();
    for execution in history.listed.keys() {
        check.looked_at += 1;
        if !history.begun.contains_key(execution) && !leased.contains(execution.as_str()) {
            check.breaks(format!("nobody says that {execution} ran"));
        }
    }
    check
}

pub(super) fn ends_hold(history: &History) -> Check {
    let mut check = Check::new("an acknowledged end stays, once");
    let lives = history.lives();
    let mut standing: BTreeSet<&str> = BTreeSet::new();
    let mut excused = 0;
    for call in history.calls.iter().filter(|call| call.refused.is_none()) {
        check.looked_at += 1;
        let (execution, attempt, _) = &call.of;
        let life = lives.get(execution.as_str());
        let stands = life
            .is_some_and(|life| life.iter().any(|event| event.name == "completed" && event.attempt == Some(*attempt)));
        if !stands {
            let what = format!("{execution}, attempt {attempt}, completed at {}, is undone", call.at);
            lost(history, &mut check, &mut excused, call.at, what);
        } else if !standing.insert(execution) {
            let what = format!("{execution} was completed twice");
            lost(history, &mut check, &mut excused, call.at, what);
        }
    }
    if losses(history) == Losses::LastSecond {
        check.note = format!("{excused} undone from the last second");
    }
    check
}
