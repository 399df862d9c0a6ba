//! `onward key`: who may call a server on this store.

use crate::args::{KeyArgs, KeyCommand, KeyCreateArgs};
use crate::problem::{Exit, Problem};
use crate::submit::{parse, span};
use crate::{open, output, shape, time};
use onward::call::Ask;
use onward::wire::{IssuedKey, KeyInfo, KeyList, NewKeyRequest};
use onward::{Millis, Namespace};

pub(crate) async fn run(args: KeyArgs, store: &str, json: bool) -> Result<Exit, Problem> {
    match args.command {
        KeyCommand::Create(args) => {
            let request = prepare(args)?;
            // The first key of a server that was never started makes its store.
            let client = open::any(store, Namespace::default()).await?;
            let issued = client.ask::<IssuedKey>(Ask::IssueKey(request)).await;
            client.shutdown().await?;
            let issued = issued?;
            output::print(&if json { shape::text(&issued) } else { issued.key });
        }
        KeyCommand::Ls => {
            let client = open::existing(store, "default").await?;
            let keys = client.ask::<Vec<KeyInfo>>(Ask::Keys).await;
            let now = client.store_time();
            client.shutdown().await?;
            let keys = keys?;
            output::print(&if json { shape::text(&KeyList { keys }) } else { table(&keys, now) });
        }
        KeyCommand::Revoke(args) => {
            let ask = Ask::RevokeKey(parse(&args.id)?);
            let client = open::existing(store, "default").await?;
            let revoked = client.ask::<KeyInfo>(ask).await;
            client.shutdown().await?;
            let revoked = revoked?;
            let said = format!("key {} of {} is revoked", revoked.id, revoked.name);
            output::print(&if json { shape::text(&revoked) } else { said });
        }
    }
    Ok(Exit::Success)
}

fn table(keys: &[KeyInfo], now: Millis) -> String {
    let mut rows = vec![["ID", "NAME", "ROLES", "NAMESPACES", "STATE", "EXPIRES"].map(str::to_owned)];
    for key in keys {
        let roles: Vec<_> = key.roles.iter().map(|role| role.as_str()).collect();
        let spaces: Vec<_> = key.namespaces.iter().map(Namespace::as_str).collect();
        let state = match (key.revoked_at, key.expires_at) {
            (Some(_), _) => "revoked",
            (None, Some(at)) if at <= now => "expired",
            (None, _) => "good",
        };
        rows.push([
            key.id.to_string(),
            key.name.to_string(),
            roles.join(","),
            if spaces.is_empty() { "all".to_owned() } else { spaces.join(",") },
            state.to_owned(),
            key.expires_at.map_or_else(|| "never".to_owned(), time::show),
        ]);
    }
    shape::table(&rows)
}

fn prepare(args: KeyCreateArgs) -> Result<NewKeyRequest, Problem> {
    Ok(NewKeyRequest {
        name: parse(&args.name)?,
        roles: args.roles.into_iter().collect(),
        namespaces: args.namespaces.iter().map(|namespace| parse(namespace)).collect::<Result<_, _>>()?,
        expires_after: span("--expires", args.expires.as_deref())?,
    })
}
