//! What an error of the server or of the connection means to a caller.

use crate::{Error, ErrorKind};
use redis::{RedisError, ServerError};

/// What is found cannot be what was written.
pub(super) fn corrupt(what: &str) -> Error {
    Error::new(ErrorKind::Corrupt, format!("the keys of the store are damaged: {what}; restore them from a copy"))
}

/// The server did not answer; whether it did what it was asked is unknown.
pub(super) fn lost(address: &str, error: RedisError) -> Error {
    let message = format!("{address} did not answer ({error}): calls go on when it does");
    Error::new(ErrorKind::Unavailable, message).with_source(error)
}

/// No connection could be made.
pub(super) fn unreachable(address: &str, error: RedisError) -> Error {
    let (kind, message) = match (error.kind(), error.code()) {
        (redis::ErrorKind::AuthenticationFailed, _) | (_, Some("NOAUTH" | "WRONGPASS")) => (
            ErrorKind::Unsuitable,
            format!(
                "{address} refused the user or the password ({error}): name both as in valkey://user:password@host"
            ),
        ),
        (redis::ErrorKind::RESP3NotSupported, _) => (ErrorKind::Unsuitable, too_old(address, "5 or earlier")),
        (redis::ErrorKind::InvalidClientConfig, _) => {
            (ErrorKind::Invalid, format!("{address} cannot be used: {error}"))
        }
        (_, Some("NOPERM")) => (ErrorKind::Unsuitable, forbidden(address, &error.to_string())),
        _ => (ErrorKind::Unavailable, format!("{address} cannot be reached ({error}): is the server running?")),
    };
    Error::new(kind, message).unwritten().with_source(error)
}

/// A server without the commands this store needs.
pub(super) fn too_old(address: &str, version: &str) -> String {
    format!("{address} runs version {version}, which is too old: use Valkey 7.2 or later, or Redis 7.0 or later")
}

fn forbidden(address: &str, detail: &str) -> String {
    format!("{address} does not let this user do what the store needs ({detail}): see its ACL rules, channels included")
}

/// What an answer of the server that is an error means.
pub(super) fn refused(address: &str, error: &ServerError) -> Error {
    let detail = error.details().unwrap_or_default();
    let shown = format!("{}: {detail}", error.code());
    let (kind, message) = match error.code() {
        "OOM" => (ErrorKind::Full, "the server's memory limit is reached: raise maxmemory and writes go on".to_owned()),
        "MISCONF" => (ErrorKind::Full, format!("{address} cannot write to its disk and refuses writes ({shown})")),
        "NOREPLICAS" => (ErrorKind::Unavailable, format!("{address} misses replicas and refuses writes ({shown})")),
        "NOAUTH" | "WRONGPASS" => (ErrorKind::Unsuitable, format!("{address} does not know this user now ({detail})")),
        code if passes(code) => (ErrorKind::Unavailable, format!("{address} cannot serve now ({shown})")),
        _ => return broken_off(address, error, &shown),
    };
    Error::new(kind, message).unwritten()
}

/// Errors that a script can meet half-way, when somebody changed the rights of the user or the keys of the store.
fn broken_off(address: &str, error: &ServerError, shown: &str) -> Error {
    let (kind, message) = match error.code() {
        "NOPERM" => (ErrorKind::Unsuitable, forbidden(address, shown)),
        _ if shown.contains("ACL failure") => (ErrorKind::Unsuitable, forbidden(address, shown)),
        "WRONGTYPE" => {
            let message = "a key of the store has another type: another program writes under this prefix";
            (ErrorKind::Foreign, format!("{message}, choose another"))
        }
        _ => (ErrorKind::Corrupt, format!("{address} does not behave like a store ({shown})")),
    };
    Error::new(kind, message)
}

/// Whether the server did nothing and may well do it soon.
pub(super) fn passes(code: &str) -> bool {
    matches!(code, "TRYAGAIN" | "CLUSTERDOWN" | "LOADING" | "BUSY" | "MASTERDOWN" | "READONLY")
}
