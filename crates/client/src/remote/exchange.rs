//! One exchange with the server: a request, repeated while that may help, and its answer.

use super::time::ServerTime;
use crate::options::span;
use crate::wire::Problem;
use crate::{ApiKeyText, ClientOptions, Error, Result, ServerUrl};
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, USER_AGENT};
use http::{HeaderMap, Method, Uri};
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use onward_core::{CommandId, Millis, Namespace, Rejection, Span};
use onward_engine::clock::{Chance, Clock, SystemClock};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// The first pause before a request is repeated; it doubles up to the longest.
const PAUSE_FIRST: Span = Span(50);
const PAUSE_MAX: Span = Span::seconds(2);
/// What an answer may take beyond what was waited for.
const SLACK: Span = Span::seconds(15);
/// Calls under way at the same time; more wait for their turn.
const CALLS_MAX: u32 = 100_000;
/// How long making a connection may take.
const CONNECT: Duration = Duration::from_secs(10);
/// How long a connection is kept that nobody uses, less than a server keeps it.
const IDLE: Duration = Duration::from_secs(30);

/// The most bytes of an answer; a server's pages are far smaller.
const ANSWER_MAX: usize = 256 * 1024 * 1024;
const AGENT: HeaderValue = HeaderValue::from_static(concat!("onward/", env!("CARGO_PKG_VERSION")));

/// The ways to a server, and what is known of it.
#[derive(Debug)]
pub(crate) struct Exchange {
    http: legacy::Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    base: String,
    key: Option<ApiKeyText>,
    timeout: Span,
    time: ServerTime,
    clock: Arc<dyn Clock>,
    pub(crate) chance: Arc<Chance>,
    closed: CancellationToken,
    calls: Arc<Semaphore>,
}

/// What to ask.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    method: Method,
    path: String,
    namespace: Namespace,
    body: Option<Bytes>,
    command: Option<String>,
    wait: Span,
    repeats: bool,
}

/// What was answered.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) content_type: String,
    pub(crate) body: Bytes,
}

impl Request {
    pub(crate) fn get(namespace: &Namespace, path: impl Into<String>) -> Self {
        Self::new(Method::GET, namespace, path.into())
    }

    pub(crate) fn delete(namespace: &Namespace, path: impl Into<String>) -> Self {
        Self::new(Method::DELETE, namespace, path.into())
    }

    /// Something to do. It is done twice when it is repeated, unless the body or a name of the call says otherwise.
    pub(crate) fn post<T: Serialize>(namespace: &Namespace, path: impl Into<String>, body: &T) -> Result<Self> {
        Self::with_body(Method::POST, namespace, path.into(), body)
    }

    pub(crate) fn patch<T: Serialize>(namespace: &Namespace, path: impl Into<String>, body: &T) -> Result<Self> {
        Self::with_body(Method::PATCH, namespace, path.into(), body)
    }

    fn with_body<T: Serialize>(method: Method, namespace: &Namespace, path: String, body: &T) -> Result<Self> {
        let unwritable = |error: serde_json::Error| onward_engine::Error::Internal(format!("a request: {error}"));
        let body = serde_json::to_vec(body).map_err(unwritable)?;
        Ok(Self { body: Some(body.into()), ..Self::new(method, namespace, path) })
    }

    fn new(method: Method, namespace: &Namespace, path: String) -> Self {
        let (namespace, wait) = (namespace.clone(), Span(0));
        Self { method, path, namespace, body: None, command: None, wait, repeats: true }
    }

    /// Names the call, so that the server knows a repeat.
    pub(crate) fn named(self, command: CommandId) -> Self {
        Self { command: Some(command.to_string()), ..self }
    }

    /// The server takes this long before it answers that there is nothing.
    pub(crate) fn waiting(self, wait: Span) -> Self {
        Self { wait, ..self }
    }

    /// Nobody could tell a repeat from another call.
    pub(crate) fn once(self) -> Self {
        Self { repeats: false, ..self }
    }
}

impl Exchange {
    pub(crate) fn new(url: &ServerUrl, options: &ClientOptions) -> Result<Self> {
        let invalid = |field, why: String| Error::from(Rejection::InvalidArgument { field, why });
        let base: Uri = url.as_str().parse().map_err(|error| invalid("server", format!("is no URL: {error}")))?;
        let encrypted = base.scheme_str() == Some("https");
        let ways = HttpsConnectorBuilder::new().with_tls_config(encryption(encrypted)?).https_or_http();
        let ways = ways.enable_http1().wrap_connector(plain());
        let http = legacy::Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .build(ways);
        Ok(Self {
            http,
            base: url.as_str().to_owned(),
            key: options.api_key.clone(),
            timeout: span(options.call_timeout),
            time: ServerTime::default(),
            clock: options.clock.clone(),
            chance: options.chance.clone(),
            closed: CancellationToken::new(),
            calls: Arc::new(Semaphore::new(CALLS_MAX as usize)),
        })
    }

    /// The server's time, as far as it is known.
    pub(crate) fn now(&self) -> Millis {
        self.time.at(self.clock.now())
    }

    /// The time on this side, for lengths of time: what is known of the server's may change at any moment.
    pub(crate) fn here(&self) -> Millis {
        self.clock.now()
    }

    /// How long a call is tried.
    pub(crate) fn patience(&self) -> Span {
        self.timeout
    }

    /// Keeps the end of this waiting for something that nobody waits for; nothing when too much is under way.
    pub(crate) fn hold(&self) -> Option<OwnedSemaphorePermit> {
        self.calls.clone().try_acquire_owned().ok()
    }

    /// Lets a call in, unless this is closed. It is under way until the answer is dropped.
    pub(crate) async fn enter(&self) -> Result<OwnedSemaphorePermit> {
        let shut = || Error::from(onward_engine::Error::ShuttingDown);
        let permit = self.calls.clone().acquire_owned().await.map_err(|_| shut())?;
        if self.closed.is_cancelled() { Err(shut()) } else { Ok(permit) }
    }

    /// Turns new calls away, and ends those that wait for something to happen.
    pub(crate) fn close(&self) {
        self.closed.cancel();
    }

    /// Closes, and waits until no call is under way.
    pub(crate) async fn shutdown(&self) {
        self.close();
        // Nobody closes the semaphore, so that all of it comes back.
        let _all = self.calls.acquire_many(CALLS_MAX).await;
    }

    /// Asks, and reads the answer as JSON.
    pub(crate) async fn ask<T: DeserializeOwned>(&self, request: Request) -> Result<T> {
        self.send(request).await?.json()
    }

    /// Asks, again and again while that may help and there is time. An answer that says no is an error.
    pub(crate) async fn send(&self, request: Request) -> Result<Reply> {
        if request.wait == Span(0) {
            return self.insist(request).await;
        }
        tokio::select! {
            biased;
            // What is there already may hold work.
            reply = self.insist(request) => reply,
            () = self.closed.cancelled() => Err(onward_engine::Error::ShuttingDown.into()),
        }
    }

    async fn insist(&self, request: Request) -> Result<Reply> {
        let deadline = self.clock.now() + request.wait + self.timeout;
        let mut pause = PAUSE_FIRST;
        loop {
            let error = match self.once(&request, deadline - self.clock.now()).await {
                Ok(reply) => return Ok(reply),
                Err(error) => error,
            };
            let rest = match &error {
                Error::Server(problem) => problem.retry_after.unwrap_or_default() + self.chance.jittered(pause),
                _ => self.chance.jittered(pause),
            };
            let late = self.clock.now() + rest >= deadline || self.closed.is_cancelled();
            if late || !request.repeats || !error.is_temporary() {
                return Err(error);
            }
            tracing::debug!(%error, path = request.path, "the server did not do it; asking again");
            // A network is as slow as it is, whatever clock a test holds.
            SystemClock.sleep(rest).await;
            pause = Span(pause.0 * 2).min(PAUSE_MAX);
        }
    }

    async fn once(&self, request: &Request, left: Span) -> Result<Reply> {
        // The server need not go on for longer than somebody waits here.
        let longest = (request.wait + SLACK).min(left.max(Span(1)));
        let asking = self.http.request(self.message(request, longest)?);
        let asked = self.clock.now();
        let answering = async {
            let answer = asking.await.map_err(|error| unreachable(&error))?;
            let (head, body) = answer.into_parts();
            let body = Limited::new(body, ANSWER_MAX).collect().await.map_err(|error| unreachable(&*error))?;
            Ok::<_, Error>((head, body.to_bytes()))
        };
        // By the machine's time for the same reason.
        let (head, body) = tokio::select! {
            biased;
            answer = answering => answer?,
            () = SystemClock.sleep(longest) => return Err(Error::Unreachable { why: "it took too long".to_owned() }),
        };
        let header = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok());
        if let Some(there) = header("onward-time").and_then(|text| text.parse().ok()).map(Millis) {
            self.time.learn(there, asked, self.clock.now());
        }
        let content_type = header("content-type").unwrap_or_default().to_owned();
        let reply = Reply { status: head.status.as_u16(), content_type, body };
        if reply.status < 300 { Ok(reply) } else { Err(reply.refusal()) }
    }

    fn message(&self, request: &Request, longest: Span) -> Result<http::Request<Full<Bytes>>> {
        let wrong = |error: http::Error| Rejection::InvalidArgument { field: "server", why: error.to_string() };
        let body = Full::new(request.body.clone().unwrap_or_default());
        let message = http::Request::builder().method(&request.method).uri(format!("{}{}", self.base, request.path));
        let mut message = message.body(body).map_err(wrong)?;
        *message.headers_mut() = self.headers(request, longest)?;
        Ok(message)
    }

    fn headers(&self, request: &Request, longest: Span) -> Result<HeaderMap> {
        let mut headers = HeaderMap::new();
        headers.insert(USER_AGENT, AGENT);
        if request.body.is_some() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        let wrong = |field, why: &str| Rejection::InvalidArgument { field, why: why.to_owned() };
        let value = |text: &str| HeaderValue::from_str(text).map_err(|_| wrong("namespace", "cannot be sent"));
        headers.insert("onward-namespace", value(request.namespace.as_str())?);
        headers.insert("onward-timeout", HeaderValue::from(longest.0));
        if let Some(command) = &request.command {
            headers.insert("idempotency-key", value(command)?);
        }
        if let Some(key) = &self.key {
            let bearer = HeaderValue::from_str(&format!("Bearer {}", key.reveal()));
            let mut bearer = bearer.map_err(|_| wrong("api_key", "is no key: it holds what no header can"))?;
            bearer.set_sensitive(true);
            headers.insert(AUTHORIZATION, bearer);
        }
        Ok(headers)
    }
}

/// Connections without encryption, which that is put upon.
fn plain() -> HttpConnector {
    let mut ways = HttpConnector::new();
    ways.enforce_http(false);
    ways.set_nodelay(true);
    ways.set_connect_timeout(Some(CONNECT));
    ways
}

/// What went wrong on the way, without the address, which is known.
fn unreachable(error: &(dyn std::error::Error + 'static)) -> Error {
    let mut why = "the connection failed".to_owned();
    let mut cause = Some(error);
    while let Some(source) = cause {
        why = format!("{why}: {source}");
        cause = source.source();
    }
    Error::Unreachable { why }
}

/// Encryption with the certificates that this machine trusts; they are read only where they are needed.
fn encryption(needed: bool) -> Result<rustls::ClientConfig> {
    let invalid = |why: String| Error::from(Rejection::InvalidArgument { field: "server", why });
    let mut roots = rustls::RootCertStore::empty();
    if needed {
        let found = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(found.certs);
        if roots.is_empty() {
            return Err(invalid("this machine trusts no certificate, so that nobody can be trusted".to_owned()));
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(|error| invalid(error.to_string()))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

impl Reply {
    pub(crate) fn json<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_slice(&self.body).map_err(|error| Error::Unintelligible { why: error.to_string() })
    }

    /// Why the server did not do it.
    fn refusal(&self) -> Error {
        match serde_json::from_slice::<Problem>(&self.body) {
            Ok(problem) => Error::Server(Box::new(problem)),
            // Something between says so, for instance because the server is being replaced.
            Err(_) if matches!(self.status, 408 | 429 | 500..) => {
                Error::Unreachable { why: format!("status {}", self.status) }
            }
            Err(_) => Error::Unintelligible { why: format!("status {} without a reason", self.status) },
        }
    }
}
