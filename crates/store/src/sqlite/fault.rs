//! What an error of SQLite means to a caller.

use crate::{Error, ErrorKind};
use rusqlite::ErrorCode;

/// The code for a shared-memory file that could not grow: the file system is full.
const SHM_SIZE: i32 = rusqlite::ffi::SQLITE_IOERR_SHMSIZE;

/// What is found cannot be what was written.
pub(super) fn corrupt(what: &str) -> Error {
    Error::new(ErrorKind::Corrupt, format!("the database is damaged: {what}; restore it from a copy"))
}

/// A failure while nothing was being written.
pub(super) fn reading(error: rusqlite::Error) -> Error {
    translate(error).unwritten()
}

/// A failure inside a transaction that was or will be rolled back.
pub(super) fn rolled_back(error: rusqlite::Error) -> Error {
    translate(error).unwritten()
}

/// Whether the page cache may claim what the file does not hold, so that going on could acknowledge what is lost.
pub(super) fn is_fatal(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error();
    code.is_some_and(|code| code.code == ErrorCode::SystemIoFailure && code.extended_code != SHM_SIZE)
}

/// The answer to everybody once a write or sync has failed.
pub(super) fn broken(detail: &str) -> Error {
    let message = format!("the store closed itself because the disk failed ({detail}): check the disk, then restart");
    Error::new(ErrorKind::Closed, message)
}

/// An error of the operating system while opening.
pub(super) fn system(what: &str, error: std::io::Error) -> Error {
    let kind = match error.kind() {
        std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => ErrorKind::ReadOnly,
        std::io::ErrorKind::StorageFull => ErrorKind::Full,
        _ => ErrorKind::Unavailable,
    };
    Error::new(kind, format!("{what}: {error}")).unwritten().with_source(error)
}

fn translate(error: rusqlite::Error) -> Error {
    let Some(code) = error.sqlite_error() else {
        return corrupt("a row does not have the expected columns").with_source(error);
    };
    let (kind, message) = match code.code {
        ErrorCode::DiskFull => (ErrorKind::Full, "the disk is full: free some space and writes go on".to_owned()),
        ErrorCode::SystemIoFailure if code.extended_code == SHM_SIZE => {
            (ErrorKind::Full, "the disk is full: free some space and writes go on".to_owned())
        }
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
            (ErrorKind::Unavailable, "another process kept the database locked for too long: try again".to_owned())
        }
        ErrorCode::ReadOnly | ErrorCode::PermissionDenied => {
            (ErrorKind::ReadOnly, "the database file may only be read: make it and its directory writable".to_owned())
        }
        ErrorCode::DatabaseCorrupt => {
            (ErrorKind::Corrupt, "the database is damaged: restore it from a copy".to_owned())
        }
        ErrorCode::NotADatabase => {
            (ErrorKind::Foreign, "the file is not an SQLite database: choose another path".to_owned())
        }
        ErrorCode::SystemIoFailure | ErrorCode::CannotOpen | ErrorCode::OutOfMemory => {
            (ErrorKind::Unavailable, format!("the database cannot be read now: {error}"))
        }
        _ => (ErrorKind::Corrupt, format!("the database does not behave like a store: {error}")),
    };
    Error::new(kind, message).with_source(error)
}
