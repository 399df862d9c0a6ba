//! `onward get`: one execution with its input and its result.

use crate::args::GetArgs;
use crate::open;
use crate::problem::{Exit, Problem};
use crate::shape::{self, Fields};
use crate::submit::parse;
use crate::watch::{self, Shown};
use onward::{Client, ExecutionId, Rejection};

pub(crate) async fn run(args: &GetArgs, store: &str, json: bool) -> Result<Exit, Problem> {
    let id: ExecutionId = parse(&args.target.id)?;
    let client = open::existing(store, &args.target.namespace).await?;
    let look = async || {
        let (fields, is_final) = find(&client, id).await?;
        Ok(Shown { text: if json { shape::text(&fields) } else { shape::lines(&fields) }, is_final })
    };
    watch::show(&client, &args.watch, look).await
}

/// The execution, and whether it has ended.
async fn find(client: &Client, id: ExecutionId) -> Result<(Fields, bool), onward::Error> {
    let Some(description) = client.get(id).await? else {
        return Err(Rejection::ExecutionNotFound(id).into());
    };
    let ended = description.state.outcome().is_some();
    let mut fields = shape::object(&description);
    for (name, payload) in [("input", client.input(id).await?), ("result", client.output(id).await?)] {
        if let Some(payload) = payload {
            fields.insert(name.to_owned(), shape::payload(payload));
        }
    }
    Ok((fields, ended))
}
