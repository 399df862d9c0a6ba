//! What a cursor over one ordered feed means, for stores whose positions are dense over all partitions.
//!
//! Positions count up by one over the whole store and the newest event is never trimmed, so a hole between a cursor
//! and the end of a page is exactly an event that was trimmed unread.

use crate::{Cursor, Event, FeedPage, Partition, Result, check};
use bytes::Bytes;

/// The position of [`Cursor::end`], which no event ever has.
const END: u64 = u64::MAX;

/// The position a cursor stands at; the start is before the first.
pub(crate) fn position(cursor: &Cursor) -> Result<u64> {
    let text = cursor.as_str();
    if cursor.is_end() {
        return Ok(END);
    }
    if text.is_empty() {
        return Ok(0);
    }
    // One spelling only: `+7` is not 7.
    let position = text.parse().ok().filter(|position: &u64| position.to_string() == text);
    position.ok_or_else(|| check::foreign_cursor(text))
}

/// An event at a position.
pub(crate) fn event(partition: Partition, position: u64, body: Bytes) -> Event {
    Event { partition, position, body, cursor: Cursor::from_text(position.to_string()) }
}

/// The page that starts behind `start`, where `newest` is the highest position of the store.
///
/// A cursor ahead of the newest event belongs to a past that a restored backup undid: it goes back, with a gap.
pub(crate) fn feed_page(start: u64, events: Vec<Event>, newest: u64) -> FeedPage {
    let end = events.last().map_or(start.min(newest), |event| event.position);
    let gap = start != END && (start > newest || end - start > events.len() as u64);
    FeedPage { events, cursor: Cursor::from_text(end.to_string()), gap }
}
