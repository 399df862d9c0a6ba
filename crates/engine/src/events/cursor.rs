//! A reader's position in the event feed: a store cursor, and the commits after it that were delivered in part.
//!
//! The store keeps the events of a commit as one. A reader that stops between two of them stays before that commit and
//! records how many of its events were delivered.

use onward_store::{Cursor, Event, Partition, mark};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Separates the store's cursor from the commits delivered in part; no store has it in its cursors.
const MARK: char = '|';

/// A reader's position in the event feed.
#[derive(Debug, Clone, Default)]
pub(crate) struct EventCursor {
    pub(crate) cursor: Cursor,
    told: BTreeMap<Partition, Part>,
}

/// The next commit of a partition, delivered in part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Part {
    position: u64,
    /// Number of its events that were delivered.
    count: usize,
    /// Identifies the commit, should a server that lost its last moments give the position to another.
    mark: u16,
}

impl EventCursor {
    /// Parses what [`EventCursor::text`] wrote. Anything else is left to the store, which refuses what it did not make.
    pub(crate) fn parse(text: &str) -> Self {
        let parsed = || {
            let (cursor, parts) = text.split_once(MARK)?;
            let mut told = BTreeMap::new();
            for part in parts.split(',') {
                let mut numbers = part.split('.');
                let partition = Partition(numbers.next()?.parse().ok()?);
                let (position, count) = (numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?);
                told.insert(partition, Part { position, count, mark: numbers.next()?.parse().ok()? });
            }
            Some(Self { cursor: Cursor::from_text(cursor), told })
        };
        // Only one spelling is valid, so that nothing else passes for what was written.
        let own = parsed().filter(|place| place.text() == text);
        own.unwrap_or_else(|| Self { cursor: Cursor::from_text(text), told: BTreeMap::new() })
    }

    /// The cursor as text for a reader to keep.
    pub(crate) fn text(&self) -> String {
        let mut text = self.cursor.as_str().to_owned();
        let mut between = MARK;
        for (partition, part) in &self.told {
            let _ = write!(text, "{between}{partition}.{}.{}.{}", part.position, part.count, part.mark);
            between = ',';
        }
        text
    }

    /// Number of events of this commit delivered before; `None` when those were of another commit in its position.
    pub(crate) fn told_of(&self, found: &Event) -> Option<usize> {
        match self.told.get(&found.partition) {
            Some(part) if part.position == found.position => (part.mark == mark(&found.body)).then_some(part.count),
            _ => Some(0),
        }
    }

    /// Records that the first `count` events of this commit are delivered.
    pub(crate) fn tell(&mut self, found: &Event, count: usize) {
        let part = Part { position: found.position, count, mark: mark(&found.body) };
        self.told.insert(found.partition, part);
    }

    /// Moves past a fully delivered commit, and drops what was recorded of its partition.
    pub(crate) fn pass(&mut self, partition: Partition, cursor: Cursor) {
        self.told.remove(&partition);
        self.cursor = cursor;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onward_fuzz::proptest::prelude::*;
    use onward_fuzz::{fuzz, near};

    fn found(partition: u16, position: u64, body: &'static str) -> Event {
        Event { partition: Partition(partition), position, body: body.into(), cursor: Cursor::start() }
    }

    #[test]
    fn a_place_survives_its_text() {
        let (one, two) = (found(1, 11, "one"), found(2, 12, "two"));
        let mut place = EventCursor::parse("0;1=a,2=b,");
        assert_eq!((place.text().as_str(), place.told_of(&one)), ("0;1=a,2=b,", Some(0)));
        place.tell(&one, 2);
        place.tell(&two, 1);
        let text = format!("0;1=a,2=b,|1.11.2.{},2.12.1.{}", mark(b"one"), mark(b"two"));
        assert_eq!(place.text(), text);
        let mut again = EventCursor::parse(&text);
        assert_eq!((again.cursor.as_str(), again.text()), ("0;1=a,2=b,", text));
        assert_eq!((again.told_of(&one), again.told_of(&found(1, 12, "one"))), (Some(2), Some(0)));
        again.pass(Partition(1), Cursor::from_text("0;1=b,2=b,"));
        assert_eq!(again.text(), format!("0;1=b,2=b,|2.12.1.{}", mark(b"two")));
        again.pass(Partition(2), Cursor::from_text("0;1=b,2=c,"));
        assert_eq!(again.text(), "0;1=b,2=c,");
    }

    #[test]
    fn another_commit_in_the_same_place_is_noticed() {
        let mut place = EventCursor::default();
        place.tell(&found(1, 11, "lost"), 1);
        assert_eq!(place.told_of(&found(1, 11, "in its place")), None);
    }

    #[test]
    fn what_no_reader_kept_is_left_to_the_store() {
        for text in
            ["", "17", "17|", "17|1.2.3", "17|1.2.x.4", "|", "17|1.2.3.4.5", "17|+1.2.3.4", "17|2.1.1.1,1.1.1.1"]
        {
            let place = EventCursor::parse(text);
            assert_eq!((place.text().as_str(), place.cursor.as_str()), (text, text));
        }
    }

    #[test]
    fn fuzz_places_keep_their_text() {
        let part = || (0_u16..4, any::<u64>(), 0_usize..300, any::<u16>());
        let parts = prop::collection::vec(part(), 0..3).prop_map(|mut parts| {
            parts.sort_unstable();
            let text = |(partition, position, count, mark)| format!("{partition}.{position}.{count}.{mark}");
            parts.into_iter().map(text).collect::<Vec<_>>().join(",")
        });
        let valid = ("[0-9a-f;=]{0,9}", parts).prop_map(|(cursor, parts)| format!("{cursor}{MARK}{parts}"));
        fuzz(near(valid), |text| {
            let place = EventCursor::parse(&text);
            prop_assert_eq!(place.text(), text.as_str());
            let _told = place.told_of(&found(1, 11, "one"));
            Ok(!place.told.is_empty())
        });
    }
}
