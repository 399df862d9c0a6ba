//! Waits: each has one answer, and an execution that got its signals completes.

use crate::history::History;
use crate::report::Check;
use crate::wait_lines::Waited;
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn one_answer(history: &History) -> Check {
    let mut check = Check::new("a wait has one answer");
    let mut first: BTreeMap<(&str, &str), (&[String], u64)> = BTreeMap::new();
    let (mut again, mut others) = (0, 0);
    for told in &history.told {
        check.looked_at += 1;
        let place = (told.execution.as_str(), told.wait.as_str());
        again += usize::from(first.contains_key(&place));
        let (said, attempt) = *first.entry(place).or_insert((&told.signals, told.attempt));
        others += usize::from(attempt != told.attempt);
        if said != told.signals {
            let (execution, wait) = place;
            check.breaks(format!("{execution}, {wait}: told {said:?}, and then {:?}", told.signals));
        }
    }
    check.note = format!("{again} told again, {others} of them to another attempt");
    for ((execution, wait), (told, _)) in &first {
        match history.waited.get(*execution).map(|waited| recorded(waited)) {
            None => check.breaks(format!("{execution}: {wait} was told and nothing is recorded")),
            Some(waits) if waits.get(*wait).map(Vec::as_slice) == Some(*told) => {}
            Some(waits) => {
                check.breaks(format!("{execution}, {wait}: told {told:?}, recorded {:?}", waits.get(*wait)));
            }
        }
    }
    for waited in history.waited.values() {
        let recorded = recorded(waited);
        for (wait, signals) in waited.result.iter().flatten() {
            if recorded.get(wait.as_str()) != Some(signals) {
                let execution = &waited.execution;
                check.breaks(format!("{execution}, {wait}: the result has {signals:?}, and its record something else"));
            }
        }
    }
    if again == 0 && history.expects_waits() {
        check.breaks("no wait was told twice, so nothing was tried");
    }
    check
}

/// The payloads that each wait took, by its record.
fn recorded(waited: &Waited) -> BTreeMap<&str, Vec<String>> {
    let sent: BTreeMap<&str, &str> =
        waited.signals.iter().map(|one| (one.signal.as_str(), one.sent.as_str())).collect();
    let payload = |id: &String| sent.get(id.as_str()).map_or_else(|| format!("unknown {id}"), |&sent| sent.to_owned());
    waited.waits.iter().map(|over| (over.wait.as_str(), over.signals.iter().map(payload).collect())).collect()
}

pub(super) fn time_out_late_enough(history: &History) -> Check {
    /// How far a process may be off in what it takes for the store's time, in milliseconds.
    const SLACK: u64 = 100;
    let mut check = Check::new("no wait times out before its time");
    let mut opened: BTreeMap<(&str, &str), (u64, u64)> = BTreeMap::new();
    for one in &history.opened {
        let (at, _) = opened.entry((&one.execution, &one.wait)).or_insert((one.at, one.millis));
        *at = (*at).min(one.at);
    }
    for told in history.told.iter().filter(|told| told.signals.is_empty()) {
        let Some((at, millis)) = opened.get(&(told.execution.as_str(), told.wait.as_str())) else { continue };
        check.looked_at += 1;
        let after = told.at.saturating_sub(*at);
        if after + SLACK < *millis {
            check.breaks(format!("{}, {}: {millis} ms were over after {after} ms", told.execution, told.wait));
        }
    }
    check
}

pub(super) fn complete(history: &History) -> Check {
    let mut check = Check::new("an execution that got its signals completes");
    let answered: BTreeSet<(&str, &str, &str)> = (history.signalled.iter())
        .map(|answer| (answer.execution.as_str(), answer.wait.as_str(), answer.key.as_str()))
        .chain(history.not_taken.iter().map(|no| (no.execution.as_str(), no.wait.as_str(), no.key.as_str())))
        .collect();
    let mut seen = BTreeSet::new();
    for script in history.scripts.iter().filter(|script| seen.insert(script.execution.as_str())) {
        let execution = script.execution.as_str();
        if !script.needs.iter().all(|(wait, key)| answered.contains(&(execution, wait, key))) {
            continue;
        }
        check.looked_at += 1;
        let states = history.listed.get(execution).map(Vec::as_slice).unwrap_or_default();
        if states != ["completed"] {
            check.breaks(format!("{execution} got all signals it needs and is listed as {states:?}"));
        }
    }
    if check.looked_at == 0 && history.expects_waits() {
        check.breaks("no execution got all its signals");
    }
    check
}

pub(super) fn suspensions_end(history: &History) -> Check {
    let mut check = Check::new("a suspension ends before the next claim");
    let mut ends: BTreeMap<&str, usize> = BTreeMap::new();
    for (execution, life) in history.lives() {
        let mut suspended = false;
        for event in life {
            match event.name.as_str() {
                "suspended" => {
                    check.looked_at += 1;
                    suspended = true;
                }
                "resumed" => {
                    suspended = false;
                    *ends.entry(event.how.as_deref().unwrap_or("unknown")).or_default() += 1;
                }
                "claimed" | "completed" if suspended => {
                    check.breaks(format!("{execution} was {} at {} while it was suspended", event.name, event.time));
                }
                _ => {}
            }
        }
    }
    check.note = ends.iter().map(|(how, count)| format!("{count} by {how}")).collect::<Vec<_>>().join(", ");
    if history.expects_waits() && ends.get("signals").is_none_or(|count| *count == 0) {
        check.breaks("no suspension was ended by signals, so nothing was tried");
    }
    check
}
