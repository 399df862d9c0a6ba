//! How one process tells another that it committed: a message on the channel of each tag, sent by the commit itself or soon
//! after it.

use super::address::Host;
use super::fault;
use super::keys::Keys;
use super::net::{Net, rest, shown};
use crate::pending_hints::PendingHints;
use crate::{Partition, Result, Wake};
use redis::aio::MultiplexedConnection;
use redis::{PushInfo, PushKind, Value};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, broadcast};
use tokio_util::sync::CancellationToken;

/// Hints buffered for a slow listener; one that falls further behind gets a single hint that names no partition.
pub(super) const HINTS_KEPT: usize = 1024;
/// A longer message is sent in brief, or says only that something was committed.
const MESSAGE_BYTES_MAX: usize = 16 * 1024;
/// The rest before the channels are asked for again.
const REST: Duration = Duration::from_millis(250);

/// A hint as it is sent: the sender, then the partitions and topics of its commits. What does not fit is said in brief, and
/// if that does not fit either, without partitions.
pub(super) fn message(origin: u64, pending: &PendingHints) -> Vec<u8> {
    let in_full = body(origin, pending, false);
    let fitting = in_full.or_else(|| body(origin, pending, true));
    fitting.unwrap_or_else(|| origin.to_be_bytes().to_vec())
}

/// The whole message, or nothing when it does not fit.
fn body(origin: u64, pending: &PendingHints, brief: bool) -> Option<Vec<u8>> {
    let mut message = origin.to_be_bytes().to_vec();
    for (partition, topics) in pending.iter() {
        let topics = topics?;
        message.extend(partition.0.to_be_bytes());
        message.extend(length(topics.iter(brief).count()));
        for topic in topics.iter(brief) {
            message.extend(length(topic.len()));
            message.extend(topic.as_bytes());
        }
        if message.len() > MESSAGE_BYTES_MAX {
            return None;
        }
    }
    Some(message)
}

/// Lengths that do not fit belong to messages that are cut.
fn length(of: usize) -> [u8; 2] {
    u16::try_from(of).unwrap_or(u16::MAX).to_be_bytes()
}

/// The hints of another process's message; one that cannot be read still says that something was committed.
fn hints(message: &[u8], own: u64) -> Vec<Wake> {
    let Some((origin, mut rest)) = message.split_first_chunk() else { return Vec::new() };
    if u64::from_be_bytes(*origin) == own {
        return Vec::new();
    }
    let mut wakes = Vec::new();
    while let Some(wake) = batch_hint(&mut rest) {
        wakes.push(wake);
    }
    if wakes.is_empty() || !rest.is_empty() {
        wakes = vec![Wake { partition: None, topics: Vec::new() }];
    }
    wakes
}

fn batch_hint(rest: &mut &[u8]) -> Option<Wake> {
    let partition = Partition(take(rest)?);
    let topics = (0..take(rest)?)
        .map(|_| {
            let length = usize::from(take(rest)?);
            let (topic, behind) = rest.split_at_checked(length)?;
            *rest = behind;
            Some(String::from_utf8_lossy(topic).into_owned())
        })
        .collect::<Option<_>>()?;
    Some(Wake { partition: Some(partition), topics })
}

fn take(rest: &mut &[u8]) -> Option<u16> {
    let (number, behind) = rest.split_first_chunk()?;
    *rest = behind;
    Some(u16::from_be_bytes(*number))
}

/// Listens to the channels of all tags, on connections of its own.
pub(super) struct Listener {
    pub(super) net: Arc<Net>,
    pub(super) keys: Arc<Keys>,
    pub(super) origin: u64,
    pub(super) hints: broadcast::Sender<Wake>,
}

/// Connections that listen, and the sign that one of them has stopped.
pub(super) struct Subscribed {
    _connections: Vec<MultiplexedConnection>,
    ended: Arc<Notify>,
}

impl Listener {
    /// Listens until the store is closed, and tells that something may have been missed whenever it had to start again.
    pub(super) async fn serve(self, mut subscribed: Subscribed, closed: CancellationToken) {
        loop {
            tokio::select! {
                biased;
                () = closed.cancelled() => return,
                () = subscribed.ended.notified() => {}
            }
            subscribed = tokio::select! {
                biased;
                () = closed.cancelled() => return,
                subscribed = self.again() => subscribed,
            };
            // Nobody listening is the normal case.
            let _ = self.hints.send(Wake { partition: None, topics: Vec::new() });
        }
    }

    async fn again(&self) -> Subscribed {
        loop {
            rest(REST).await;
            match self.subscribe().await {
                Ok(subscribed) => return subscribed,
                Err(error) => tracing::debug!(%error, "no hints from other processes at the moment"),
            }
        }
    }

    /// Asks for the channels at the servers that have them.
    pub(super) async fn subscribe(&self) -> Result<Subscribed> {
        self.net.map().await?;
        let ended = Arc::new(Notify::new());
        let mut connections = Vec::new();
        for host in self.net.primaries() {
            let own = self.keys.tags().iter().filter(|tag| self.net.host(tag.slot) == host);
            let channels: Vec<&str> = own.map(|tag| tag.channel.as_str()).collect();
            if !channels.is_empty() {
                connections.push(self.subscribe_at(&host, &channels, &ended).await?);
            }
        }
        Ok(Subscribed { _connections: connections, ended })
    }

    async fn subscribe_at(&self, host: &Host, channels: &[&str], ended: &Arc<Notify>) -> Result<MultiplexedConnection> {
        let (sender, own, end) = (self.hints.clone(), self.origin, Arc::clone(ended));
        let hear = move |push: PushInfo| {
            match push.kind {
                PushKind::SMessage => {
                    if let Some(Value::BulkString(message)) = push.data.get(1) {
                        for wake in hints(message, own) {
                            let _ = sender.send(wake);
                        }
                    }
                }
                // The slot moved, or the connection is gone.
                PushKind::SUnsubscribe | PushKind::Disconnection => end.notify_one(),
                _ => {}
            }
            Ok(())
        };
        let mut connection =
            self.net.connect(host, hear).await.map_err(|error| fault::unreachable(&shown(host), error))?;
        for channel in channels {
            let mut command = redis::cmd("SSUBSCRIBE");
            command.arg(channel);
            let answer = connection.send_packed_command(&command).await;
            if let Value::ServerError(error) = answer.map_err(|error| fault::unreachable(&shown(host), error))? {
                return Err(fault::refused(&shown(host), &error));
            }
        }
        Ok(connection)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Batch, Version};
    use onward_fuzz::proptest::prelude::*;
    use onward_fuzz::{fuzz, near_bytes};

    fn committed(batches: &[(u16, &[&str])]) -> PendingHints {
        let mut pending = PendingHints::default();
        for (partition, topics) in batches {
            let mut batch = Batch::new(Partition(*partition), Version(1));
            batch.wake = topics.iter().map(|&topic| topic.to_owned()).collect();
            pending.add(&batch);
        }
        pending
    }

    #[test]
    fn hints_survive_their_message() {
        let sent = message(7, &committed(&[(3, &["topic", ""]), (4095, &[])]));
        let expected = [
            Wake { partition: Some(Partition(3)), topics: vec![String::new(), "topic".into()] },
            Wake { partition: Some(Partition(4095)), topics: vec![] },
        ];
        assert_eq!(hints(&sent, 8), expected);
        assert_eq!(hints(&sent, 7), [], "a process does not hear itself");
        let nowhere = [Wake { partition: None, topics: vec![] }];
        assert_eq!(hints(&sent[..sent.len() - 1], 8), nowhere);
        assert_eq!(hints(&message(7, &committed(&[(3, &["a"]), (4, &["\t"])])), 8), nowhere);
        let long = ["a", "b", "c", "d", "e", "f", "g", "h"].map(|topic| topic.repeat(200));
        let long: Vec<&str> = long.iter().map(String::as_str).collect();
        let many: Vec<(u16, &[&str])> = (0..100).map(|partition| (partition, &long[..])).collect();
        assert_eq!(hints(&message(7, &committed(&many)), 8), nowhere);
    }

    #[test]
    fn what_is_too_long_is_said_in_brief() {
        let names: Vec<String> = (0..30).map(|name| format!("topic={name:016}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let some = |count: u16| (0..count).map(|partition| (partition, &names[..])).collect::<Vec<_>>();
        assert_eq!(hints(&message(7, &committed(&some(2))), 8)[1].topics, names);
        let told = hints(&message(7, &committed(&some(100))), 8);
        assert_eq!(told.len(), 100);
        assert!(told.iter().all(|wake| wake.partition.is_some() && wake.topics == ["topic"]));
    }

    /// Whatever comes over a channel, somebody else's commit is never passed over, and nothing is made up.
    #[test]
    fn fuzz_messages_of_other_processes() {
        let sent = message(7, &committed(&[(3, &["topic", ""]), (4095, &[]), (4, &["ready/default"])]));
        fuzz(near_bytes(Just(sent)), |bytes| {
            let heard = hints(&bytes, 7 << 56);
            let is_own = bytes.starts_with(&(7_u64 << 56).to_be_bytes());
            prop_assert_eq!(heard.is_empty(), bytes.len() < 8 || is_own);
            let told: usize = heard.iter().map(|wake| wake.topics.len() + 1).sum();
            prop_assert!(told <= bytes.len(), "{heard:?}");
            Ok(heard.iter().any(|wake| wake.partition.is_some()))
        });
    }
}
