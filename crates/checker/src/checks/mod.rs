//! Every promise, in the order in which a person asks for them.

mod faults;
mod feed;
mod leases;
mod poison;
mod signals;
mod submits;
mod waits;

use crate::history::History;
use crate::report::{Check, Report, grouped};

/// Judges a whole history.
pub(crate) fn all(history: &History) -> Report {
    let checks = vec![
        readable(history),
        faults::happened(history),
        submits::kept(history),
        submits::end_once(history),
        submits::ran(history),
        submits::ends_hold(history),
        leases::apart(history),
        leases::ends_have_their_lease(history),
        leases::last_long_enough(history),
        leases::late_calls_are_refused(history),
        leases::known(history),
        signals::kept(history),
        signals::once(history),
        signals::repeats(history),
        waits::one_answer(history),
        waits::time_out_late_enough(history),
        waits::complete(history),
        waits::suspensions_end(history),
        feed::once(history),
        feed::nothing_missed(history),
        feed::in_order(history),
        feed::true_to_the_end(history),
        feed::dated(history),
        poison::set_aside(history),
        poison::pair_moves_on(history),
        faults::live_again(history),
        faults::consistent(history),
    ];
    let plan = history.plan.as_ref().map_or_else(|| "unknown".to_owned(), |plan| plan.name.clone());
    let summary = summary(&plan, history);
    Report { plan, checks, summary }
}

fn readable(history: &History) -> Check {
    let mut check = Check::new("every line can be read");
    check.looked_at = history.lines;
    check.broken.clone_from(&history.torn);
    if history.plan.is_none() {
        check.breaks("no line tells the plan");
    }
    if history.torn_ends > 0 {
        check.note = format!("{} torn by a kill", history.torn_ends);
    }
    check
}

fn summary(plan: &str, history: &History) -> String {
    let errors: usize = history.failed.values().sum();
    let made = history.answered + errors;
    let ended = history.stored.iter().filter(|event| event.end_state().is_some()).count();
    let percent = if made == 0 { 0.0 } else { 100.0 * history.answered as f64 / made as f64 };
    let mut kinds: Vec<(String, usize)> = Vec::new();
    for fault in &history.faults {
        match kinds.iter_mut().find(|(what, _)| *what == fault.what) {
            Some((_, count)) => *count += 1,
            None => kinds.push((fault.what.clone(), 1)),
        }
    }
    let faults: Vec<String> = kinds.iter().map(|(what, count)| format!("{} × {what}", grouped(*count))).collect();
    let mut text = format!(
        "{plan}: {} submits acknowledged, {} ends, {}, success {percent:.2} %",
        grouped(history.submitted.len()),
        grouped(ended),
        if faults.is_empty() { "no faults".to_owned() } else { faults.join(", ") },
    );
    if errors > 0 {
        let codes = history.failed.iter().map(|((call, code), count)| format!("{} × {call} {code}", grouped(*count)));
        text.push_str(&format!(" ({})", codes.collect::<Vec<_>>().join(", ")));
    }
    text
}
