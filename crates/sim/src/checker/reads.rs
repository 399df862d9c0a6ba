//! Reads are true: what somebody looks up or lists was so at some moment during the call, and nothing is left out.

use super::Checker;
use super::calls::Since;
use onward_core::record::{Execution, PayloadBytes, Record, StoredPayload, Transition};
use onward_core::{ExecutionId, Key, Millis, Namespace, Payload, PayloadSlot};
use onward_engine::{Error, FindPage};
use std::collections::BTreeSet;

/// The checker of reads, by name.
const READS: &str = "reads";

/// A walk through a listing, page by page.
#[derive(Debug)]
pub(crate) struct Walk {
    namespace: Namespace,
    since: Since,
    seen: BTreeSet<ExecutionId>,
    last: Option<(Millis, String)>,
}

impl Walk {
    pub(crate) fn new(namespace: Namespace, since: Since) -> Self {
        Self { namespace, since, seen: BTreeSet::new(), last: None }
    }
}

impl Checker {
    /// Somebody looked an execution up.
    pub(crate) fn looked_up(&mut self, since: Since, id: ExecutionId, answer: &Result<Option<Execution>, Error>) {
        match answer {
            // What is being removed is gone for everybody.
            Ok(found) if self.past.was(id, since.seq, found.as_ref()) => {}
            Ok(None) if self.executions.is_removed(id) || self.past.any(id, Execution::is_purging) => {}
            Ok(None) => self.violate(READS, format!("{id} exists and cannot be found")),
            Ok(Some(found)) => self.violate(READS, format!("{id} was shown as it never was: {found:?}")),
            Err(error) => self.failure("a look-up", error),
        }
    }

    /// Somebody read a payload of an execution that was looked up before. Payloads never change unless the store loses
    /// them.
    pub(crate) fn payload_read(
        &mut self,
        since: Since,
        execution: &Execution,
        slot: PayloadSlot,
        answer: &Result<Option<Payload>, Error>,
    ) {
        if since.rollbacks != self.rollbacks {
            return;
        }
        // A new life has no result yet, and what is removed has nothing.
        let same_life = |now: &Execution| now.replays == execution.replays && !now.is_purging();
        if !self.execution(execution.id).is_some_and(same_life) || self.executions.is_removed(execution.id) {
            return;
        }
        let stored = self.payload(execution, slot);
        let sent = if slot == PayloadSlot::Input { self.calls.input(execution.id) } else { None };
        match answer {
            Ok(found) if *found == stored && sent.is_none_or(|sent| stored.as_ref() == Some(sent)) => {}
            Ok(_) => self.violate(READS, format!("the {slot:?} of {} is not what was stored", execution.id)),
            Err(error @ Error::Refused(_)) => {
                self.violate(READS, format!("the {slot:?} of {} cannot be read: {error}", execution.id));
            }
            Err(error) => self.failure("reading a payload", error),
        }
    }

    /// Somebody read what an execution went through: just what was told until it was as it was looked up.
    pub(crate) fn history_read(
        &mut self,
        since: Since,
        execution: &Execution,
        answer: &Result<Vec<Transition>, Error>,
    ) {
        let removed =
            self.executions.is_removed(execution.id) || self.execution(execution.id).is_none_or(Execution::is_purging);
        match answer {
            _ if removed || since.rollbacks != self.rollbacks => {}
            Ok(found) if found == self.chronicle.until(execution) => {}
            Ok(_) | Err(Error::Refused(_)) => {
                self.violate(READS, format!("the history of {} is not what was told: {answer:?}", execution.id));
            }
            Err(error) => self.failure("reading a history", error),
        }
    }

    /// The input or the result of an execution as it is stored.
    pub(super) fn payload(&self, execution: &Execution, slot: PayloadSlot) -> Option<Payload> {
        let stored = match slot {
            PayloadSlot::Input => Some(&execution.input),
            PayloadSlot::Result => execution.result.as_ref(),
            PayloadSlot::Signal(signal) => match self.record(&Key::Signal(execution.id, signal)) {
                Some(Record::Signal(record)) => Some(&record.payload),
                _ => None,
            },
        };
        match stored? {
            StoredPayload::Json(json) => Some(Payload::Json(json.clone())),
            StoredPayload::Beside { content_type, bytes } => match self.record(&Key::Payload(execution.id, slot)) {
                Some(Record::Payload(PayloadBytes(found))) if found.len() as u64 == *bytes => {
                    Payload::bytes(content_type, found.clone()).ok()
                }
                _ => None,
            },
        }
    }

    /// Somebody got a page of a listing: executions of that namespace, newest first, each once.
    pub(crate) fn listed(&mut self, walk: &mut Walk, since: Since, answer: &Result<FindPage, Error>) {
        let page = match answer {
            Ok(page) => page,
            Err(error) => return self.failure("a listing", error),
        };
        for execution in &page.executions {
            let id = execution.id;
            if execution.namespace != walk.namespace || !self.past.was(id, since.seq, Some(execution)) {
                return self.violate(READS, format!("{id} was listed as it never was: {execution:?}"));
            }
            let place = (execution.created_at, id.to_string());
            let in_order = walk.last.as_ref().is_none_or(|last| place < *last);
            if walk.since.rollbacks == self.rollbacks && (!walk.seen.insert(id) || !in_order) {
                return self.violate(READS, format!("{id} was listed twice or out of order"));
            }
            walk.last = Some(place);
        }
    }

    /// Somebody reached the end of a listing: whatever existed when it began was in it.
    pub(crate) fn walked(&mut self, walk: &Walk) {
        if walk.since.rollbacks != self.rollbacks {
            return;
        }
        let missing = self
            .past
            .existing(walk.since.seq)
            .filter(|execution| !self.executions.is_removed(execution.id))
            .filter(|execution| self.execution(execution.id).is_some_and(|now| !now.is_purging()))
            .find(|execution| execution.namespace == walk.namespace && !walk.seen.contains(&execution.id));
        if let Some(id) = missing.map(|execution| execution.id) {
            self.violate(READS, format!("{id} exists and was not listed"));
        }
    }
}
