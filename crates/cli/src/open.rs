//! How a command gets at the work: a store on this machine, or a server that has one.

use crate::problem::Problem;
use crate::submit::parse;
use onward::engine::Engine;
use onward::{Address, ApiKeyText, Client, ClientOptions, Namespace, RootSecret, limits};
use std::path::Path;
use std::time::Duration;

/// Where a server's caller keeps its key.
const API_KEY: &str = "ONWARD_API_KEY";
/// Names the file with the secret that token keys are bound to.
const TOKEN_SECRET_FILE: &str = "ONWARD_TOKEN_SECRET_FILE";
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

/// The same for a server, whose settings say what its token keys are bound to.
#[cfg(feature = "server")]
pub(crate) async fn served(address: &str, token_secret: Option<RootSecret>) -> Result<Client, Problem> {
    Ok(Client::open_with(address, ClientOptions { token_secret, ..ClientOptions::default() }).await?)
}

/// The secret in a file.
pub(crate) fn token_secret(path: &Path) -> Result<RootSecret, String> {
    let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    let least = limits::ROOT_SECRET_BYTES_MIN;
    RootSecret::new(&bytes).ok_or_else(|| format!("the secret in it has fewer than {least} bytes"))
}

async fn with(address: &str, options: ClientOptions) -> Result<Client, Problem> {
    let token_secret = match std::env::var_os(TOKEN_SECRET_FILE).filter(|path| !path.is_empty()) {
        Some(path) => {
            let unreadable =
                |why| Problem::Secret { place: format!("{TOKEN_SECRET_FILE}={}", Path::new(&path).display()), why };
            Some(token_secret(Path::new(&path)).map_err(unreadable)?)
        }
        None => None,
    };
    let api_key = std::env::var(API_KEY).ok().filter(|key| !key.is_empty()).map(|key| ApiKeyText::from(key.as_str()));
    Ok(Client::open_with(address, ClientOptions { api_key, token_secret, ..options }).await?)
}

/// The engine of a client that has one.
pub(crate) fn engine(client: &Client) -> Result<&Engine, Problem> {
    client.engine().ok_or_else(|| Problem::NeedsStore(NOT_HANDED_OUT.to_owned()))
}
