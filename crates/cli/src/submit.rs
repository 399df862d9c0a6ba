//! `onward submit`: check everything that was typed, then submit it.

use crate::args::SubmitArgs;
use crate::problem::{Exit, Problem};
use crate::{output, time};
use onward::engine::NewExecution;
use onward::{Class, Client, Error, Payload, Span, limits};
use onward_core::When;
use std::io::Read;
use std::time::Duration;

pub(crate) async fn run(args: SubmitArgs, store: &str, json: bool) -> Result<Exit, Problem> {
    // A mistake is found before the store is opened, so that it changes nothing.
    let new = prepare(args)?;
    let client = Client::open(store).await?;
    let submitted = client.engine().submit(new).await.map_err(Error::from);
    if let Err(error) = client.shutdown().await {
        // What was acknowledged is on the disk, so this is no reason to call the submit failed.
        tracing::warn!(%error, "the store did not close cleanly");
    }
    let submitted = submitted?;
    if json {
        output::print(&serde_json::json!({ "id": submitted.id, "created": submitted.created }).to_string());
    } else if submitted.created {
        output::print(&format!("submitted {}", submitted.id));
    } else {
        output::print(&format!("submitted before, under the same key: {}", submitted.id));
    }
    Ok(Exit::Success)
}

fn prepare(args: SubmitArgs) -> Result<NewExecution, Problem> {
    let mut new = NewExecution::new(parse(&args.kind)?, input(&args.input, args.content_type.as_deref())?);
    new.namespace = parse(&args.namespace)?;
    new.lane = parse(&args.lane)?;
    new.priority = args.priority;
    new.when = when(args.delay.as_deref(), args.at.as_deref())?;
    new.idempotency_key = args.key.as_deref().map(parse).transpose()?;
    for tag in args.tags {
        let (key, value) = tag.split_once('=').ok_or_else(|| Problem::Tag(tag.clone()))?;
        new.tags.insert(parse(key)?, parse(value)?);
    }
    let capabilities = args.requires.iter().map(|text| parse(text)).collect::<Result<Vec<_>, _>>()?;
    new.requires = Class::new(capabilities).map_err(Error::from)?;
    Ok(new)
}

/// Parses a name of any kind.
pub(crate) fn parse<T: std::str::FromStr<Err = E>, E: Into<Error>>(text: &str) -> Result<T, Problem> {
    text.parse().map_err(|error: E| Problem::Client(error.into()))
}

fn when(delay: Option<&str>, at: Option<&str>) -> Result<When, Problem> {
    if let Some(delay) = delay {
        let pause: Duration = time::duration("--delay", delay)?;
        return Ok(When::After(Span(u64::try_from(pause.as_millis()).unwrap_or(u64::MAX))));
    }
    at.map_or(Ok(When::Now), |at| time::at("--at", at).map(When::At))
}

fn input(text: &str, content_type: Option<&str>) -> Result<Payload, Problem> {
    let bytes = match text.strip_prefix('@') {
        Some(path) => {
            let unreadable = |error| unreadable(path, &error);
            read(std::fs::File::open(path).map_err(unreadable)?).map_err(unreadable)?
        }
        None if text == "-" => read(std::io::stdin().lock()).map_err(|error| unreadable("standard input", &error))?,
        None => text.as_bytes().to_vec(),
    };
    let payload = Payload::bytes(content_type.unwrap_or("application/json"), bytes);
    Ok(payload.map_err(Error::from)?)
}

fn unreadable(place: &str, error: &std::io::Error) -> Problem {
    Problem::InputUnreadable { place: place.to_owned(), why: error.to_string() }
}

/// Reads at most one byte more than a payload may have, which is enough to refuse it.
fn read(from: impl Read) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(limits::PAYLOAD_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
