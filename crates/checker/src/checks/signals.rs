//! Signals: an acknowledged one is neither lost nor applied twice, and a repeat gets the first answer.

use crate::history::History;
use crate::report::Check;
use crate::wait_lines::{Accepted, Waited};
use std::collections::{BTreeMap, BTreeSet};

/// What the senders know one signal by: the execution, the name it is sent to, and its key.
type Name<'a> = (&'a str, &'a str, &'a str);

/// The refusal of a signal whose execution has ended.
const ENDED: &str = "execution_finished";

pub(super) fn kept(history: &History) -> Check {
    let mut check = Check::new("an acknowledged signal is not lost");
    let (mut excused, mut seen) = (0, BTreeSet::new());
    let events = announced(history);
    let mut effects: BTreeMap<&str, usize> = BTreeMap::new();
    for answer in &history.signalled {
        if !seen.insert((&answer.execution, &answer.signal)) {
            continue;
        }
        check.looked_at += 1;
        *effects.entry(&answer.effect).or_default() += 1;
        let told = events.get(&(answer.execution.as_str(), answer.signal.as_str())).copied().unwrap_or(0);
        let wrong = match history.waited.get(&answer.execution) {
            None => Some("its execution has none".to_owned()),
            Some(waited) => wrong(history, waited, &answer.signal, &answer.effect),
        };
        let wrong = wrong.or_else(|| (told != 1).then(|| format!("it has {told} events")));
        match wrong {
            Some(_) if history.may_lose(answer.at) => excused += 1,
            Some(why) => check.breaks(format!(
                "{}: signal {} to {}, {} at {}: {why}",
                answer.execution, answer.signal, answer.wait, answer.effect, answer.at
            )),
            None => {}
        }
    }
    let mut notes: Vec<String> = effects.iter().map(|(effect, count)| format!("{count} {effect}")).collect();
    if excused > 0 {
        notes.push(format!("{excused} lost from the last second"));
    }
    check.note = notes.join(", ");
    if check.looked_at == 0 && history.expects_waits() {
        check.breaks("no signal was acknowledged");
    }
    check
}

/// How often each signal is in the feed.
fn announced(history: &History) -> BTreeMap<(&str, &str), usize> {
    let mut counts = BTreeMap::new();
    for event in history.stored.iter().filter(|event| event.name == "signalled") {
        if let Some(signal) = &event.signal {
            *counts.entry((event.subject.as_str(), signal.as_str())).or_default() += 1;
        }
    }
    counts
}

/// What contradicts the answer that a signal got.
fn wrong(history: &History, waited: &Waited, signal: &str, effect: &str) -> Option<String> {
    let Some(accepted) = waited.signals.iter().find(|one| one.signal == signal) else {
        return Some("there is no such signal".into());
    };
    if accepted.effect != effect {
        return Some(format!("its record says {}", accepted.effect));
    }
    let takers = waited.waits.iter().filter(|wait| wait.signals.iter().any(|one| one == signal)).count();
    let kept = waited.kept.iter().filter(|one| *one == signal).count();
    let went_on = history.listed.get(&waited.execution).is_some_and(|states| states == &["completed"]);
    let fits = match effect {
        "ignored" => takers == 0 && kept == 0,
        "buffered" if takers == 0 && kept == 0 => passed_over(waited, accepted),
        "buffered" => takers + kept == 1,
        // What an execution had counted when it ended otherwise is in no wait.
        _ => kept == 0 && (takers == 1 || takers == 0 && !went_on),
    };
    (!fits).then(|| format!("{takers} waits took it and {kept} places keep it"))
}

/// Whether a wait may have dropped a kept signal because only distinct people counted: the sender is unknown, or counted.
fn passed_over(waited: &Waited, accepted: &Accepted) -> bool {
    let of = |id: &String| waited.signals.iter().find(|one| one.signal == *id);
    let people = waited.waits.iter().filter(|wait| name(&wait.wait) == accepted.wait);
    people
        .filter_map(|wait| wait.signals.iter().map(|id| of(id)?.by.as_ref()).collect::<Option<Vec<_>>>())
        .any(|people| people.len() > 1 && accepted.by.as_ref().is_none_or(|by| people.contains(&by)))
}

/// The name of a wait.
fn name(wait: &str) -> &str {
    wait.rsplit_once('#').map_or(wait, |(name, _)| name)
}

pub(super) fn once(history: &History) -> Check {
    let mut check = Check::new("no signal is applied twice");
    let mut told: BTreeMap<&str, (&str, &str)> = BTreeMap::new();
    for run in &history.told {
        let mut here = BTreeSet::new();
        for sent in &run.signals {
            let place = (run.execution.as_str(), run.wait.as_str());
            let first = *told.entry(sent).or_insert(place);
            if first != place {
                check.breaks(format!("{}, {}: {sent} was told for {} {} as well", place.0, place.1, first.0, first.1));
            }
            if !here.insert(sent) {
                check.breaks(format!("{}, {}: {sent} was told twice", place.0, place.1));
            }
        }
    }
    for waited in history.waited.values() {
        let mut taken = BTreeSet::new();
        for id in waited.waits.iter().flat_map(|wait| &wait.signals) {
            check.looked_at += 1;
            if !taken.insert(id) {
                check.breaks(format!("{}: waits took signal {id} twice", waited.execution));
            }
        }
    }
    check
}

pub(super) fn repeats(history: &History) -> Check {
    let mut check = Check::new("a repeated signal gets the first answer");
    let mut first: BTreeMap<Name<'_>, (&str, &str, u64)> = BTreeMap::new();
    let mut repeats: BTreeMap<Name<'_>, (u64, u64)> = BTreeMap::new();
    for answer in &history.signalled {
        let name = (answer.execution.as_str(), answer.wait.as_str(), answer.key.as_str());
        let got = (answer.signal.as_str(), answer.effect.as_str());
        let (signal, effect, at) = first.entry(name).or_insert((got.0, got.1, answer.at));
        if (*signal, *effect) != got {
            check.breaks(format!("{name:?}: {} {}, and then {} {}", signal, effect, got.0, got.1));
        }
        *at = (*at).min(answer.at);
        let (asked, count) = repeats.entry(name).or_default();
        (*asked, *count) = ((*asked).max(answer.asked), *count + 1);
    }
    check.looked_at = repeats.values().filter(|(_, count)| *count > 1).count();
    for refused in &history.not_taken {
        let name = (refused.execution.as_str(), refused.wait.as_str(), refused.key.as_str());
        let code = &refused.code;
        if first.get(&name).is_some_and(|(_, _, at)| *at <= refused.asked) && !history.may_lose(first[&name].2) {
            check.breaks(format!("{name:?}: acknowledged at {}, and refused later: {code}", first[&name].2));
        }
        if code == ENDED && repeats.get(&name).is_some_and(|(asked, _)| *asked > refused.at) {
            check.breaks(format!("{name:?}: refused at {}, since all was over, and taken later", refused.at));
        }
    }
    if check.looked_at == 0 && history.expects_waits() {
        check.breaks("no signal was repeated, so nothing was tried");
    }
    check
}
