//! How processes tell each other that something was committed: NOTIFY on a connection of its own, after the commit.
//!
//! Hints that follow each other closely are merged, and sent only while another process listens, since a commit that notifies
//! takes a lock of the whole database. Every listener holds a shared advisory lock for as long as it lives, which the
//! server drops when the process or its connection ends; a newcomer also says hello with an empty hint. Who believes to be
//! alone looks for such locks at most once a second, and only when there is something to tell.

use super::PostgresState;
use super::address::Address;
use super::link::{self, Driver};
use super::pause::{self, Pause};
use crate::pending_hints::{MERGED_OVER, PendingHints};
use crate::{Batch, Partition, Result, Wake};
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::{Notify, broadcast};
use tokio_postgres::{AsyncMessage, Client};
use tokio_util::sync::CancellationToken;

const LOOKED_EVERY: Duration = Duration::from_secs(1);
/// Hints buffered for a slow listener; one that falls further behind gets a single hint that names no partition.
const HINTS_KEPT: usize = 1024;
/// Postgres takes less than 8000 bytes at a time; one partition's topics always fit.
const PAYLOAD_BYTES_MAX: usize = 7000;
/// The second number of the advisory lock that listeners share; partitions have lower ones.
const PRESENCE: i32 = i32::MAX;

const LISTEN: &str = "SELECT pg_backend_pid(), pg_advisory_lock_shared($1, $2)";
const TELL: &str = "SELECT pg_notify($1, payload) FROM unnest($2::text[]) AS payload";
const OTHERS: &str = "SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database \
    WHERE d.datname = current_database() AND l.locktype = 'advisory' AND l.objsubid = 2 AND l.granted \
    AND l.classid::bigint = $1 AND l.objid::bigint = $2 AND l.pid <> pg_backend_pid()";

/// What was committed here and heard from elsewhere.
pub(super) struct Wakes {
    /// Commits of this process that other processes have not been notified of yet.
    pending: Mutex<PendingHints>,
    bell: Notify,
    hints: broadcast::Sender<Wake>,
    others: AtomicBool,
    hello: Notify,
}

impl Wakes {
    pub(super) fn new() -> Self {
        Self {
            pending: Mutex::default(),
            bell: Notify::new(),
            hints: broadcast::channel(HINTS_KEPT).0,
            others: AtomicBool::new(false),
            hello: Notify::new(),
        }
    }

    /// Remembers that a batch was committed.
    pub(super) fn committed(&self, batch: &Batch) {
        self.pending.lock().add(batch);
        self.bell.notify_one();
    }

    /// Hints from other processes until the store is closed.
    pub(super) fn watch(&self, stop: CancellationToken) -> BoxStream<'static, Wake> {
        let hints = self.hints.subscribe();
        let next = |(mut hints, stop): (broadcast::Receiver<Wake>, CancellationToken)| async move {
            let hint = tokio::select! {
                biased;
                () = stop.cancelled() => return None,
                hint = hints.recv() => hint,
            };
            match hint {
                Ok(wake) => Some((wake, (hints, stop))),
                Err(broadcast::error::RecvError::Lagged(_)) => Some((nowhere(), (hints, stop))),
                Err(broadcast::error::RecvError::Closed) => None,
            }
        };
        stream::unfold((hints, stop), next).boxed()
    }

    /// Takes the pending hints as payloads of a bounded size: lines of a partition and its topics.
    fn payloads(&self) -> Vec<String> {
        let pending = self.pending.lock().take();
        let mut payloads = vec![String::new()];
        for (partition, topics) in pending.iter() {
            // A line without a number says that something was committed, and nothing else.
            let mut line = topics.map(|_| partition.to_string()).unwrap_or_default();
            topics.into_iter().flat_map(|topics| topics.iter(false)).for_each(|topic| line.extend(["\t", topic]));
            match payloads.last_mut() {
                Some(last) if last.len() + line.len() < PAYLOAD_BYTES_MAX => last.extend([line.as_str(), "\n"]),
                _ => payloads.push(line + "\n"),
            }
        }
        payloads
    }

    fn hear(&self, payload: &str) {
        self.others.store(true, Ordering::Release);
        self.hello.notify_one();
        for line in payload.lines() {
            let mut parts = line.split('\t');
            let partition = parts.next().and_then(|number| number.parse().ok()).map(Partition);
            // Nobody may be listening.
            let _ = self.hints.send(Wake { partition, topics: parts.map(str::to_owned).collect() });
        }
    }
}

fn nowhere() -> Wake {
    Wake { partition: None, topics: Vec::new() }
}

/// The channel of a store.
fn channel(state: &PostgresState) -> String {
    format!("onward_{:032x}", state.meta.store_id)
}

/// Listens and tells until the store is closed, and connects again whenever the connection is lost.
pub(super) async fn run(
    address: Arc<Address>,
    state: Arc<PostgresState>,
    stop: CancellationToken,
    ready: tokio::sync::oneshot::Sender<()>,
) {
    let mut pause = Pause::default();
    let mut ready = Some(ready);
    loop {
        let serving = async {
            let (client, lost) = listen(&address, &state).await?;
            if ready.take().is_none_or(|ready| ready.send(()).is_err()) {
                // What was told meanwhile is lost, so everybody looks around.
                let _ = state.wakes.hints.send(nowhere());
            }
            pause.worked();
            tell(&client, lost, &state).await
        };
        let result = tokio::select! {
            biased;
            () = stop.cancelled() => return,
            result = serving => result,
        };
        if let Err(error) = result {
            tracing::debug!(%error, "hints from other processes are interrupted");
        }
        drop(ready.take());
        pause.failed();
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            () = pause::rest(pause.left()) => {}
        }
    }
}

/// Connects, shows itself, and greets the others.
async fn listen(address: &Address, state: &Arc<PostgresState>) -> Result<(Client, Arc<Notify>)> {
    let (client, driver) = link::dial(address).await?;
    let (own, lost) = (Arc::new(std::sync::OnceLock::new()), Arc::new(Notify::new()));
    tokio::spawn(drive(driver, Arc::clone(&own), Arc::clone(&lost), Arc::clone(state)));
    let channel = channel(state);
    let setting_up = async {
        let row = client.query_one(LISTEN, &[&state.lock_id, &PRESENCE]).await?;
        let _ = own.set(row.try_get::<_, i32>(0)?);
        // A hint needs no disk.
        client.batch_execute(&format!("SET synchronous_commit = off; LISTEN {channel}; NOTIFY {channel}")).await
    };
    let set_up = pause::in_time(setting_up).await.ok_or_else(super::fault::silent)?;
    set_up.map_err(super::fault::reading)?;
    Ok((client, lost))
}

/// Keeps the connection going and passes on what comes from other processes.
async fn drive(mut driver: Driver, own: Arc<std::sync::OnceLock<i32>>, lost: Arc<Notify>, state: Arc<PostgresState>) {
    let mut messages = stream::poll_fn(move |context| driver.poll_message(context));
    while let Some(Ok(message)) = messages.next().await {
        if let AsyncMessage::Notification(hint) = message
            && own.get() != Some(&hint.process_id())
        {
            state.wakes.hear(hint.payload());
        }
    }
    lost.notify_one();
}

/// Sends what was committed here, for as long as the connection holds.
async fn tell(client: &Client, lost: Arc<Notify>, state: &PostgresState) -> Result<()> {
    let (wakes, channel) = (&state.wakes, channel(state));
    let prepare = pause::in_time(client.prepare(TELL)).await.ok_or_else(super::fault::silent)?;
    let tell = prepare.map_err(super::fault::reading)?;
    let (mut looked, mut merged) = (Pause::default(), Pause::default());
    loop {
        tokio::select! {
            biased;
            () = lost.notified() => return Ok(()),
            () = wakes.bell.notified() => pause::rest(merged.left()).await,
        }
        // The bell may have rung for what was told in the last round.
        if wakes.pending.lock().is_empty() {
            continue;
        }
        if !wakes.others.load(Ordering::Acquire) {
            tokio::select! {
                biased;
                () = lost.notified() => return Ok(()),
                () = wakes.hello.notified() => {}
                () = pause::rest(looked.left()) => {}
            }
        }
        let telling = async {
            if looked.is_over() {
                looked.wait(LOOKED_EVERY);
                let values: [i64; 2] = [i64::from(state.lock_id.cast_unsigned()), i64::from(PRESENCE)];
                let row = client.query_one(OTHERS, &[&values[0], &values[1]]).await?;
                wakes.others.store(row.try_get::<_, i64>(0)? > 0, Ordering::Release);
            }
            let payloads = wakes.payloads();
            if wakes.others.load(Ordering::Acquire) {
                client.execute(&tell, &[&channel, &payloads]).await?;
                merged.wait(MERGED_OVER);
            }
            Ok::<(), tokio_postgres::Error>(())
        };
        let told = pause::in_time(telling).await.ok_or_else(super::fault::silent)?;
        told.map_err(super::fault::reading)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Version;
    use onward_fuzz::proptest::prelude::*;
    use onward_fuzz::{fuzz, near};

    #[test]
    fn what_cannot_be_told_in_full_names_no_place() {
        let (wakes, mut heard) = (Wakes::new(), Vec::new());
        let mut hints = wakes.hints.subscribe();
        for (partition, topics) in [(5, vec!["a"]), (6, vec!["tab\t"]), (7, vec!["b", "c\n"]), (8, vec![])] {
            let mut batch = Batch::new(Partition(partition), Version(1));
            batch.wake = topics.into_iter().map(str::to_owned).collect();
            wakes.committed(&batch);
        }
        wakes.payloads().iter().for_each(|payload| wakes.hear(payload));
        while let Ok(hint) = hints.try_recv() {
            heard.push(hint);
        }
        let told = |partition, topic: &[&str]| Wake {
            partition: Some(Partition(partition)),
            topics: topic.iter().map(|&topic| topic.to_owned()).collect(),
        };
        assert_eq!(heard, [told(5, &["a"]), nowhere(), nowhere(), told(8, &[])]);
    }
    /// Whatever comes over the channel, every line of it is a hint, and nothing is made up.
    #[test]
    fn fuzz_payloads_of_other_processes() {
        fuzz(near("([0-9]{1,4}(\t[a-z/-]{1,9}){0,3}\n){0,4}"), |payload| {
            let wakes = Wakes::new();
            let mut hints = wakes.hints.subscribe();
            wakes.hear(&payload);
            let heard: Vec<Wake> = std::iter::from_fn(|| hints.try_recv().ok()).collect();
            prop_assert_eq!(heard.len(), payload.lines().count());
            let topics: usize = heard.iter().map(|wake| wake.topics.len()).sum();
            prop_assert_eq!(topics, payload.matches('\t').count());
            Ok(heard.iter().any(|wake| wake.partition.is_some()))
        });
    }
}
