//! `onward serve`: the engine over HTTP, until it is told to stop.

use crate::args::ServeArgs;
use crate::problem::{Exit, Problem};
use crate::submit::span;
use crate::{open, output};
use onward::{Address, Client, Namespace};
use onward_server::{Limits, Options, Server, Tls};
use tokio::signal::unix::{SignalKind, signal};

pub(crate) async fn run(args: ServeArgs, store: &str, json: bool) -> Result<Exit, Problem> {
    let wait = span("--longest-wait", Some(&args.longest_wait))?.unwrap_or_default();
    let options = Options {
        bind: args.bind,
        require_keys: args.require_keys,
        tls: args.tls_certificate.zip(args.tls_key).map(|(certificate, key)| Tls { certificate, key }),
        cors: args.cors,
        grace: span("--grace", Some(&args.grace))?.unwrap_or_default(),
        limits: Limits { wait, ..Limits::default() },
    };
    let scheme = if options.tls.is_some() { "https" } else { "http" };
    let client = open::any(store, Namespace::default()).await?;
    let served = serve(client.clone(), options, scheme, store, json).await;
    client.shutdown().await?;
    served.map(|()| Exit::Success)
}

async fn serve(client: Client, options: Options, scheme: &str, store: &str, json: bool) -> Result<(), Problem> {
    // Both are heard from before the door opens, so that no signal is lost.
    let listen = |kind| signal(kind).map_err(|error| Problem::system("signals cannot be received", &error));
    let (mut terminate, mut interrupt) = (listen(SignalKind::terminate())?, listen(SignalKind::interrupt())?);
    let open = !options.require_keys;
    let server = Server::bind(client, options).await.map_err(Problem::Start)?;
    let url = format!("{scheme}://{}", server.address());
    let ready = if json {
        serde_json::json!({ "url": url, "store": shown(store) }).to_string()
    } else {
        format!("onward serves {} at {url} (see {url}/docs)", shown(store))
    };
    output::print(&ready);
    if open {
        output::print_error("Every program on this machine may call it. Keys are required with --require-keys.");
    }
    let stop = async {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!("draining");
    };
    server.run(stop).await;
    Ok(())
}

/// Which store it is, without what nobody else should see.
fn shown(store: &str) -> &str {
    match store.parse() {
        Ok(Address::Postgres(_)) => "a Postgres database",
        Ok(Address::Valkey(_)) => "a Valkey server",
        _ => store,
    }
}
