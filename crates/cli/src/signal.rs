//! `onward signal` and `onward waits`: telling an execution something from outside, and seeing what it waits for.

use crate::args::{SignalArgs, Target};
use crate::problem::{Exit, Problem};
use crate::submit::{input, parse};
use crate::{open, output, shape, time};
use onward::call::Ask;
use onward::wire::WaitsInfo;
use onward::{Client, ExecutionId, SignalEffect, Signalled};
use onward_core::record::WaitAddress;
use onward_core::{CommandId, NewSignal};

/// Sends a signal and says what it did.
pub(crate) async fn send(args: SignalArgs, store: &str, json: bool) -> Result<Exit, Problem> {
    // A mistake is found before the store is opened, so that it changes nothing.
    let id: ExecutionId = parse(&args.target.id)?;
    let mut signal = NewSignal::new(parse::<WaitAddress, _>(&args.wait)?);
    signal.name = args.name.as_deref().map(parse).transpose()?;
    signal.idempotency_key = args.key.as_deref().map(parse).transpose()?;
    signal.set_payload(input(&args.payload, args.content_type.as_deref())?);
    let client = open::existing(store, &args.target.namespace).await?;
    let command = CommandId(client.chance().id());
    let sent = client.ask::<Signalled>(Ask::Signal { command, id, signal: Box::new(signal) }).await;
    client.shutdown().await?;
    let signalled = sent?;
    output::print(&if json { shape::text(&signalled) } else { said(id, &args.wait, &signalled) });
    Ok(Exit::Success)
}

fn said(id: ExecutionId, wait: &str, signalled: &Signalled) -> String {
    match signalled.effect {
        SignalEffect::Resumed => format!("{id} goes on"),
        SignalEffect::Counted => format!("counted; {id} waits for more"),
        SignalEffect::Ignored => format!("not counted: a signal of the same person counts already for {wait}"),
        SignalEffect::Buffered => format!("kept until {id} waits for {wait}"),
    }
}

/// Shows waits and signals.
pub(crate) async fn waits(target: Target, store: &str, json: bool) -> Result<Exit, Problem> {
    let id: ExecutionId = parse(&target.id)?;
    let client = open::existing(store, &target.namespace).await?;
    let found = look(&client, id, json).await;
    client.shutdown().await?;
    output::print(&found?);
    Ok(Exit::Success)
}

async fn look(client: &Client, id: ExecutionId, json: bool) -> Result<String, Problem> {
    let waits = client.waits(id).await?;
    Ok(if json { shape::text(&waits) } else { show(&waits, &client.why(id).await?.reason.to_string()) })
}

fn show(waits: &WaitsInfo, reason: &str) -> String {
    let mut text = match &waits.suspension {
        Some(suspension) => format!("suspended since {}: {reason}\n", time::show(suspension.since)),
        None => format!("{reason}\n"),
    };
    if waits.kept > 0 {
        text.push_str(&format!("{} signals are kept for later waits\n", waits.kept));
    }
    if !waits.over.is_empty() {
        let mut rows = vec![["WAIT", "ENDED BY", "AT", "SIGNALS"].map(str::to_owned)];
        rows.extend(waits.over.iter().map(|wait| {
            let count = wait.signals.len().to_string();
            [wait.wait.to_string(), wait.how.as_str().to_owned(), time::show(wait.at), count]
        }));
        text.push_str(&format!("\n{}", shape::table(&rows)));
    }
    if !waits.signals.is_empty() {
        let mut rows = vec![["SIGNAL", "WAIT", "NAME", "FROM", "AT", "EFFECT"].map(str::to_owned)];
        rows.extend(waits.signals.iter().map(|signal| {
            let name = signal.name.as_ref().map_or("-", |name| name.as_str()).to_owned();
            let actor = signal.actor.as_ref().map_or("-", |actor| actor.as_str()).to_owned();
            let (id, wait, effect) =
                (signal.id.to_string(), signal.wait.to_string(), signal.effect.as_str().to_owned());
            [id, wait, name, actor, time::show(signal.at), effect]
        }));
        text.push_str(&format!("\n{}", shape::table(&rows)));
    }
    text
}
