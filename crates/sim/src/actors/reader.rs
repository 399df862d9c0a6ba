//! Looks up and lists what others do, and compares it with what was committed.

use super::Caller;
use crate::checker::Walk;
use crate::clock::sleep;
use crate::world::Running;
use onward_core::{ExecutionId, Namespace, PayloadSlot, Span};
use onward_engine::FindFilter;

/// Tries after which a listing that does not get through is left alone.
const TRIES_MAX: u32 = 5;

/// Somebody who reads.
#[derive(Debug)]
pub(crate) struct Reader(pub(crate) Caller);

impl Reader {
    /// Lists every namespace while work goes on.
    pub(crate) async fn run(mut self) {
        while !self.0.world.is_calm() {
            sleep(self.0.dice.span(2_000, 12_000)).await;
            let namespaces = self.0.world.settings.namespaces.clone();
            if let Some(namespace) = self.0.dice.pick(&namespaces) {
                self.0.list(namespace).await;
            }
        }
    }

    /// Lists every namespace once.
    pub(crate) async fn list_all(mut self) {
        for namespace in self.0.world.settings.namespaces.clone() {
            self.0.list(&namespace).await;
        }
    }
}

impl Caller {
    /// Looks an execution up, with its input and its result.
    pub(crate) async fn look_up(&mut self, process: &Running, id: ExecutionId) {
        let (hub, since) = (self.world.hub.clone(), self.since());
        self.say(process, format_args!("look up {id}"));
        let Some(answer) = self.world.ask(process, None, process.engine.get(id)).await else { return };
        hub.check(|checker| checker.looked_up(since, id, &answer));
        let Ok(Some(execution)) = answer else { return };
        for slot in [PayloadSlot::Input, PayloadSlot::Result] {
            let call = process.engine.payload(&execution, slot);
            let Some(answer) = self.world.ask(process, None, call).await else { return };
            hub.check(|checker| checker.payload_read(since, &execution, slot, &answer));
        }
        let call = process.engine.history(&execution);
        let Some(answer) = self.world.ask(process, None, call).await else { return };
        hub.check(|checker| checker.history_read(since, &execution, &answer));
    }

    /// Walks through all executions of a namespace.
    async fn list(&mut self, namespace: &Namespace) {
        let hub = self.world.hub.clone();
        let mut walk = Walk::new(namespace.clone(), self.since());
        let (limit, mut after, mut tries) = (self.dice.between(20, 120) as usize, None::<String>, 0);
        while tries < TRIES_MAX {
            let Some(process) = self.world.any(&mut self.dice) else { return };
            let since = self.since();
            self.say(&process, format_args!("list {limit} of {namespace} after {after:?}"));
            let filter = FindFilter::default();
            let call = process.engine.find(namespace, &filter, after.as_deref(), limit);
            let Some(answer) = self.world.ask(&process, None, call).await else { return };
            hub.check(|checker| checker.listed(&mut walk, since, &answer));
            match answer {
                Ok(page) if page.next.is_none() => return hub.check(|checker| checker.walked(&walk)),
                Ok(page) => after = page.next,
                Err(_) => {
                    tries += 1;
                    sleep(Span(200)).await;
                }
            }
        }
    }
}
