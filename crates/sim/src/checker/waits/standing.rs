//! What goes on waiting lacks something, as its worker asked for it, and took whatever it can take.

use super::condition::{Come, Use, gains, holds, named, times};
use super::scene::{Scene, mail, suspension};
use super::{Waits, scene};
use onward_core::record::{HowOver, Next, Over, State, Suspension, Waiting};
use onward_core::{Condition, NewSuspension, Span, What};

impl Scene<'_> {
    /// Judges the suspension that stands after a commit, if one does.
    pub(super) fn stands(&self, waits: &Waits) -> Result<(), String> {
        let Some(now) = suspension(self.after) else { return Ok(()) };
        self.ends_are_recorded(now)?;
        self.took_rightly(now)?;
        self.ended_rightly(now)?;
        let come = Come { taken: now.taken.clone(), over: now.over.keys().cloned().collect() };
        if !now.escalated && holds(&now.condition, &come) {
            return Err(format!("it goes on waiting although all has come: {now:?}"));
        }
        self.as_asked(now, waits)?;
        if now.escalated {
            return Ok(());
        }
        for mail in mail(self.after) {
            let open = named(&now.condition).into_iter().filter(|wait| !come.over.contains(wait));
            for wait in open.filter(|wait| self.is_meant_for(mail.signal, self.after.life, wait)) {
                let taken = self.as_taken(mail.signal, &wait);
                if taken.is_some_and(|taken| gains(&now.condition, &come, &taken) == Use::Counts) {
                    return Err(format!("it left signal {} in its mailbox, which {wait} waits for", mail.signal));
                }
            }
        }
        Ok(())
    }

    /// A wait that is over has its record, and is over for the suspension too, in the same way.
    fn ends_are_recorded(&self, now: &Suspension) -> Result<(), String> {
        for wait in named(&now.condition) {
            let (known, record) = (now.over.get(&wait), self.over(self.after.life, &wait));
            let agree = match (known, record) {
                (Some(Over { recorded: true, how, at }), Some(record)) => (*how, *at) == (record.how, record.at),
                (None | Some(Over { recorded: false, .. }), None) => true,
                _ => false,
            };
            if !agree {
                return Err(format!("wait {wait} is over as {known:?}, and recorded as {record:?}"));
            }
            if let Some(record) = record.filter(|record| record.signals.iter().any(|one| !now.taken.contains(one))) {
                return Err(format!("wait {wait} is over and its signals do not count: {record:?}"));
            }
        }
        Ok(())
    }

    /// Everything that was taken was meant for its wait, and counted when it came.
    fn took_rightly(&self, now: &Suspension) -> Result<(), String> {
        let recorded = scene::recorded(now);
        let of_records = now.taken.iter().filter(|taken| recorded.contains(&taken.wait)).cloned().collect();
        let mut come = Come { taken: of_records, over: recorded.clone() };
        for taken in now.taken.iter().filter(|taken| !recorded.contains(&taken.wait)) {
            let meant = self.is_meant_for(taken.signal, self.after.life, &taken.wait);
            if !meant || self.as_taken(taken.signal, &taken.wait).as_ref() != Some(taken) {
                return Err(format!("{taken:?} was not meant for this wait"));
            }
            if gains(&now.condition, &come, taken) != Use::Counts {
                return Err(format!("{taken:?} was taken and counts for nothing"));
            }
            come.taken.push(taken.clone());
        }
        Ok(())
    }

    /// A single wait ended by its time, which is over by the store's clock, or by an operator.
    fn ended_rightly(&self, now: &Suspension) -> Result<(), String> {
        let before = self.before.and_then(suspension);
        let times = times(&now.condition);
        for (wait, over) in now.over.iter().filter(|(_, over)| !over.recorded) {
            if before.is_some_and(|before| before.since == now.since && before.over.get(wait) == Some(over)) {
                continue;
            }
            let is_due = times.iter().any(|(of, until)| of == wait && *until <= self.now);
            let closes = |what: &What| matches!(what, What::WaitClosed { wait: closed } if closed == wait);
            let told = self.events.iter().any(|event| closes(&event.what));
            let right = match over.how {
                HowOver::Timeout => is_due,
                HowOver::Operator => told,
                HowOver::Signals => false,
            };
            if !right {
                return Err(format!("wait {wait} ended at {} as {over:?}", self.now));
            }
        }
        Ok(())
    }

    /// A suspension that begins is the one that its worker asked for.
    fn as_asked(&self, now: &Suspension, waits: &Waits) -> Result<(), String> {
        let State::Waiting(Waiting { next: Next::Resume(paused), .. }) = &self.after.state else { return Ok(()) };
        let Some((command, _)) = paused.attempt.pauses.back() else {
            return Err("nobody asked for its suspension".to_owned());
        };
        let Some(asked) = waits.request(*command) else { return Ok(()) };
        let NewSuspension { timeout, timeout_at, on_timeout, resume_delay, continuation, .. } = asked;
        let until = timeout.map(|span| now.since + span).or(*timeout_at);
        let timed = match (now.timeout, until) {
            (None, None) => true,
            (Some(found), Some(until)) => found.then == *on_timeout && found.at <= until,
            _ => false,
        };
        let same = (now.delay, &now.continuation) == (*resume_delay, continuation);
        if timed && same && alike(&asked.condition, &now.condition, now.since) {
            return Ok(());
        }
        Err(format!("it waits for {now:?}, and its worker asked for {asked:?}"))
    }
}

/// Whether a condition is the one that was asked for, with times in place of lengths of time.
fn alike(asked: &Condition, found: &Condition, since: onward_core::Millis) -> bool {
    let timed =
        |timeout: &Option<Span>, asked: &Option<onward_core::Millis>, until: &Option<onward_core::Millis>| match (
            timeout, until,
        ) {
            (Some(timeout), Some(until)) => *until <= since + *timeout,
            (None, until) => until == asked,
            (Some(_), None) => false,
        };
    match (asked, found) {
        (Condition::All { of }, Condition::All { of: found })
        | (Condition::Any { of }, Condition::Any { of: found }) => {
            of.len() == found.len() && of.iter().zip(found).all(|(asked, found)| alike(asked, found, since))
        }
        (
            Condition::Wait { wait, names, timeout, until },
            Condition::Wait { wait: w, names: n, timeout: None, until: found },
        ) => (wait, names) == (w, n) && timed(timeout, until, found),
        (
            Condition::Count { n, distinct, waits, names, timeout, until },
            Condition::Count { n: m, distinct: d, waits: w, names: a, timeout: None, until: found },
        ) => (n, distinct, waits, names) == (m, d, w, a) && timed(timeout, until, found),
        (Condition::Operator, Condition::Operator) | (Condition::Timeout, Condition::Timeout) => true,
        _ => false,
    }
}
