//! `onward serve`: the engine over HTTP, until it is told to stop.

mod problem;

use crate::args::ServeArgs;
use crate::problem::{Exit, Problem};
use crate::settings::{LogFormat, Settings};
use crate::traces::Traces;
use crate::{open, output};
use onward::{Address, Client};
use onward_server::Server;
pub(crate) use problem::ServeProblem;
use tokio::signal::unix::{SignalKind, signal};

/// Told when callers need no keys.
const UNLOCKED: &str = "Every program on this machine may call it. Keys are required with --require-keys.";

pub(crate) async fn run(args: ServeArgs, store: Option<String>, verbose: u8, json: bool) -> Result<Exit, Problem> {
    let settings = Settings::read(&args.settings.given(store, verbose)?)?;
    let traces = Traces::begin(&settings)?;
    let client = open::served(&settings.store, settings.token_secret.clone()).await?;
    let served = serve(client.clone(), settings, json).await;
    let closed = client.shutdown().await;
    traces.end().await;
    closed?;
    served.map(|()| Exit::Success)
}

async fn serve(client: Client, settings: Settings, json: bool) -> Result<(), Problem> {
    // Both are heard from before the door opens, so that no signal is lost.
    let listen = |kind| signal(kind).map_err(|error| Problem::system("signals cannot be received", &error));
    let (mut terminate, mut interrupt) = (listen(SignalKind::terminate())?, listen(SignalKind::interrupt())?);
    let Settings { store, options, log_format, .. } = settings;
    let (scheme, is_open) = (if options.tls.is_some() { "https" } else { "http" }, !options.require_keys);
    let server = Server::bind(client, options).await?;
    let url = format!("{scheme}://{}", server.address());
    let ready = if json {
        serde_json::json!({ "url": url, "store": shown(&store) }).to_string()
    } else {
        format!("onward serves {} at {url} (see {url}/docs)", shown(&store))
    };
    output::print(&ready);
    match log_format {
        LogFormat::Text if is_open => output::print_error(UNLOCKED),
        // Whoever reads objects from standard error shall meet nothing else there.
        LogFormat::Json if is_open => tracing::warn!("{UNLOCKED}"),
        _ => {}
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
