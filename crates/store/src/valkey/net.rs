//! How a call reaches the server that has its slot, and what is tried again when it does not.
//!
//! One server is a cluster with one primary: both take the same way. The cluster client of the `redis` crate is not used,
//! since it repeats commands whose answer was lost; a commit that was repeated would conflict with itself.

use super::address::{Address, Host};
use super::fault;
use super::keys::SLOTS;
use crate::{Error, ErrorKind, Result};
use futures_util::FutureExt;
use futures_util::future::select_ok;
use parking_lot::Mutex;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, Pipeline, PushInfo, PushKind, Value};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::Mutex as AsyncMutex;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Far above what the longest call takes, so that only a server that is away is given up.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// The rests between tries while the server says "not now" or cannot be reached: about two seconds in all.
const RESTS: [Duration; 8] = [
    Duration::from_millis(10),
    Duration::from_millis(30),
    Duration::from_millis(60),
    Duration::from_millis(100),
    Duration::from_millis(200),
    Duration::from_millis(400),
    Duration::from_millis(600),
    Duration::from_millis(600),
];
/// How often one call follows a redirection or loads the scripts, beyond the rests.
const REDIRECTIONS_MAX: usize = 8;
/// How many bytes of commands wait for the socket before the next caller does.
const WAITING_BYTES: usize = 1024 * 1024;

/// Whether a call may be sent again when its answer was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repeat {
    /// It only reads.
    Freely,
    /// It may have been done.
    Never,
}

/// The servers of one store.
pub(super) struct Net {
    address: Address,
    /// The host of each slot.
    slots: Mutex<Arc<Vec<Host>>>,
    refreshing: AsyncMutex<()>,
    nodes: Mutex<HashMap<Host, Arc<Node>>>,
}

/// The connection to one server, made when it is needed.
#[derive(Default)]
struct Node {
    live: AsyncMutex<Option<Live>>,
    /// How often no connection could be made, and why the last time.
    failures: AtomicU64,
    failure: Mutex<Option<Arc<redis::RedisError>>>,
}

#[derive(Clone)]
struct Live {
    connection: MultiplexedConnection,
    gone: Arc<AtomicBool>,
}

/// What to do after a call that did not succeed.
enum Next {
    /// Nothing else will help.
    Fail(Error),
    /// The server is away and the time for this call is over, unless another one has the slot meanwhile.
    Away(Error),
    /// It may work soon.
    Rest(Error),
    Moved(Host),
    Ask(Host),
    Load,
}

impl Net {
    pub(super) fn new(address: Address) -> Self {
        let first = address.hosts[0].clone();
        let slots = Mutex::new(Arc::new(vec![first; usize::from(SLOTS)]));
        Self { address, slots, refreshing: AsyncMutex::default(), nodes: Mutex::default() }
    }

    pub(super) fn address(&self) -> &Address {
        &self.address
    }

    /// The same servers on connections of its own.
    pub(super) fn another(&self) -> Self {
        let another = Self::new(self.address.clone());
        *another.slots.lock() = self.slots();
        another
    }

    /// The primaries that have slots.
    pub(super) fn primaries(&self) -> Vec<Host> {
        let mut hosts: Vec<Host> = Vec::new();
        for host in self.slots().iter() {
            // Neighbours mostly have the same host.
            if hosts.last() != Some(host) && !hosts.contains(host) {
                hosts.push(host.clone());
            }
        }
        hosts
    }

    /// The primary of a slot, as far as is known.
    pub(super) fn host(&self, slot: u16) -> Host {
        self.slots()[usize::from(slot)].clone()
    }

    fn slots(&self) -> Arc<Vec<Host>> {
        Arc::clone(&self.slots.lock())
    }

    /// Sends commands to the primary of a slot; the answer of each but the first may be an error.
    pub(super) async fn call(&self, slot: u16, commands: &Pipeline, repeat: Repeat) -> Result<Vec<Value>> {
        let (mut rests, mut redirections) = (RESTS.iter(), 0);
        let (mut ask, mut host) = (false, self.host(slot));
        loop {
            let next = match self.once(&host, commands, ask, repeat).await {
                Ok(answers) => return Ok(answers),
                Err(next) => next,
            };
            ask = false;
            match next {
                Next::Fail(error) => return Err(error),
                Next::Rest(error) => {
                    let Some(time) = rests.next() else { return Err(error) };
                    rest(*time).await;
                    self.refresh().await;
                    host = self.host(slot);
                    continue;
                }
                Next::Away(error) => {
                    self.refresh().await;
                    let other = self.host(slot);
                    if !error.is_unwritten() || other == host {
                        return Err(error);
                    }
                    host = other;
                }
                Next::Moved(to) => {
                    self.learn(slot, &to);
                    host = to;
                }
                Next::Ask(to) => (ask, host) = (true, to),
                Next::Load => {}
            }
            redirections += 1;
            if redirections > REDIRECTIONS_MAX {
                let message = format!("{} and others keep pointing elsewhere: is the cluster changing?", shown(&host));
                return Err(Error::new(ErrorKind::Unavailable, message).unwritten());
            }
        }
    }

    /// Asks one server, whatever slots it has.
    pub(super) async fn ask(&self, host: &Host, commands: &Pipeline) -> Result<Vec<Value>> {
        match self.once(host, commands, false, Repeat::Freely).await {
            Ok(answers) => Ok(answers),
            Err(Next::Fail(error) | Next::Away(error) | Next::Rest(error)) => Err(error),
            Err(_) => Err(Error::new(ErrorKind::Unavailable, format!("{} points elsewhere", shown(host))).unwritten()),
        }
    }

    async fn once(
        &self,
        host: &Host,
        commands: &Pipeline,
        ask: bool,
        repeat: Repeat,
    ) -> std::result::Result<Vec<Value>, Next> {
        let node = self.node(host);
        let mut live = node.live(self, host).await?;
        let asking = ask.then(|| {
            let mut asking = Pipeline::new();
            asking.cmd("ASKING").ignore();
            for command in commands.cmd_iter() {
                asking.add_command(command.clone());
            }
            asking
        });
        let (sent, skipped) = asking.as_ref().map_or((commands, 0), |asking| (asking, 1));
        let count = commands.cmd_iter().count();
        match live.connection.send_packed_commands(sent, skipped, count).await {
            Ok(answers) => match answers.first() {
                Some(Value::ServerError(error)) => Err(self.after(host, &mut live, error).await),
                _ => Ok(answers),
            },
            Err(error) => {
                live.gone.store(true, Ordering::Release);
                let late = error.is_timeout();
                let error = fault::lost(&shown(host), error);
                Err(match repeat {
                    Repeat::Freely if late => Next::Away(error.unwritten()),
                    Repeat::Freely => Next::Rest(error.unwritten()),
                    Repeat::Never => Next::Away(error),
                })
            }
        }
    }

    /// What to do when the server answers with an error: it has done nothing then.
    async fn after(&self, host: &Host, live: &mut Live, error: &redis::ServerError) -> Next {
        let target = || {
            let (name, port) = error.details()?.split(' ').nth(1)?.rsplit_once(':')?;
            let name = if name.is_empty() { host.0.as_str() } else { name };
            Some((name.to_owned(), port.parse().ok()?))
        };
        match (error.code(), target()) {
            ("MOVED", Some(to)) => Next::Moved(to),
            ("ASK", Some(to)) => Next::Ask(to),
            ("NOSCRIPT", _) => match super::script::load(&mut live.connection).await {
                Ok(()) => Next::Load,
                Err(error) => Next::Rest(fault::lost(&shown(host), error).unwritten()),
            },
            (code, _) if fault::passes(code) => Next::Rest(fault::refused(&shown(host), error)),
            _ => Next::Fail(fault::refused(&shown(host), error)),
        }
    }

    fn node(&self, host: &Host) -> Arc<Node> {
        let mut nodes = self.nodes.lock();
        Arc::clone(nodes.entry(host.clone()).or_default())
    }

    /// Remembers where a slot went.
    fn learn(&self, slot: u16, host: &Host) {
        let mut slots = self.slots.lock();
        Arc::make_mut(&mut slots)[usize::from(slot)] = host.clone();
    }

    /// Reads again which primary has which slots, from any server that knows; without success all stays as it is.
    async fn refresh(&self) {
        let Ok(_alone) = self.refreshing.try_lock() else { return };
        if let Err(error) = self.map().await {
            tracing::debug!(%error, "the cluster does not tell its slots");
        }
    }

    /// Reads which primary has which slots; one server has all of them.
    pub(super) async fn map(&self) -> Result<()> {
        if !self.address.cluster {
            return Ok(());
        }
        let mut hosts = self.primaries();
        hosts.extend(self.address.hosts.iter().cloned());
        hosts.dedup();
        let mut commands = Pipeline::new();
        commands.cmd("CLUSTER").arg("SLOTS");
        let commands = &commands;
        // Some of them may be away, and the first answer is as good as any: the servers correct what is out of date.
        let ask = |host: Host| async move { super::slots::parse(self.ask(&host, commands).await?, &host) }.boxed();
        let (slots, _) = select_ok(hosts.into_iter().map(ask)).await?;
        *self.slots.lock() = Arc::new(slots);
        Ok(())
    }

    /// A connection of its own to a server, with what it pushes handed to `hear`.
    pub(super) async fn connect(
        &self,
        host: &Host,
        hear: impl Fn(PushInfo) -> std::result::Result<(), ()> + Send + Sync + 'static,
    ) -> redis::RedisResult<MultiplexedConnection> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECT_TIMEOUT))
            .set_response_timeout(Some(ANSWER_TIMEOUT))
            .set_write_backpressure_boundary(WAITING_BYTES)
            .set_push_sender(hear);
        let client = Client::open(self.address.connection(host)?)?;
        client.get_multiplexed_async_connection_with_config(&config).await
    }
}

impl Node {
    /// The connection, made anew when the last one is gone; those who wait for it together share its failure.
    async fn live(&self, net: &Net, host: &Host) -> std::result::Result<Live, Next> {
        let before = self.failures.load(Ordering::Acquire);
        let mut live = self.live.lock().await;
        if let Some(live) = live.as_ref().filter(|live| !live.gone.load(Ordering::Acquire)) {
            return Ok(live.clone());
        }
        if self.failures.load(Ordering::Acquire) != before
            && let Some(error) = self.failure.lock().clone()
        {
            return Err(away(host, &error));
        }
        let gone = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&gone);
        let hear = move |push: PushInfo| {
            if push.kind == PushKind::Disconnection {
                ended.store(true, Ordering::Release);
            }
            Ok(())
        };
        match net.connect(host, hear).await {
            Ok(connection) => Ok(live.insert(Live { connection, gone }).clone()),
            Err(error) => {
                let error = Arc::new(error);
                *self.failure.lock() = Some(Arc::clone(&error));
                self.failures.fetch_add(1, Ordering::Release);
                Err(away(host, &error))
            }
        }
    }
}

/// What to do when no connection could be made.
fn away(host: &Host, error: &redis::RedisError) -> Next {
    let failed = fault::unreachable(&shown(host), error.clone());
    match failed.kind() {
        ErrorKind::Unavailable if error.is_timeout() => Next::Away(failed),
        ErrorKind::Unavailable => Next::Rest(failed),
        _ => Next::Fail(failed),
    }
}

/// A server as it is shown to people.
pub(super) fn shown((name, port): &Host) -> String {
    format!("{name}:{port}")
}

/// Rests while a server comes back.
#[allow(clippy::disallowed_methods)]
// A server tells nobody when it is back; only trying again does, and that must not be done without a pause.
pub(super) async fn rest(time: Duration) {
    tokio::time::sleep(time).await;
}
