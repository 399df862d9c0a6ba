//! `onward get`: one execution with its input and its result.

use crate::args::Target;
use crate::problem::{Exit, Problem};
use crate::shape::Fields;
use crate::submit::parse;
use crate::{output, shape};
use onward::{Address, Client, ClientOptions, ExecutionId, Rejection};

pub(crate) async fn run(args: &Target, store: &str, json: bool) -> Result<Exit, Problem> {
    let id: ExecutionId = parse(&args.id)?;
    let client = open(store, &args.namespace).await?;
    let found = find(&client, id).await;
    client.shutdown().await?;
    let fields = found?;
    if json {
        output::print(&shape::text(&fields));
    } else {
        output::print(&shape::lines(&fields));
    }
    Ok(Exit::Success)
}

async fn find(client: &Client, id: ExecutionId) -> Result<Fields, onward::Error> {
    let Some(description) = client.get(id).await? else {
        return Err(Rejection::ExecutionNotFound(id).into());
    };
    let mut fields = shape::object(&description);
    for (name, payload) in [("input", client.input(id).await?), ("result", client.output(id).await?)] {
        if let Some(payload) = payload {
            fields.insert(name.to_owned(), shape::payload(payload));
        }
    }
    Ok(fields)
}

/// Opens a store to look at it; one that does not exist is not made.
pub(crate) async fn open(store: &str, namespace: &str) -> Result<Client, Problem> {
    let options = ClientOptions { namespace: parse(namespace)?, ..ClientOptions::default() };
    if let Address::Sqlite(path) = parse(store)?
        && !path.exists()
    {
        return Err(Problem::StoreMissing(path.display().to_string()));
    }
    Ok(Client::open_with(store, options).await?)
}
