//! How a command gets at the work: a store on this machine, or a server that has one.

use crate::problem::Problem;
use crate::submit::parse;
use onward::engine::Engine;
use onward::{Address, ApiKeyText, Client, ClientOptions, Namespace};

/// Where a server's caller keeps its key.
const API_KEY: &str = "ONWARD_API_KEY";

/// Opens a store to look at it; one that does not exist is not made.
pub(crate) async fn existing(address: &str, namespace: &str) -> Result<Client, Problem> {
    if let Address::Sqlite(path) = parse(address)?
        && !path.exists()
    {
        return Err(Problem::StoreMissing(path.display().to_string()));
    }
    any(address, parse(namespace)?).await
}

/// Opens a store, which is made when it does not exist.
pub(crate) async fn any(address: &str, namespace: Namespace) -> Result<Client, Problem> {
    let api_key = std::env::var(API_KEY).ok().filter(|key| !key.is_empty()).map(|key| ApiKeyText::from(key.as_str()));
    Ok(Client::open_with(address, ClientOptions { namespace, api_key, ..ClientOptions::default() }).await?)
}

/// The engine of a client that has one.
pub(crate) fn engine(client: &Client) -> Result<&Engine, Problem> {
    client.engine().ok_or(Problem::NeedsStore)
}
