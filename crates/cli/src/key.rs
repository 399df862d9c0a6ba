//! `onward key`: who may call a server on this store.

use crate::args::{KeyArgs, KeyCommand, KeyCreateArgs};
use crate::problem::{Exit, Problem};
use crate::submit::{parse, span};
use crate::{get, output, shape, time};
use onward::engine::NewKey;
use onward::wire::{IssuedKey, KeyInfo};
use onward::{Client, Error, Namespace};
use onward_core::{ApiKeyId, When};
use onward_server::{Secret, hash};

pub(crate) async fn run(args: KeyArgs, store: &str, json: bool) -> Result<Exit, Problem> {
    match args.command {
        KeyCommand::Create(args) => {
            let make = prepare(args)?;
            // The first key of a server that was never started makes its store.
            let client = Client::open(store).await?;
            let issued = issue(&client, make).await;
            client.shutdown().await?;
            let issued = issued?;
            output::print(&if json { shape::text(&issued) } else { issued.key });
        }
        KeyCommand::Ls => {
            let client = get::open(store, "default").await?;
            let keys = client.engine().keys().await;
            let now = client.engine().now();
            client.shutdown().await?;
            let keys = keys.map_err(Error::from)?;
            if json {
                let keys: Vec<KeyInfo> = keys.into_iter().map(KeyInfo::from).collect();
                output::print(&shape::text(&keys));
                return Ok(Exit::Success);
            }
            let mut rows = vec![["ID", "NAME", "ROLES", "NAMESPACES", "STATE", "EXPIRES"].map(str::to_owned)];
            for key in keys {
                let roles: Vec<_> = key.roles.iter().map(|role| role.as_str()).collect();
                let spaces: Vec<_> = key.namespaces.iter().map(Namespace::as_str).collect();
                let state = match key.revoked_at {
                    Some(_) => "revoked",
                    None if !key.is_good(now) => "expired",
                    None => "good",
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
            output::print(&shape::table(&rows));
        }
        KeyCommand::Revoke(args) => {
            let id: ApiKeyId = parse(&args.id)?;
            let client = get::open(store, "default").await?;
            let revoked = client.engine().revoke_key(id, None).await;
            client.shutdown().await?;
            let revoked: KeyInfo = revoked.map_err(Error::from)?.into();
            let said = format!("key {} of {} is revoked", revoked.id, revoked.name);
            output::print(&if json { shape::text(&revoked) } else { said });
        }
    }
    Ok(Exit::Success)
}

fn prepare(args: KeyCreateArgs) -> Result<impl FnOnce(&Secret) -> NewKey, Problem> {
    let name = parse(&args.name)?;
    let namespaces = args.namespaces.iter().map(|namespace| parse(namespace)).collect::<Result<_, _>>()?;
    let expires = span("--expires", args.expires.as_deref())?.map(When::After);
    let roles = args.roles.into_iter().collect();
    Ok(move |secret: &Secret| NewKey { name, hash: hash(secret), roles, namespaces, expires })
}

async fn issue(client: &Client, make: impl FnOnce(&Secret) -> NewKey) -> Result<IssuedKey, Error> {
    let secret = Secret::draw(client.chance());
    let kept = client.engine().issue_key(make(&secret), None).await?;
    Ok(IssuedKey { key: secret.reveal(kept.id), info: kept.into() })
}
