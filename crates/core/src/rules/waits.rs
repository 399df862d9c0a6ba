//! What suspensions and signals share: taking a signal, ending waits, and going on.

use crate::condition::{Reached, Worth};
use crate::record::{
    Attempt, Execution, Format, HowOver, Mail, Next, Over, Paused, Readiness, Record, SignalEffect, SignalRecord,
    State, Suspension, Taken, WaitEnd, WaitId, WaitOver, WaitRef, Waiting, WhyDelayed, Woke,
};
use crate::rules::ready;
use crate::rules::times::Moment;
use crate::view::unreadable;
use crate::{ExecutionId, Key, Millis, SignalId, Span, Stop, View, What};
use std::collections::{BTreeMap, BTreeSet};

/// What became of a signal.
pub(crate) enum Took {
    /// No open wait takes it.
    None,
    /// The same person counts already.
    Repeated,
    /// It counts.
    Counted,
}

/// Lets a suspension take a signal, if one of its open waits does.
pub(crate) fn take(suspension: &mut Suspension, life: u32, id: SignalId, signal: &SignalRecord) -> Took {
    if suspension.escalated {
        return Took::None;
    }
    let reaches = |wait: &&WaitRef| {
        let meant = signal.only.is_none_or(|only| only.life == life && only.n == wait.n);
        wait.name == signal.wait && meant && !suspension.over.contains_key(*wait)
    };
    let taken = |wait: &WaitRef| Taken {
        signal: id,
        wait: wait.clone(),
        name: signal.name.clone(),
        actor: signal.actor.clone(),
        beside: signal.payload.is_beside(),
    };
    let candidates: Vec<Taken> = suspension.condition.waits().into_iter().filter(reaches).map(taken).collect();
    let worth = |one: &Taken| suspension.with_reached(|condition, reached| condition.worth(reached, one));
    let best = candidates
        .into_iter()
        .map(|one| (worth(&one), one))
        .reduce(|best, one| if one.0 > best.0 { one } else { best });
    match best {
        Some((Worth::Counts, one)) => {
            suspension.taken.push(one);
            Took::Counted
        }
        Some((Worth::Repeated, _)) => Took::Repeated,
        Some((Worth::None, _)) | None => Took::None,
    }
}

/// Reads a signal that the execution has accepted.
pub(crate) fn signal(view: &mut View, id: ExecutionId, signal: SignalId) -> Result<SignalRecord, Stop> {
    let key = Key::Signal(id, signal);
    match view.get(&key)?.as_deref() {
        Some(Record::Signal(record)) => Ok(record.clone()),
        _ => Err(unreadable(&key)),
    }
}

/// Lets a suspension take what is in the mailbox, in order, until its condition holds.
pub(crate) fn take_mail(view: &mut View, execution: &mut Execution, suspension: &mut Suspension) -> Result<(), Stop> {
    let Some(waits) = &execution.waits else { return Ok(()) };
    let names: BTreeSet<_> = suspension.condition.waits().into_iter().map(|wait| wait.name.clone()).collect();
    let mail: Vec<SignalId> =
        waits.mail.iter().filter(|mail| names.contains(&mail.wait)).map(|mail| mail.signal).collect();
    let mut records = Vec::with_capacity(mail.len());
    view.for_each(mail, |view, id| {
        records.push((id, signal(view, execution.id, id)?));
        Ok(())
    })?;
    let mut gone = BTreeSet::new();
    for (id, record) in records {
        if suspension.is_met() {
            break;
        }
        if !matches!(take(suspension, execution.life, id, &record), Took::None) {
            gone.insert(id);
        }
    }
    if let Some(waits) = execution.waits.as_mut().filter(|_| !gone.is_empty()) {
        waits.mail.retain(|mail| !gone.contains(&mail.signal));
    }
    Ok(())
}

/// Finds out which waits of a suspension are over already, and what they took.
pub(crate) fn find_over(view: &mut View, execution: &Execution, suspension: &mut Suspension) -> Result<(), Stop> {
    if execution.waits.as_ref().is_none_or(|waits| waits.over == 0) {
        return Ok(());
    }
    let waits: Vec<WaitRef> = suspension.condition.waits().into_iter().cloned().collect();
    let mut found = Vec::new();
    view.for_each(waits, |view, wait| {
        let key = Key::Wait(execution.id, WaitId { life: execution.life, wait: wait.clone() });
        match view.get(&key)?.as_deref() {
            None => Ok(()),
            Some(Record::Wait(over)) => {
                found.push((wait, over.clone()));
                Ok(())
            }
            Some(_) => Err(unreadable(&key)),
        }
    })?;
    for (wait, WaitOver { how, at, signals, .. }) in found {
        suspension.over.insert(wait, Over { how, at, recorded: true });
        suspension.taken.extend(signals);
    }
    Ok(())
}

/// Ends the waits of a suspension that is over, each with a record, and says how each ended. When its condition is met, the
/// waits that it closes end by signals and the others stay open; otherwise all end by `how`.
pub(crate) fn close(
    view: &mut View,
    execution: &mut Execution,
    suspension: &Suspension,
    how: HowOver,
    now: Millis,
) -> Result<Vec<WaitEnd>, Stop> {
    let closed = if suspension.is_met() { closing(suspension) } else { suspension.waits() };
    give_back(view, execution, suspension, &closed)?;
    forget(execution, &closed);
    let how = if suspension.is_met() { HowOver::Signals } else { how };
    let open = open_since(execution, suspension, &closed);
    let mut ends = Vec::with_capacity(closed.len());
    for wait in closed {
        let over = suspension.over.get(&wait).copied();
        let Over { how, at, recorded } = over.unwrap_or(Over { how, at: now, recorded: false });
        let signals: Vec<Taken> = suspension.taken.iter().filter(|one| one.wait == wait).cloned().collect();
        if !recorded {
            let seq = count_over(execution);
            let key = Key::Wait(execution.id, WaitId { life: execution.life, wait: wait.clone() });
            let record = WaitOver { format: Format, how, at, seq, signals: signals.clone() };
            view.put_new(key, Record::Wait(record))?;
        }
        ends.push(WaitEnd { wait, how, at, signals });
    }
    if execution.waits.is_some() || !open.is_empty() {
        execution.waits.get_or_insert_default().open = open;
    }
    Ok(ends)
}

/// The waits that end with a suspension that is met. Once they are over they may meet another alternative, whose waits end too:
/// a worker that comes to the same condition again gets the same answer.
fn closing(suspension: &Suspension) -> BTreeSet<WaitRef> {
    let mut closed = BTreeSet::new();
    loop {
        let over = |wait: &WaitRef| suspension.over.contains_key(wait) || closed.contains(wait);
        let reached = Reached { taken: &suspension.taken, over: &over };
        let next: BTreeSet<WaitRef> = suspension.condition.closes(reached).into_iter().cloned().collect();
        if next == closed {
            return closed;
        }
        closed = next;
    }
}

/// Takes out of the mailbox what no wait can take any more: it was sent to one wait only, which is over.
fn forget(execution: &mut Execution, closed: &BTreeSet<WaitRef>) {
    let life = execution.life;
    let is_over = |mail: &Mail| {
        let meant = mail.only.filter(|only| only.life == life).map(|only| WaitRef::new(mail.wait.clone(), only.n));
        meant.is_some_and(|wait| closed.contains(&wait))
    };
    if let Some(waits) = &mut execution.waits {
        waits.mail.retain(|mail| !is_over(mail));
    }
}

/// Begins another life, which waits for itself: what was sent to waits of the lives before is meant for none of its own.
pub(crate) fn next_life(execution: &mut Execution) {
    execution.life += 1;
    let life = execution.life;
    if let Some(waits) = &mut execution.waits {
        waits.mail.retain(|mail| mail.only.is_none_or(|only| only.life == life));
    }
}

fn count_over(execution: &mut Execution) -> u32 {
    let waits = execution.waits.get_or_insert_default();
    waits.over += 1;
    waits.over
}

/// The waits of a suspension that stay open, with the time since which they are.
fn open_since(execution: &Execution, suspension: &Suspension, closed: &BTreeSet<WaitRef>) -> BTreeMap<WaitRef, Millis> {
    let before = |wait: &WaitRef| execution.waits.as_ref().and_then(|waits| waits.open.get(wait).copied());
    let open = suspension.condition.waits().into_iter().filter(|wait| !closed.contains(*wait));
    open.map(|wait| (wait.clone(), before(wait).unwrap_or(suspension.since))).collect()
}

/// Ends a suspension: the same attempt goes on, and its handler is told why.
pub(crate) fn resume(
    view: &mut View,
    execution: &mut Execution,
    (suspension, paused): (Suspension, Paused),
    (by, delay): (HowOver, Option<Span>),
    at: Moment,
) -> Result<What, Stop> {
    let waits = close(view, execution, &suspension, by, at.stamp)?;
    let Suspension { continuation, .. } = suspension;
    let woke = Woke { by, at: at.stamp, waits, continuation };
    let number = paused.attempt.number;
    let attempt = Attempt { woke: Some(Box::new(woke)), ..paused.attempt };
    let next = Next::Resume(Box::new(Paused { attempt, ..paused }));
    execution.changed_at = at.stamp;
    let until = delay.map_or(at.now, |delay| at.now + delay);
    let delayed_until = ready::at(view, execution, until, (WhyDelayed::Resumed, next), at.now)?;
    Ok(What::Resumed { attempt: Some(number), resumed_by: by, delayed_until })
}

/// The suspension of an execution, with the attempt that goes on after it.
pub(crate) fn suspended(execution: &Execution) -> Option<(Suspension, Paused)> {
    match &execution.state {
        State::Waiting(Waiting { readiness: Readiness::Suspended(suspension), next: Next::Resume(paused) }) => {
            Some(((**suspension).clone(), (**paused).clone()))
        }
        _ => None,
    }
}

/// Puts a suspension that goes on waiting back into its execution.
pub(crate) fn put_back(execution: &mut Execution, suspension: Suspension, paused: Paused) {
    let (readiness, next) = (Readiness::Suspended(Box::new(suspension)), Next::Resume(Box::new(paused)));
    execution.state = State::Waiting(Waiting { readiness, next });
}

/// Keeps a signal for a wait that takes it later.
pub(crate) fn keep(execution: &mut Execution, id: SignalId, signal: &SignalRecord) {
    execution.waits.get_or_insert_default().mail.push(Mail {
        wait: signal.wait.clone(),
        signal: id,
        only: signal.only,
    });
}

/// Returns to the mailbox what a suspension took for waits that its end leaves open: whoever comes to them again finds their
/// signals. What a record keeps stays there. The mailbox keeps the order in which signals were accepted.
pub(crate) fn give_back(
    view: &mut View,
    execution: &mut Execution,
    suspension: &Suspension,
    closed: &BTreeSet<WaitRef>,
) -> Result<(), Stop> {
    let is_kept = |wait: &WaitRef| closed.contains(wait) || suspension.over.get(wait).is_some_and(|over| over.recorded);
    let open = suspension.taken.iter().filter(|one| !is_kept(&one.wait));
    let mut mail: Vec<Mail> =
        open.map(|one| Mail { wait: one.wait.name.clone(), signal: one.signal, only: None }).collect();
    if mail.is_empty() {
        return Ok(());
    }
    mail.extend(execution.waits.as_mut().map(|waits| std::mem::take(&mut waits.mail)).unwrap_or_default());
    let mut places = BTreeMap::new();
    view.for_each(mail.iter().map(|mail| mail.signal), |view, id| {
        // What cannot be read must not keep an execution from its end: it comes first.
        if let Some(Record::Signal(record)) = view.get(&Key::Signal(execution.id, id))?.as_deref() {
            places.insert(id, (record.seq, record.only));
        }
        Ok(())
    })?;
    mail.sort_by_key(|mail| places.get(&mail.signal).map(|(seq, _)| *seq));
    for mail in &mut mail {
        mail.only = mail.only.or_else(|| places.get(&mail.signal).and_then(|(_, only)| *only));
    }
    execution.waits.get_or_insert_default().mail = mail;
    Ok(())
}

/// What a signal did.
pub(crate) fn effect_of(suspension: &Suspension, took: &Took) -> SignalEffect {
    match took {
        Took::None => SignalEffect::Buffered,
        Took::Repeated => SignalEffect::Ignored,
        Took::Counted if suspension.is_met() => SignalEffect::Resumed,
        Took::Counted => SignalEffect::Counted,
    }
}
