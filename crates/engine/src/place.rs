//! Where a reader of events stands: a cursor of the store, and which commits behind it have been told in part.
//!
//! The store keeps the events of a commit as one. A reader that stops between two of them stands before that commit and
//! remembers how many of its events it was told.

use onward_store::{Cursor, Partition};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Between the store's cursor and what was told behind it; no store has it in its cursors.
const MARK: char = '|';

/// A reader's place.
#[derive(Debug, Clone, Default)]
pub(crate) struct Place {
    pub(crate) cursor: Cursor,
    /// The next commit of a partition, by its position, and how many of its events were told.
    told: BTreeMap<Partition, (u64, usize)>,
}

impl Place {
    /// Reads what [`Place::text`] wrote. Anything else is left to the store, which refuses what it did not make.
    pub(crate) fn parse(text: &str) -> Self {
        let parsed = || {
            let (cursor, parts) = text.split_once(MARK)?;
            let mut told = BTreeMap::new();
            for part in parts.split(',') {
                let mut numbers = part.split('.');
                let (partition, position, count) = (numbers.next()?, numbers.next()?, numbers.next()?);
                told.insert(Partition(partition.parse().ok()?), (position.parse().ok()?, count.parse().ok()?));
            }
            Some(Self { cursor: Cursor::from_text(cursor), told })
        };
        parsed().unwrap_or_else(|| Self { cursor: Cursor::from_text(text), told: BTreeMap::new() })
    }

    /// As text that a reader keeps.
    pub(crate) fn text(&self) -> String {
        let mut text = self.cursor.as_str().to_owned();
        let mut mark = MARK;
        for (partition, (position, count)) in &self.told {
            let _ = write!(text, "{mark}{partition}.{position}.{count}");
            mark = ',';
        }
        text
    }

    /// How many events of this commit were told before.
    pub(crate) fn told_of(&self, partition: Partition, position: u64) -> usize {
        self.told.get(&partition).filter(|told| told.0 == position).map_or(0, |told| told.1)
    }

    /// The first events of this commit are told.
    pub(crate) fn tell(&mut self, partition: Partition, position: u64, count: usize) {
        self.told.insert(partition, (position, count));
    }

    /// All of a commit is told; what was remembered of its partition is over.
    pub(crate) fn pass(&mut self, partition: Partition, cursor: Cursor) {
        self.told.remove(&partition);
        self.cursor = cursor;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_survives_its_text() {
        let mut place = Place::parse("0;1=a,2=b,");
        assert_eq!((place.text().as_str(), place.told_of(Partition(1), 11)), ("0;1=a,2=b,", 0));
        place.tell(Partition(1), 11, 2);
        place.tell(Partition(2), 12, 1);
        assert_eq!(place.text(), "0;1=a,2=b,|1.11.2,2.12.1");
        let mut again = Place::parse(&place.text());
        assert_eq!((again.cursor.as_str(), again.text()), ("0;1=a,2=b,", place.text()));
        assert_eq!((again.told_of(Partition(1), 11), again.told_of(Partition(1), 12)), (2, 0));
        again.pass(Partition(1), Cursor::from_text("0;1=b,2=b,"));
        assert_eq!(again.text(), "0;1=b,2=b,|2.12.1");
        again.pass(Partition(2), Cursor::from_text("0;1=b,2=c,"));
        assert_eq!(again.text(), "0;1=b,2=c,");
    }

    #[test]
    fn what_no_reader_kept_is_left_to_the_store() {
        for text in ["", "17", "17|", "17|1.2", "17|1.2.x", "|"] {
            assert_eq!(Place::parse(text).text(), text);
        }
    }
}
