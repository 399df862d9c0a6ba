//! `onward submit`: check everything that was typed, then submit it.

use crate::args::SubmitArgs;
use crate::problem::{Exit, Problem};
use crate::{open, output, shape, time};
use onward::call::Ask;
use onward::wire::SubmitAnswer;
use onward::{Class, Error, Payload, RetryPolicy, Span, Submitted, TagKey, TagValue, limits};
use onward_core::{NewExecution, When};
use std::collections::BTreeMap;
use std::io::Read;

pub(crate) async fn run(args: SubmitArgs, store: &str, json: bool) -> Result<Exit, Problem> {
    // A mistake is found before the store is opened, so that it changes nothing.
    let new = prepare(&args)?;
    let client = open::any(store, new.namespace.clone()).await?;
    let submitted = client.ask::<Submitted>(Ask::Submit(Box::new(new))).await;
    if let Err(error) = client.shutdown().await {
        // What was acknowledged is on the disk, so this is no reason to call the submit failed.
        tracing::warn!(%error, "the store did not close cleanly");
    }
    let submitted = submitted?;
    if json {
        output::print(&shape::text(&SubmitAnswer::from(submitted)));
    } else if submitted.created {
        output::print(&format!("submitted {}", submitted.id));
    } else {
        output::print(&format!("submitted before, under the same key: {}", submitted.id));
    }
    Ok(Exit::Success)
}

fn prepare(args: &SubmitArgs) -> Result<NewExecution, Problem> {
    let mut new = NewExecution::new(parse(&args.kind)?, input(&args.input, args.content_type.as_deref())?);
    new.namespace = parse(&args.namespace)?;
    new.lane = parse(&args.lane)?;
    new.priority = args.priority;
    new.set_when(when(args.delay.as_deref(), args.at.as_deref())?);
    new.idempotency_key = args.key.as_deref().map(parse).transpose()?;
    new.unique_key = args.unique.as_deref().map(parse).transpose()?;
    new.expires_after = span("--deadline", args.deadline.as_deref())?;
    new.tags = tags(&args.tags)?;
    new.policy.retry = args.retries.map(|max_retries| RetryPolicy { max_retries, ..RetryPolicy::default() });
    new.policy.attempt_timeout = span("--attempt-timeout", args.attempt_timeout.as_deref())?;
    new.policy.retention = span("--retention", args.retention.as_deref())?;
    let capabilities = args.requires.iter().map(|text| parse(text)).collect::<Result<Vec<_>, _>>()?;
    new.requires = Class::new(capabilities).map_err(Error::from)?;
    Ok(new)
}

/// Parses a name of any kind.
pub(crate) fn parse<T: std::str::FromStr<Err = E>, E: Into<Error>>(text: &str) -> Result<T, Problem> {
    text.parse().map_err(|error: E| Problem::Client(error.into()))
}

/// Labels as they are typed.
pub(crate) fn tags(typed: &[String]) -> Result<BTreeMap<TagKey, TagValue>, Problem> {
    let tag = |tag: &String| {
        let (key, value) = tag.split_once('=').ok_or_else(|| Problem::Tag(tag.clone()))?;
        Ok((parse(key)?, parse(value)?))
    };
    typed.iter().map(tag).collect()
}

/// A length of time, if one was typed.
pub(crate) fn span(option: &'static str, typed: Option<&str>) -> Result<Option<Span>, Problem> {
    let found = typed.map(|typed| time::duration(option, typed)).transpose()?;
    Ok(found.map(|found| Span(u64::try_from(found.as_millis()).unwrap_or(u64::MAX))))
}

/// When something may run: after a pause, at a time, or now.
pub(crate) fn when(delay: Option<&str>, at: Option<&str>) -> Result<When, Problem> {
    if let Some(pause) = span("--delay", delay)? {
        return Ok(When::After(pause));
    }
    at.map_or(Ok(When::Now), |at| time::at("--at", at).map(When::At))
}

pub(crate) fn input(text: &str, content_type: Option<&str>) -> Result<Payload, Problem> {
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
