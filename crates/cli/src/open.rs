//! How a command gets at the work: a store on this machine, or a server that has one.

use crate::problem::Problem;
use crate::submit::parse;
use onward::engine::Engine;
use onward::{Address, ApiKeyText, Client, ClientOptions, Namespace};
use std::time::Duration;

/// Where a server's caller keeps its key.
const API_KEY: &str = "ONWARD_API_KEY";
const NOT_HANDED_OUT: &str = "this command needs the store itself; a server does not hand it out";
/// How long a call to a server is tried.
const SERVER_TIME: Duration = Duration::from_secs(5);

/// Opens a store to look at it; one that does not exist is not made.
pub(crate) async fn existing(address: &str, namespace: &str) -> Result<Client, Problem> {
    if let Address::Sqlite(path) = parse(address)?
        && !path.exists()
    {
        return Err(Problem::StoreMissing(path.display().to_string()));
    }
    any(address, parse(namespace)?).await
}

/// Opens a store, which is made when it does not exist. A person who waits for a server is told soon that it is away.
pub(crate) async fn any(address: &str, namespace: Namespace) -> Result<Client, Problem> {
    let usual = ClientOptions::default();
    let served = matches!(address.parse(), Ok(Address::Http(_)));
    let call_timeout = if served { SERVER_TIME } else { usual.call_timeout };
    with(address, ClientOptions { namespace, call_timeout, ..usual }).await
}

/// The same for a program that outlives a server's restart.
pub(crate) async fn patiently(address: &str, namespace: Namespace) -> Result<Client, Problem> {
    with(address, ClientOptions { namespace, ..ClientOptions::default() }).await
}

async fn with(address: &str, options: ClientOptions) -> Result<Client, Problem> {
    let api_key = std::env::var(API_KEY).ok().filter(|key| !key.is_empty()).map(|key| ApiKeyText::from(key.as_str()));
    Ok(Client::open_with(address, ClientOptions { api_key, ..options }).await?)
}

/// The engine of a client that has one.
pub(crate) fn engine(client: &Client) -> Result<&Engine, Problem> {
    client.engine().ok_or_else(|| Problem::NeedsStore(NOT_HANDED_OUT.to_owned()))
}
