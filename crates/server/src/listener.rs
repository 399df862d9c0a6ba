//! The door: connections come in, each within its limits, and all of them end when the server drains.
//!
//! It speaks HTTP/1.1, which every client knows and whose idle connections can be told from busy ones.

use crate::app::App;
use crate::tls::Certificates;
use crate::write_timeout::WriteTimeout;
use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use onward_core::Span;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The most headers of a call.
const HEADERS_MAX: usize = 64;
/// How long a connection may take to become encrypted.
const HANDSHAKE_TIME: Span = Span::seconds(10);
/// How long the door stays shut after the system had no room for another connection.
const REST: Span = Span(100);
/// How often the files of a certificate are looked at.
const REFRESH: Span = Span::seconds(5);

pub(crate) struct Listener {
    socket: TcpListener,
    address: SocketAddr,
    tls: Option<Arc<Certificates>>,
}

impl Listener {
    pub(crate) async fn bind(address: SocketAddr, tls: Option<Certificates>) -> io::Result<Self> {
        let socket = TcpListener::bind(address).await?;
        let address = socket.local_addr()?;
        Ok(Self { socket, address, tls: tls.map(Arc::new) })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Lets connections in until the signal, then waits for those that are in.
    pub(crate) async fn run(self, app: &Arc<App>, router: Router, signal: impl Future<Output = ()>) {
        let seats = Arc::new(Semaphore::new(app.options.limits.connections));
        let graceful = GracefulShutdown::new();
        let door = Door { app: app.clone(), router, builder: builder(app) };
        let mut signal = std::pin::pin!(signal);
        let mut refresh = std::pin::pin!(app.sleep(REFRESH));
        loop {
            let seat = seats.clone().acquire_owned();
            let (seat, stream) = tokio::select! {
                biased;
                () = &mut signal => break,
                entered = async { (seat.await, self.socket.accept().await) } => match entered {
                    (Ok(seat), Ok((stream, _))) => (seat, stream),
                    (Err(_), _) => break,
                    (_, Err(error)) => {
                        tracing::warn!(%error, "a connection could not be let in");
                        app.sleep(REST).await;
                        continue;
                    }
                },
                () = &mut refresh => {
                    self.tls.iter().for_each(|tls| tls.refresh());
                    refresh.set(app.sleep(REFRESH));
                    continue;
                }
            };
            door.enter(stream, self.tls.clone(), seat, graceful.watcher());
        }
        drop(self.socket);
        app.drain();
        tokio::select! {
            biased;
            () = graceful.shutdown() => {}
            () = app.sleep(app.options.grace) => tracing::warn!("calls that had not ended in time were broken off"),
        }
    }
}

fn builder(app: &App) -> http1::Builder {
    let limits = &app.options.limits;
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_millis(limits.header_time.0))
        .max_buf_size(limits.header_bytes.max(8 * 1024))
        .max_headers(HEADERS_MAX);
    builder
}

/// What every connection is served with.
struct Door {
    app: Arc<App>,
    router: Router,
    builder: http1::Builder,
}

impl Door {
    fn enter(
        &self,
        stream: TcpStream,
        tls: Option<Arc<Certificates>>,
        seat: OwnedSemaphorePermit,
        watcher: hyper_util::server::graceful::Watcher,
    ) {
        // Small answers go out at once.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "a connection ended before it began");
            return;
        }
        let (app, router, builder) = (self.app.clone(), self.router.clone(), self.builder.clone());
        tokio::spawn(async move {
            let _seat = seat;
            match tls {
                None => serve(WriteTimeout::new(stream, app), router, builder, watcher).await,
                Some(tls) => {
                    let encrypted = tokio::select! {
                        biased;
                        encrypted = tls.acceptor().accept(stream) => encrypted,
                        () = app.sleep(HANDSHAKE_TIME) => return,
                    };
                    match encrypted {
                        Ok(stream) => serve(WriteTimeout::new(stream, app), router, builder, watcher).await,
                        Err(error) => tracing::debug!(%error, "a connection could not be encrypted"),
                    }
                }
            }
        });
    }
}

async fn serve<S>(stream: S, router: Router, builder: http1::Builder, watcher: hyper_util::server::graceful::Watcher)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = TowerToHyperService::new(router);
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    if let Err(error) = watcher.watch(connection).await {
        tracing::debug!(%error, "a connection broke off");
    }
}
