//! The feed: a reader that is killed again and again sees what is stored, each event once and in order.

use crate::history::History;
use crate::report::Check;
use std::collections::BTreeMap;

/// How often each event was seen, and how often it is stored.
fn counts(history: &History) -> BTreeMap<&str, (usize, usize)> {
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for (event, _) in &history.saw {
        counts.entry(&event.text).or_default().0 += 1;
    }
    for event in &history.stored {
        counts.entry(&event.text).or_default().1 += 1;
    }
    counts
}

pub(super) fn once(history: &History) -> Check {
    let mut check = Check::new("the reader sees no event twice");
    for (text, (seen, stored)) in counts(history) {
        check.looked_at += 1;
        if seen > stored.max(1) {
            check.breaks(format!("seen {seen} times: {text}"));
        }
    }
    check
}

pub(super) fn nothing_missed(history: &History) -> Check {
    let mut check = Check::new("the reader misses no event");
    let mut passed_over = 0;
    for (text, (seen, stored)) in counts(history) {
        check.looked_at += stored;
        if seen >= stored {
            continue;
        }
        if history.gaps.is_empty() {
            check.breaks(format!("missed: {text}"));
        } else {
            passed_over += stored - seen;
        }
    }
    if !history.gaps.is_empty() {
        check.note = format!("{passed_over} passed over, {} gaps told", history.gaps.len());
    }
    if !history.gaps.is_empty() && !history.faults.iter().any(|fault| fault.primary) {
        check.breaks(format!("{} gaps were told although nothing was lost", history.gaps.len()));
    }
    check
}

pub(super) fn in_order(history: &History) -> Check {
    let mut check = Check::new("the reader sees an execution in order");
    let mut stored: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for event in &history.stored {
        stored.entry(&event.subject).or_default().push(&event.text);
    }
    let mut seen: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (event, _) in &history.saw {
        seen.entry(&event.subject).or_default().push(&event.text);
    }
    for (subject, texts) in seen {
        check.looked_at += 1;
        let order = stored.get(subject).cloned().unwrap_or_default();
        let place = |text: &str| order.iter().position(|other| *other == text);
        // Only what is both seen and stored has an order to keep; the rest is judged by the others.
        let places: Vec<usize> = texts.iter().filter_map(|text| place(text)).collect();
        if let Some(at) = places.windows(2).position(|pair| pair[0] > pair[1]) {
            check.breaks(format!("{subject}: event {} was seen before event {}", places[at], places[at + 1]));
        }
    }
    check
}

pub(super) fn true_to_the_end(history: &History) -> Check {
    let mut check = Check::new("what the reader saw is stored");
    let stored: std::collections::BTreeSet<&str> = history.stored.iter().map(|event| event.text.as_str()).collect();
    let mut undone = 0;
    for (event, at) in &history.saw {
        check.looked_at += 1;
        if stored.contains(event.text.as_str()) {
            continue;
        }
        if history.may_undo(*at) {
            undone += 1;
        } else {
            check.breaks(format!("seen at {at} and not stored: {}", event.text));
        }
    }
    if undone > 0 {
        check.note = format!("{undone} undone from the last second");
    }
    check
}

pub(super) fn dated(history: &History) -> Check {
    /// How far the reader may be behind before this says nothing any more, in milliseconds.
    const SLACK: i64 = 10_000;
    let mut check = Check::new("no event is dated in the future");
    let ahead = |(event, at): &(crate::Event, u64)| event.time.cast_signed() - at.cast_signed();
    let mut all: Vec<i64> = history.saw.iter().map(ahead).collect();
    all.sort_unstable();
    // An event is seen after it happened, so what the two clocks differ by bounds how much its time can be ahead.
    let Some(usual) = all.get(all.len() / 2) else { return check };
    for seen in &history.saw {
        check.looked_at += 1;
        if ahead(seen) > usual + SLACK {
            check.breaks(format!("dated {} ms ahead: {}", ahead(seen) - usual, seen.0.text));
        }
    }
    check
}
