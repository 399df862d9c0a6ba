//! `onward get`: one execution with its input and its result.

use crate::args::GetArgs;
use crate::open;
use crate::problem::{Exit, Problem};
use crate::shape;
use crate::submit::parse;
use crate::watch::{self, Shown};
use onward::{Description, ExecutionId, Payload, Rejection};
use onward_core::{Blob, Json};
use serde::Serialize;

/// An execution with its payloads: what the HTTP API answers in three calls.
#[derive(Serialize)]
struct Whole {
    #[serde(flatten)]
    description: Description,
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    input_bytes: Option<Blob>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result_bytes: Option<Blob>,
}

pub(crate) async fn run(args: &GetArgs, store: &str, json: bool) -> Result<Exit, Problem> {
    let id: ExecutionId = parse(&args.target.id)?;
    let client = open::existing(store, &args.target.namespace).await?;
    let look = async || {
        let description = client.get(id).await?.ok_or(Rejection::ExecutionNotFound(id))?;
        let is_final = description.state.outcome().is_some();
        let (input, result) = (client.input(id).await?, client.output(id).await?);
        let text = if json { whole(description, input, result) } else { lines(&description, input, result) };
        Ok(Shown { text, is_final })
    };
    watch::show(&client, &args.watch, look).await
}

fn whole(description: Description, input: Option<Payload>, result: Option<Payload>) -> String {
    let fields = |payload: Option<Payload>| payload.map_or((None, None), Payload::into_fields);
    let ((input, input_bytes), (result, result_bytes)) = (fields(input), fields(result));
    shape::text(&Whole { description, input, input_bytes, result, result_bytes })
}

fn lines(description: &Description, input: Option<Payload>, result: Option<Payload>) -> String {
    let mut fields = shape::fields(description);
    for (name, payload) in [("input", input), ("result", result)] {
        fields.extend(payload.map(|payload| (name.to_owned(), shape::payload(payload))));
    }
    shape::lines(&fields)
}
