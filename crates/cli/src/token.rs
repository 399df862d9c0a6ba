//! `onward token`: text and links with which people answer a wait, and the keys that sign them.

use crate::args::{TokenArgs, TokenCommand, TokenMintArgs, TokenSignalArgs};
use crate::problem::{Exit, Problem};
use crate::submit::{input, parse, span};
use crate::{open, output, shape, time};
use onward::call::Ask;
use onward::wire::{MintedToken, TokenInfo, TokenKeyInfo, TokenKeyList, TokenSignalRequest, TokenState};
use onward::{Client, ExecutionId, Millis, Namespace, SignalEffect, Signalled, TokenText};
use onward_core::record::WaitAddress;
use onward_core::{CommandId, NewToken};
use std::io::Read;

pub(crate) async fn run(args: TokenArgs, store: &str, json: bool) -> Result<Exit, Problem> {
    let text = match args.command {
        TokenCommand::Mint(args) => mint(args, store, json).await?,
        TokenCommand::Verify(args) => {
            let token = token(&args.token)?;
            let info = on(store, async |client| Ok(client.describe_token(token).await?)).await?;
            if json { shape::text(&info) } else { described(&info) }
        }
        TokenCommand::Signal(args) => signal(args, store, json).await?,
        TokenCommand::Rotate(args) => {
            let grace = span("--grace", Some(&args.grace))?;
            let rotate = async |client: &Client| {
                let ask = Ask::RotateTokenKeys { command: CommandId(client.chance().id()), grace };
                Ok((client.ask::<Vec<TokenKeyInfo>>(ask).await?, client.store_time()))
            };
            let (keys, now) = on(store, rotate).await?;
            listed(keys, now, json)
        }
        TokenCommand::Keys => {
            let look = async |client: &Client| Ok((client.token_keys().await?, client.store_time()));
            let (keys, now) = on(store, look).await?;
            listed(keys, now, json)
        }
    };
    output::print(&text);
    Ok(Exit::Success)
}

/// Opens the store for one thing.
async fn on<T>(store: &str, run: impl AsyncFnOnce(&Client) -> Result<T, Problem>) -> Result<T, Problem> {
    let client = open::existing(store, Namespace::default().as_str()).await?;
    let answer = run(&client).await;
    client.shutdown().await?;
    answer
}

async fn mint(args: TokenMintArgs, store: &str, json: bool) -> Result<String, Problem> {
    // A mistake is found before the store is opened, so that it changes nothing.
    let id: ExecutionId = parse(&args.target.id)?;
    let mut new = NewToken::new(parse::<WaitAddress, _>(&args.wait)?, parse(&args.person)?);
    new.names = args.names.iter().map(|name| parse(name)).collect::<Result<_, _>>()?;
    new.expires_after = span("--expires", Some(&args.expires))?;
    let client = open::existing(store, &args.target.namespace).await?;
    let minted = client.ask::<Box<MintedToken>>(Ask::MintToken { id, new: Box::new(new) }).await;
    client.shutdown().await?;
    let minted = minted?;
    Ok(match (json, args.link) {
        (true, _) => shape::text(&minted),
        (false, Some(server)) => minted.link(&server),
        (false, None) => minted.token.reveal().to_owned(),
    })
}

async fn signal(args: TokenSignalArgs, store: &str, json: bool) -> Result<String, Problem> {
    let mut request = TokenSignalRequest::new(token(&args.token.token)?);
    request.name = args.name.as_deref().map(parse).transpose()?;
    (request.payload, request.payload_bytes) = input(&args.payload, None)?.into_fields();
    let send = async |client: &Client| Ok(client.ask::<Signalled>(Ask::SignalByToken(Box::new(request))).await?);
    let signalled = on(store, send).await?;
    Ok(if json { shape::text(&signalled) } else { said(&signalled) })
}

fn said(signalled: &Signalled) -> String {
    let name = signalled.name.as_ref().map(|name| format!(" {name}")).unwrap_or_default();
    match signalled.effect {
        SignalEffect::Resumed => format!("sent{name}; the execution goes on"),
        SignalEffect::Counted => format!("sent{name}; the execution waits for more"),
        SignalEffect::Ignored => format!("sent{name}; it does not count, since this person counts already"),
        SignalEffect::Buffered => format!("sent{name}; it is kept until the execution waits for it"),
    }
}

/// The token in what was typed: itself, a link that ends with it, or standard input.
fn token(typed: &str) -> Result<TokenText, Problem> {
    let mut text = typed.to_owned();
    if typed == "-" {
        text.clear();
        let read = std::io::stdin().read_to_string(&mut text);
        read.map_err(|error| Problem::system("standard input cannot be read", &error))?;
    }
    Ok(TokenText::from(text.rsplit('#').next().unwrap_or_default()))
}

fn described(info: &TokenInfo) -> String {
    let state = match info.state {
        TokenState::Open => "open",
        TokenState::Early => "not waited for yet; a signal is kept",
        TokenState::Over => "over",
    };
    let choices: Vec<&str> = info.choices.iter().map(|name| name.as_str()).collect();
    let mut rows = vec![
        ["execution", &info.execution.to_string()].map(str::to_owned),
        ["kind", info.kind.as_str()].map(str::to_owned),
        ["wait", &info.wait.to_string()].map(str::to_owned),
        ["state", state].map(str::to_owned),
        ["for", info.actor.as_str()].map(str::to_owned),
        ["choices", if choices.is_empty() { "any" } else { "" }].map(str::to_owned),
        ["expires", &time::show(info.expires_at)].map(str::to_owned),
    ];
    rows[5][1].push_str(&choices.join(", "));
    if let Some(title) = &info.title {
        rows.push(["asked", title.as_str()].map(str::to_owned));
    }
    if let Some(sent) = &info.sent {
        let name = sent.name.as_ref().map_or("-", |name| name.as_str());
        rows.push(["sent".to_owned(), format!("{name}, {}", time::show(sent.at))]);
    }
    shape::table(&rows)
}

fn listed(keys: Vec<TokenKeyInfo>, now: Millis, json: bool) -> String {
    if json {
        return shape::text(&TokenKeyList { keys });
    }
    let mut rows = vec![["ID", "MADE", "STATE", "BOUND", "EXPIRES"].map(str::to_owned)];
    for key in keys {
        let state = match key.expires_at {
            Some(at) if at <= now => "expired",
            _ if key.signs => "signs",
            Some(_) => "good",
            None => "about to sign",
        };
        rows.push([
            key.id.to_string(),
            time::show(key.created_at),
            state.to_owned(),
            if key.bound { "yes" } else { "no" }.to_owned(),
            key.expires_at.map_or_else(|| "never".to_owned(), time::show),
        ]);
    }
    shape::table(&rows)
}
