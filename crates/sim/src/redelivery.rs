//! A process that stopped between loading messages and delivering them: it delivers them long after others have, when
//! the receiver has forgotten them, and in any order.

use crate::clock::sleep;
use crate::dice::Dice;
use crate::faults::Fault;
use crate::world::World;
use onward_core::record::{Message, Record};
use onward_core::{
    Command, Deliver, Key, PartitionId, Reply, Span, Stop, Touch, Verb, View, Want, codec, index, limits,
};
use onward_store as store;
use onward_store::{Batch, Partition, Version};
use std::sync::Arc;

/// Messages that such a process delivers at once.
const TOGETHER_MAX: u64 = 4;

/// Delivers old messages again and again until it is calm.
#[derive(Debug)]
pub(crate) struct Redelivery {
    pub(crate) world: Arc<World>,
    pub(crate) dice: Dice,
    pub(crate) pause: Span,
}

impl Redelivery {
    pub(crate) async fn run(mut self) {
        while !self.world.is_calm() {
            sleep(self.dice.span(10, self.pause.0)).await;
            if !self.world.is_calm() {
                self.deliver();
            }
        }
    }

    fn deliver(&mut self) {
        let Some((from, to, messages)) = self.choose() else { return };
        let ids: Vec<_> = messages.iter().map(|message| message.id).collect();
        let command = Command::Deliver(Deliver { from, messages });
        let id = Version(self.dice.wide());
        let hub = &self.world.hub;
        let Some(view) = self.apply(to, &command) else { return };
        hub.fault(Fault::Redelivery, format_args!("{} messages from {from} to {to}", ids.len()));
        let sent = view.writes().filter_map(|(_, record)| match record.map(Arc::as_ref) {
            Some(Record::Message(message)) => Some(message.id),
            _ => None,
        });
        let excused: Vec<_> = ids.into_iter().chain(sent).collect();
        hub.check(|checker| checker.delivered_again(&excused));
        let batch = self.batch(id, to, &view);
        if let Err(error) = hub.commit(hub.memory(), self.world.settings.processes, vec![batch]) {
            hub.violate("contract", format!("old messages could not be delivered: {error}"));
        }
    }

    /// Messages of one pair that were applied before. An acknowledgement of a decision that others still owe and a decision
    /// that a newer one has replaced can do the most harm, so they are taken more often than others.
    fn choose(&mut self) -> Option<(PartitionId, PartitionId, Vec<Message>)> {
        let (old, early, replaced) = self
            .world
            .hub
            .check(|checker| (checker.applied_before(), checker.acknowledged_early(), checker.replaced()));
        let pool = match self.dice.below(10) {
            0..=3 if !early.is_empty() => &early,
            0..=7 if !replaced.is_empty() => &replaced,
            _ => &old,
        };
        let (from, to, first) = self.dice.pick(pool).cloned()?;
        let mut messages = vec![first];
        let others: Vec<_> = old.into_iter().filter(|other| (other.0, other.1) == (from, to)).collect();
        for _ in 1..self.dice.between(1, TOGETHER_MAX) {
            messages.extend(self.dice.pick(&others).map(|(_, _, message)| message.clone()));
        }
        Some((from, to, messages))
    }

    /// Applies the command to what is stored, less what the inbox has forgotten by then.
    fn apply(&self, to: PartitionId, command: &Command) -> Option<View<'static>> {
        let Command::Deliver(Deliver { from, messages }) = command else { return None };
        let hub = &self.world.hub;
        let mut view = View::new(to, self.world.settings.partitions);
        let mut wanted: Vec<Want> = command.keys(to).into_iter().map(Want::Key).collect();
        for _ in 0..=limits::NEED_ROUNDS_MAX {
            for want in wanted {
                // Delivering asks for no pages.
                let Want::Key(key) = want else { return None };
                let mut record = hub.check(|checker| checker.record(&key).cloned());
                if let (Key::Inbox(_, sender), Some(Record::Inbox(inbox))) = (&key, &mut record)
                    && sender == from
                {
                    inbox.applied.retain(|id| messages.iter().all(|message| message.id != *id));
                }
                view.supply(key, record.map(Arc::new));
            }
            match (self.world.rules())(&mut view, command, hub.now()) {
                Ok(Reply::Deliver(applied)) if applied > 0 => return Some(view),
                Err(Stop::Need(needs)) => wanted = needs,
                Ok(_) | Err(Stop::Refuse(_)) => return None,
            }
        }
        None
    }

    /// What the view read and wrote, as a conditional batch.
    fn batch(&self, id: Version, to: PartitionId, view: &View<'_>) -> Batch {
        let mut batch = Batch::new(Partition(to.0), id);
        for (key, touch) in view.touched() {
            let name = store::Key::new(key.to_string());
            batch.expect.push((name.clone(), self.world.hub.check(|checker| checker.version(&name))));
            match touch {
                Touch::Read => {}
                Touch::Deleted => batch.delete.push(name),
                Touch::Written(record) => batch.put.push(row(key, name, record, batch.id)),
            }
        }
        batch.events = codec::encode_events(view.events()).into_iter().collect();
        batch
    }
}

fn row(key: &Key, name: store::Key, record: &Record, version: Version) -> store::Record {
    let entry = |entry: index::Entry| store::Entry { name: store::IndexName::new(entry.name), rank: entry.rank };
    let entries = index::entries(key, record).into_iter().map(entry).collect();
    store::Record { key: name, version, body: codec::encode(record), entries, due: index::due_rank(record) }
}
