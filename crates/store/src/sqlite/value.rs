//! How bodies and lists of entries are written in columns, and read back exactly.

use super::fault;
use crate::{Entry, IndexName, Result, Version};
use bytes::Bytes;
use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use std::fmt::Write as _;

/// A body as it is bound: text where it is text, so that the shell shows it, and bytes where it is not.
pub(super) struct Body<'a>(pub(super) &'a [u8]);

impl ToSql for Body<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        // SQLite's own functions stop at a zero byte in text.
        let text = !self.0.contains(&0) && std::str::from_utf8(self.0).is_ok();
        Ok(ToSqlOutput::Borrowed(if text { ValueRef::Text(self.0) } else { ValueRef::Blob(self.0) }))
    }
}

/// The bytes of a body column.
pub(super) fn body(value: ValueRef<'_>) -> Result<Bytes> {
    match value {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Ok(Bytes::copy_from_slice(bytes)),
        _ => Err(fault::corrupt("a body is neither text nor bytes")),
    }
}

/// The version of a version column.
pub(super) fn version(value: ValueRef<'_>) -> Result<Version> {
    let bytes = value.as_blob().ok().and_then(|bytes| bytes.try_into().ok());
    bytes
        .map(|bytes| Version(u128::from_be_bytes(bytes)))
        .ok_or_else(|| fault::corrupt("a version is not 16 bytes long"))
}

/// A version as it is bound.
pub(super) fn version_to_sql(version: Version) -> [u8; 16] {
    version.0.to_be_bytes()
}

/// Index entries as lines of `rank name`; names have no control characters.
pub(super) fn entries_to_text(entries: &[Entry], text: &mut String) {
    text.clear();
    for entry in entries {
        let _ = writeln!(text, "{} {}", entry.rank, entry.name.as_str());
    }
}

/// The entries of one record, as written by [`entries_to_text`], without copying the names.
pub(super) fn entry_lines(text: &str) -> impl Iterator<Item = Result<(u64, &str)>> {
    text.split_terminator('\n').map(|line| {
        let parts = line.split_once(' ');
        let parsed = parts.and_then(|(rank, name)| rank.parse().ok().map(|rank| (rank, name)));
        parsed.ok_or_else(|| fault::corrupt("a record's index entries do not parse"))
    })
}

/// The entries of one record as its owner wrote them.
pub(super) fn entries_from_text(text: &str) -> Result<Vec<Entry>> {
    let lines = entry_lines(text);
    lines.map(|line| line.map(|(rank, name)| Entry { name: IndexName::new(name), rank })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use onward_fuzz::proptest::prelude::*;
    use onward_fuzz::{fuzz, near};

    #[test]
    fn entries_survive_their_text() {
        let entries = vec![
            Entry { name: IndexName::new("a b/c d"), rank: u64::MAX },
            Entry { name: IndexName::new(" leading and trailing "), rank: 0 },
            Entry { name: IndexName::new("ä\u{85}\u{2028}"), rank: 7 },
        ];
        let mut text = String::from("left over");
        entries_to_text(&entries, &mut text);
        assert_eq!(entries_from_text(&text).unwrap(), entries);
        assert!(entries_from_text("no rank\n").is_err());
        assert_eq!(entries_from_text("7 a\r\n").unwrap(), [Entry { name: IndexName::new("a\r"), rank: 7 }]);
    }
    #[test]
    fn fuzz_texts_of_entries() {
        fuzz(near("([0-9]{1,19} [a-z/= ]{1,9}\n){0,3}"), |text| {
            let Ok(entries) = entries_from_text(&text) else { return Ok(false) };
            let mut written = String::new();
            entries_to_text(&entries, &mut written);
            prop_assert_eq!(entries_from_text(&written).unwrap(), entries);
            Ok(true)
        });
    }
}
