//! A server on a store in memory, and a caller.

use onward::keys::{Secret, hash};
use onward::{Client, ClientOptions};
use onward_core::record::Role;
use onward_core::{ApiKeyId, IssueKey};
use onward_engine::clock::Chance;
use onward_server::{Options, Server};
use reqwest::{Method, Response};
use serde_json::Value;
use std::net::SocketAddr;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// So often is looked for what must come; each look is a call of its own.
const LOOKS_MAX: usize = 20_000;

/// A running server.
pub(crate) struct Site {
    pub(crate) client: Client,
    pub(crate) address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    running: JoinHandle<()>,
    http: reqwest::Client,
}

/// Somebody who calls, with a key or without, in a namespace or in none.
#[derive(Clone, Default)]
pub(crate) struct As<'a> {
    pub(crate) key: Option<&'a str>,
    pub(crate) namespace: Option<&'a str>,
}

impl Site {
    /// A server that everybody may call.
    pub(crate) async fn open() -> Self {
        Self::with(Options::default()).await
    }

    /// A server whose callers need keys.
    pub(crate) async fn guarded() -> Self {
        Self::with(Options { require_keys: true, ..Options::default() }).await
    }

    pub(crate) async fn with(options: Options) -> Self {
        Self::of(ClientOptions::default(), options).await
    }

    /// A server on a store that was chosen as well.
    pub(crate) async fn of(client: ClientOptions, options: Options) -> Self {
        let client = Client::open_with("memory:", client).await.unwrap();
        let options = Options { bind: "127.0.0.1:0".parse().unwrap(), ..options };
        let server = Server::bind(client.clone(), options).await.unwrap();
        let address = server.address();
        let (stop, stopped) = oneshot::channel::<()>();
        let running = tokio::spawn(server.run(async move { drop(stopped.await) }));
        Self { client, address, stop: Some(stop), running, http: reqwest::Client::new() }
    }

    /// Tells the server to drain.
    pub(crate) fn drain(&mut self) {
        drop(self.stop.take());
    }

    /// Waits until it has drained.
    pub(crate) async fn drained(mut self) {
        self.drain();
        self.running.await.unwrap();
        self.client.shutdown().await.unwrap();
    }

    /// A key that was just issued, and its public part.
    pub(crate) async fn key(&self, roles: &[Role], namespaces: &[&str]) -> (String, ApiKeyId) {
        let secret = Secret::draw(&Chance::from_os());
        let engine = self.client.engine().unwrap();
        let issue = IssueKey {
            command: engine.command_id(),
            id: engine.key_id(),
            name: "ada".parse().unwrap(),
            hash: hash(&secret),
            roles: roles.iter().copied().collect(),
            namespaces: namespaces.iter().map(|name| name.parse().unwrap()).collect(),
            expires: None,
            by: None,
        };
        let kept = engine.run(issue).await.unwrap();
        (secret.reveal(kept.id), kept.id)
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        self.http.request(method, format!("http://{}{path}", self.address))
    }

    pub(crate) async fn send(&self, who: &As<'_>, method: Method, path: &str, body: Option<&Value>) -> Response {
        let mut request = self.request(method, path);
        if let Some(key) = who.key {
            request = request.bearer_auth(key);
        }
        if let Some(namespace) = who.namespace {
            request = request.header("Onward-Namespace", namespace);
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        request.send().await.unwrap()
    }

    /// Posts JSON and takes JSON, with the status.
    pub(crate) async fn post(&self, path: &str, body: Value) -> (u16, Value) {
        let response = self.send(&As::default(), Method::POST, path, Some(&body)).await;
        (response.status().as_u16(), response.json().await.unwrap())
    }

    pub(crate) async fn get(&self, path: &str) -> (u16, Value) {
        let response = self.send(&As::default(), Method::GET, path, None).await;
        (response.status().as_u16(), response.json().await.unwrap())
    }

    /// Waits until so many claims wait.
    pub(crate) async fn until_waiting(&self, claims: usize) {
        let line = format!("onward_http_claims_waiting {claims}\n");
        for _ in 0..LOOKS_MAX {
            let metrics = self.send(&As::default(), Method::GET, "/metrics", None).await.text().await.unwrap();
            if metrics.contains(&line) {
                return;
            }
        }
        panic!("there are never {claims} claims that wait");
    }

    /// Submits and answers the id.
    pub(crate) async fn submit(&self, body: Value) -> String {
        let (status, answer) = self.post("/v1/executions", body).await;
        assert_eq!(status, 201, "{answer}");
        answer["id"].as_str().unwrap().to_owned()
    }

    /// Claims one execution that is there or comes.
    pub(crate) async fn claim(&self) -> Value {
        let (status, mut answer) = self.post("/v1/work/claim", serde_json::json!({"worker": "w", "wait": "30s"})).await;
        assert_eq!((status, answer["executions"].as_array().unwrap().len()), (200, 1), "{answer}");
        answer["executions"][0].take()
    }
}
