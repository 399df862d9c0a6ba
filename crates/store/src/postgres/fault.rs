//! What an error of Postgres means to a caller.

use crate::{Error, ErrorKind};
use tokio_postgres::error::{DbError, Severity, SqlState};

/// What is found cannot be what was written.
pub(super) fn corrupt(what: &str) -> Error {
    Error::new(ErrorKind::Corrupt, format!("the database is damaged: {what}; restore it from a copy"))
}

/// The server cannot be reached; nothing was sent to it.
pub(super) fn away(detail: &str) -> Error {
    let message = format!("Postgres cannot be reached ({detail}): work goes on when it is back");
    Error::new(ErrorKind::Unavailable, message).unwritten()
}

/// The server took a call and did not answer in time.
pub(super) fn silent() -> Error {
    Error::new(ErrorKind::Unavailable, "Postgres did not answer in time: the connection is given up")
}

/// A place that a store cannot live in.
pub(super) fn unsuitable(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Unsuitable, message).unwritten()
}

/// A failure while nothing was being written.
pub(super) fn reading(error: tokio_postgres::Error) -> Error {
    translate(error).unwritten()
}

/// A failed commit. The server tells an error only after it has rolled back; when it ends the connection instead, or the
/// connection ends by itself, the commit may have happened.
pub(super) fn committing(error: tokio_postgres::Error) -> Error {
    if is_rolled_back(&error) { translate(error).unwritten() } else { translate(error) }
}

/// Whether the same statement may work when it is sent again at once.
///
/// Two processes that make the same key in different partitions meet in a unique index; the second look tells them.
pub(super) fn is_worth_repeating(error: &tokio_postgres::Error) -> bool {
    let again = [SqlState::T_R_DEADLOCK_DETECTED, SqlState::T_R_SERIALIZATION_FAILURE, SqlState::UNIQUE_VIOLATION];
    is_rolled_back(error) && error.code().is_some_and(|code| again.contains(code))
}

/// Whether the connection can be used again.
pub(super) fn is_connection_good(error: &tokio_postgres::Error) -> bool {
    is_rolled_back(error)
}

fn is_rolled_back(error: &tokio_postgres::Error) -> bool {
    error.as_db_error().is_some_and(|said| said.parsed_severity() == Some(Severity::Error))
}

fn translate(error: tokio_postgres::Error) -> Error {
    let (kind, message) = match error.as_db_error() {
        Some(said) => meaning(said),
        None => (ErrorKind::Unavailable, format!("the connection to Postgres was lost ({})", chain(&error))),
    };
    Error::new(kind, message).with_source(error)
}

fn meaning(said: &DbError) -> (ErrorKind, String) {
    let text = said.message();
    let code = said.code();
    if [SqlState::INVALID_PASSWORD, SqlState::INVALID_AUTHORIZATION_SPECIFICATION].contains(code) {
        return (
            ErrorKind::Unsuitable,
            format!("Postgres refuses the login ({text}): check user, password and pg_hba.conf"),
        );
    }
    if *code == SqlState::INVALID_CATALOG_NAME {
        return (ErrorKind::Unsuitable, format!("{text}: create it with CREATE DATABASE, or correct the address"));
    }
    if *code == SqlState::INSUFFICIENT_PRIVILEGE {
        let hint = "let the role create the schema (GRANT CREATE ON DATABASE), or make it the owner of the schema";
        return (ErrorKind::ReadOnly, format!("{text}: {hint}"));
    }
    if *code == SqlState::READ_ONLY_SQL_TRANSACTION {
        return (ErrorKind::ReadOnly, "this Postgres may only be read: connect to the primary server".to_owned());
    }
    if *code == SqlState::DISK_FULL {
        return (ErrorKind::Full, "the disk of Postgres is full: free some space and writes go on".to_owned());
    }
    if [SqlState::DATA_CORRUPTED, SqlState::INDEX_CORRUPTED].contains(code) {
        return (ErrorKind::Corrupt, format!("the database is damaged ({text}): restore it from a copy"));
    }
    let gone = [SqlState::UNDEFINED_TABLE, SqlState::UNDEFINED_FUNCTION, SqlState::INVALID_SCHEMA_NAME];
    if gone.contains(code) {
        return (ErrorKind::Corrupt, format!("the store's tables were removed ({text}): restore them from a copy"));
    }
    if *code == SqlState::FEATURE_NOT_SUPPORTED {
        return (ErrorKind::Unsuitable, format!("Postgres cannot serve as a store: {text}"));
    }
    (ErrorKind::Unavailable, format!("Postgres could not do it now ({text}, {})", code.code()))
}

/// An error with its causes; the outermost of this library alone says little.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

/// A failure to connect. What cannot get better by itself is told apart from a server that is away.
pub(super) fn connecting(error: tokio_postgres::Error) -> Error {
    if error.as_db_error().is_some() {
        return translate(error).unwritten();
    }
    let text = chain(&error);
    if text.contains("invalid peer certificate") {
        return unsuitable(format!(
            "the server's certificate is not trusted ({text}): check sslrootcert and the host name"
        ));
    }
    if text.contains("server does not support TLS") {
        return unsuitable("the server does not offer TLS: turn ssl on there, or use sslmode=prefer or disable");
    }
    if text.contains("password missing") {
        return unsuitable(
            "the server asks for a password: write it into the address, postgres://user:password@host/db",
        );
    }
    away(&text).with_source(error)
}
