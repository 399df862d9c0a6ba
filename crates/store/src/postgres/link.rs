//! How a connection is made, kept and made again after it was lost.

use super::address::Address;
use super::fault;
use super::group::Arrays;
use super::pause::{self, Pause};
use super::statement::{self, Ask};
use crate::Result;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::{Mutex, OnceCell};
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Connection, Row, Socket, Statement};
use tokio_postgres_rustls::MakeRustlsConnect;

/// How often a commit that met a deadlock or the like is sent again before the caller hears of it.
const REPEATS: usize = 5;

/// What drives a connection; it has to be polled for anything to happen.
pub(super) type Driver = Connection<Socket, <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream>;

/// The values of a statement's parameters.
pub(super) type Values<'a> = [&'a (dyn ToSql + Sync)];

/// Connects, and leaves the driving to the caller.
pub(super) async fn dial(address: &Address) -> Result<(Client, Driver)> {
    let connecting = address.config.connect(address.tls.clone());
    let connected = pause::to_connect(connecting).await.ok_or_else(|| fault::away("it does not answer"))?;
    connected.map_err(fault::connecting)
}

/// Connects to a server that makes commits durable.
pub(super) async fn connect(address: &Address) -> Result<Client> {
    let (client, driver) = dial(address).await?;
    tokio::spawn(async move {
        if let Err(error) = driver.await {
            tracing::debug!(%error, "a connection to Postgres ended");
        }
    });
    statement::check_settings(&client).await?;
    Ok(client)
}

/// One connection with its prepared statements.
struct Line {
    client: Client,
    prepared: [OnceCell<Statement>; Ask::COUNT],
}

impl Line {
    async fn prepared(&self, ask: Ask, schema: &str) -> std::result::Result<&Statement, tokio_postgres::Error> {
        let prepare = || async { self.client.prepare(&statement::text(ask, schema)).await };
        self.prepared[ask as usize].get_or_try_init(prepare).await
    }
}

/// A connection that is made when it is needed and made again when it was lost.
pub(super) struct Link {
    address: Arc<Address>,
    line: Mutex<(Option<Arc<Line>>, Pause)>,
    calls: AtomicUsize,
}

impl Link {
    pub(super) fn new(address: Arc<Address>) -> Self {
        Self { address, line: Mutex::default(), calls: AtomicUsize::new(0) }
    }

    /// How many calls wait for an answer, to choose the least busy link.
    pub(super) fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    /// Whether there is a connection that nobody is mending.
    pub(super) fn is_connected(&self) -> bool {
        let held = self.line.try_lock();
        held.is_ok_and(|held| held.0.as_ref().is_some_and(|line| !line.client.is_closed()))
    }

    /// Asks something that changes nothing; a lost connection is replaced once.
    pub(super) async fn read(&self, ask: Ask, values: &Values<'_>) -> Result<Vec<Row>> {
        let _counted = Counted::new(&self.calls);
        let mut again = true;
        loop {
            let line = self.line().await?;
            let call = async {
                let statement = line.prepared(ask, &self.address.schema).await?;
                line.client.query(statement, values).await
            };
            match pause::in_time(call).await {
                Some(Ok(rows)) => return Ok(rows),
                Some(Err(error)) if fault::is_connection_good(&error) => return Err(fault::reading(error)),
                Some(Err(error)) => {
                    self.give_up(&line).await;
                    if !std::mem::take(&mut again) {
                        return Err(fault::reading(error));
                    }
                }
                None => {
                    self.give_up(&line).await;
                    return Err(fault::silent().unwritten());
                }
            }
        }
    }

    /// Sends a commit; the error says whether it may have happened.
    pub(super) async fn commit(&self, arrays: &Arrays<'_>, mut careful: bool) -> Result<Row> {
        let mut repeats = 0;
        loop {
            let line = self.line().await?;
            let statement = match line.prepared(Ask::Commit, &self.address.schema).await {
                Ok(statement) => statement,
                Err(error) => {
                    self.give_up(&line).await;
                    return Err(fault::reading(error));
                }
            };
            match pause::in_time(line.client.query_one(statement, &arrays.values(&careful))).await {
                Some(Ok(row)) => return Ok(row),
                Some(Err(error)) if repeats < REPEATS && fault::is_worth_repeating(&error) => {
                    repeats += 1;
                    // It may have met a row that should not be there.
                    careful = true;
                }
                Some(Err(error)) => {
                    if !fault::is_connection_good(&error) {
                        self.give_up(&line).await;
                    }
                    return Err(fault::committing(error));
                }
                None => {
                    self.give_up(&line).await;
                    return Err(fault::silent());
                }
            }
        }
    }

    /// The connection as it is, or a new one.
    async fn line(&self) -> Result<Arc<Line>> {
        let mut held = self.line.lock().await;
        let (line, pause) = &mut *held;
        if let Some(line) = line.as_ref().filter(|line| !line.client.is_closed()) {
            return Ok(Arc::clone(line));
        }
        *line = None;
        if !pause.is_over() {
            return Err(fault::away("the last try failed just now"));
        }
        match connect(&self.address).await {
            Ok(client) => {
                pause.worked();
                let prepared = std::array::from_fn(|_| OnceCell::new());
                Ok(Arc::clone(line.insert(Arc::new(Line { client, prepared }))))
            }
            Err(error) => {
                pause.failed();
                Err(error)
            }
        }
    }

    async fn give_up(&self, failed: &Arc<Line>) {
        let mut held = self.line.lock().await;
        if held.0.as_ref().is_some_and(|line| Arc::ptr_eq(line, failed)) {
            held.0 = None;
        }
    }

    /// Ends the connection once its calls are answered.
    pub(super) async fn close(&self) {
        self.line.lock().await.0 = None;
    }
}

/// Counts a call for as long as it lasts.
struct Counted<'a>(&'a AtomicUsize);

impl<'a> Counted<'a> {
    fn new(calls: &'a AtomicUsize) -> Self {
        calls.fetch_add(1, Ordering::Relaxed);
        Self(calls)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
