//! Keys: issued once, revoked for good, and both told to whoever audits.

use crate::record::{ApiKey, Format, Record, Role};
use crate::rules::submit::time;
use crate::view::unreadable;
use crate::{
    ApiKeyId, Event, IssueKey, Key, Lane, Millis, Namespace, Rejection, Reply, RevokeKey, Stop, View, What, limits,
};

pub(crate) fn issue(view: &mut View, issue: &IssueKey, now: Millis) -> Result<Reply, Stop> {
    if let Some(known) = find(view, issue.id)? {
        return if known.created_by == issue.command {
            // As it was then, whatever has become of it.
            Ok(Reply::KeyIssued(Box::new(ApiKey { revoked_at: None, ..known })))
        } else {
            Err(Rejection::invalid("id", "another key has this id already").into())
        };
    }
    if issue.roles.is_empty() {
        return Err(Rejection::invalid("roles", "a key needs at least one role").into());
    }
    if issue.namespaces.len() > limits::KEY_NAMESPACES_MAX {
        let why = format!("at most {} are allowed, {} were given", limits::KEY_NAMESPACES_MAX, issue.namespaces.len());
        return Err(Rejection::invalid("namespaces", why).into());
    }
    // Whoever issues keys decides about all namespaces, so nobody gets there by a narrow key.
    if issue.roles.contains(&Role::Admin) && !issue.namespaces.is_empty() {
        return Err(Rejection::invalid("namespaces", "an admin key is good everywhere; leave them out").into());
    }
    let expires_at = issue.expires.map(|when| time(view, "expires_at", when, now)).transpose()?;
    let key = ApiKey {
        format: Format,
        id: issue.id,
        name: issue.name.clone(),
        hash: issue.hash,
        roles: issue.roles.clone(),
        namespaces: issue.namespaces.clone(),
        created_at: now,
        created_by: issue.command,
        expires_at,
        revoked_at: None,
    };
    view.event(event(What::KeyIssued { key: key.id, name: key.name.clone() }, now));
    view.put(Key::ApiKey(key.id), Record::ApiKey(key.clone()))?;
    Ok(Reply::KeyIssued(Box::new(key)))
}

pub(crate) fn revoke(view: &mut View, revoke: &RevokeKey, now: Millis) -> Result<Reply, Stop> {
    let Some(mut key) = find(view, revoke.id)? else {
        return Err(Rejection::KeyNotFound(revoke.id).into());
    };
    if key.revoked_at.is_none() {
        key.revoked_at = Some(now.max(key.created_at));
        view.event(event(What::KeyRevoked { key: key.id, name: key.name.clone() }, now));
        view.put(Key::ApiKey(key.id), Record::ApiKey(key.clone()))?;
    }
    Ok(Reply::KeyRevoked(Box::new(key)))
}

fn find(view: &mut View, id: ApiKeyId) -> Result<Option<ApiKey>, Stop> {
    let key = Key::ApiKey(id);
    match view.get(&key)?.as_deref() {
        None => Ok(None),
        Some(Record::ApiKey(found)) => Ok(Some(found.clone())),
        Some(_) => Err(unreadable(&key)),
    }
}

/// Keys concern every namespace; their events name the default one since they must name one.
fn event(what: What, now: Millis) -> Event {
    Event {
        format: Format,
        at: now,
        namespace: Namespace::default(),
        lane: Lane::default(),
        execution: None,
        by: None,
        what,
    }
}
