//! Idempotency keys: each stands for one execution for as long as it is remembered.

use onward_core::record::Execution;
use onward_core::{ExecutionId, IdempotencyKey, Millis, Namespace, limits};
use std::collections::BTreeMap;

/// The newest execution of each idempotency key and when the key is forgotten.
#[derive(Debug, Default)]
pub(super) struct Keys(BTreeMap<(Namespace, IdempotencyKey), (ExecutionId, Millis)>);

impl Keys {
    /// A new execution is the only one of its key while the key is remembered.
    pub(super) fn accepted(&mut self, new: &Execution, now: Millis) -> Result<(), String> {
        let Some(key) = &new.idempotency_key else { return Ok(()) };
        let window = new.policy.dedup_window.unwrap_or(limits::DEDUP_WINDOW_DEFAULT);
        // The writer's clock may run behind, which can shorten the window it wrote, so the model keeps the record's.
        let until = new.created_at + window;
        match self.0.insert((new.namespace.clone(), key.clone()), (new.id, until)) {
            Some((other, remembered)) if now < remembered => {
                Err(format!("key {key} stands for it and for {other}, remembered until {remembered}"))
            }
            _ => Ok(()),
        }
    }

    /// Until when the key of an execution is remembered.
    pub(super) fn remembered_until(&self, namespace: &Namespace, key: &IdempotencyKey) -> Option<Millis> {
        self.0.get(&(namespace.clone(), key.clone())).map(|(_, until)| *until)
    }

    /// The store lost the birth of an execution, and with it the key that stood for it.
    pub(super) fn lost(&mut self, id: ExecutionId) {
        self.0.retain(|_, (of, _)| *of != id);
    }
}
