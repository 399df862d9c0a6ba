//! The layout of everything that is stored, and which layouts this version opens.

use crate::{Error, ErrorKind, Result};

/// The layout of tables, keys and records; raised when they change in a way that other versions cannot read.
pub(crate) const LAYOUT: u32 = 2;

/// Refuses a store of another layout; `what` names the store.
pub(crate) fn check(what: &str, layout: u32) -> Result<()> {
    let (kind, message) = match layout {
        LAYOUT => return Ok(()),
        newer if newer > LAYOUT => (
            ErrorKind::Newer,
            format!(
                "{what} was written by a newer version (layout {newer}, this one knows up to {LAYOUT}): upgrade this \
                 program"
            ),
        ),
        older => (
            ErrorKind::Older,
            format!(
                "{what} was written by an earlier version before the first release (layout {older}, this one reads \
                 layout {LAYOUT}), and there is no migration: start with a new store"
            ),
        ),
    };
    Err(Error::new(kind, message).unwritten())
}
