//! How the feeds of all partitions are read as one, and what a cursor over them says.
//!
//! Positions of a partition are dense, except where they were raised, and the newest event is never trimmed: so an event
//! that does not follow its cursor directly means that something was trimmed unread or undone. A primary that dies may
//! take its last events along, and their positions are used again: so a cursor also keeps a mark of the event it stands
//! at, and another event at that place means that its reader followed a past that was undone.

use super::read::{Reader, bytes, list, strange};
use super::script::Call;
use super::value::{event_id, position};
use crate::{Cursor, Event, FeedPage, Partition, Result, check, mark};
use bytes::Bytes;
use futures_util::future::try_join_all;
use redis::Value;
use std::fmt::Write as _;

/// The fewest and the most events one call brings from one partition.
const CHUNK_MIN: usize = 16;
const CHUNK_MAX: usize = 1_000;

/// The position of [`Cursor::end`], which no event ever has.
const END: u64 = u64::MAX;

/// A decoded [`Cursor`]: how far a reader has read each partition.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ValkeyCursor {
    /// The partition that is read first, so that a busy one does not hide the others.
    next: usize,
    /// The last position read of each partition.
    positions: Vec<MarkedPosition>,
}

/// A position in the feed of one partition, with the mark of the event there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct MarkedPosition {
    position: u64,
    /// The [`mark`] of the event there; `None` when it is not known.
    mark: Option<u16>,
}

impl MarkedPosition {
    fn of(position: u64, body: &[u8]) -> Self {
        Self { position, mark: Some(mark(body)) }
    }

    /// Reads `position.mark` in hexadecimal; empty for the start, without a mark when it is not known.
    fn parse(text: &str) -> Option<Self> {
        if text.is_empty() {
            return Some(Self::default());
        }
        let (position, mark) = match text.split_once('.') {
            Some((position, mark)) => (position, Some(u16::from_str_radix(mark, 16).ok()?)),
            None => (text, None),
        };
        Some(Self { position: u64::from_str_radix(position, 16).ok()?, mark })
    }

    /// Whether another event stands where this reader was.
    fn is_undone(self, event: Option<&Bytes>) -> bool {
        self.mark.zip(event).is_some_and(|(known, event)| known != mark(event))
    }
}

impl ValkeyCursor {
    /// Reads `next;position,position,...` in hexadecimal.
    fn parse(encoded: &Cursor, partitions: usize) -> Result<Self> {
        let text = encoded.as_str();
        let parse = || {
            let (next, list) = text.split_once(';')?;
            let next = usize::from_str_radix(next, 16).ok().filter(|next| *next < partitions)?;
            let mut positions = list.split(',').map(MarkedPosition::parse).collect::<Option<Vec<_>>>()?;
            (positions.len() <= partitions).then(|| positions.resize(partitions, MarkedPosition::default()))?;
            Some(Self { next, positions })
        };
        if text.is_empty() {
            return Ok(Self { next: 0, positions: vec![MarkedPosition::default(); partitions] });
        }
        if encoded.is_end() {
            return Ok(Self { next: 0, positions: vec![MarkedPosition { position: END, mark: None }; partitions] });
        }
        // One spelling only, so that nothing else passes for a cursor.
        let own = parse().filter(|cursor| cursor.encode().as_str() == text);
        own.ok_or_else(|| check::foreign_cursor(text))
    }

    fn encode(&self) -> Cursor {
        let mut text = format!("{:x};", self.next);
        let end = self.positions.iter().rposition(|at| at.position > 0).map_or(0, |last| last + 1);
        for (at, MarkedPosition { position, mark }) in self.positions[..end].iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            let _ = match mark {
                _ if *position == 0 => write!(text, "{comma}"),
                Some(mark) => write!(text, "{comma}{position:x}.{mark:x}"),
                None => write!(text, "{comma}{position:x}"),
            };
        }
        Cursor::from_text(text)
    }
}

/// What was read of one partition.
#[derive(Default)]
struct Share {
    events: Vec<(u64, Bytes)>,
    done: bool,
    /// Where the feed ends, when the cursor is not before it.
    newest: Option<u64>,
    /// The event at the cursor, when there are some behind it.
    anchor: Option<Bytes>,
    /// Whether the past changed while several calls read this page.
    undone: bool,
}

impl Reader<'_> {
    pub(super) async fn feed(&self, after: &Cursor, limit: usize) -> Result<FeedPage> {
        let mut cursor = ValkeyCursor::parse(after, usize::from(self.keys.partitions))?;
        let shares = if limit == 0 { Vec::new() } else { self.shares(&cursor, limit).await? };
        let mut page = FeedPage { events: Vec::new(), cursor: after.clone(), gap: false };
        for (at, share) in shares.iter().enumerate() {
            if let Some(newest) = share.newest.filter(|newest| *newest < cursor.positions[at].position) {
                page.gap |= cursor.positions[at].position != END;
                cursor.positions[at] = MarkedPosition { position: newest, mark: None };
            }
        }
        for at in turns(cursor.next, shares.len()) {
            for (number, (position, body)) in shares[at].events.iter().enumerate() {
                if page.events.len() == limit {
                    // The next page starts behind the partition that filled this one.
                    cursor.next = (cursor.next + 1) % shares.len();
                    page.cursor = cursor.encode();
                    return Ok(page);
                }
                let undone =
                    number == 0 && (shares[at].undone || cursor.positions[at].is_undone(shares[at].anchor.as_ref()));
                page.gap |= undone || cursor.positions[at].position + 1 != *position;
                cursor.positions[at] = MarkedPosition::of(*position, body);
                cursor.next = at;
                let partition = Partition(u16::try_from(at).unwrap_or(u16::MAX));
                page.events.push(Event { partition, position: *position, body: body.clone(), cursor: cursor.encode() });
            }
        }
        page.cursor = cursor.encode();
        Ok(page)
    }

    /// Enough of each partition's events for a page.
    async fn shares(&self, cursor: &ValkeyCursor, limit: usize) -> Result<Vec<Share>> {
        let count = cursor.positions.len();
        let mut shares: Vec<Share> = (0..count).map(|_| Share::default()).collect();
        let mut chunk = (limit / count).saturating_mul(2).clamp(CHUNK_MIN.min(limit), CHUNK_MAX);
        loop {
            let mut total: usize = 0;
            let missing = turns(cursor.next, count).any(|at| {
                total += shares[at].events.len();
                total < limit && !shares[at].done
            });
            if !missing {
                return Ok(shares);
            }
            let reads = (0..self.keys.tags().len()).map(|tag| self.read(tag, cursor, &shares, chunk));
            for (at, share) in try_join_all(reads).await?.into_iter().flatten() {
                let known = shares[at].events.last().map(|(position, body)| MarkedPosition::of(*position, body));
                shares[at].done = share.done;
                match known {
                    Some(known) => shares[at].undone |= known.is_undone(share.anchor.as_ref()),
                    None => (shares[at].newest, shares[at].anchor) = (share.newest, share.anchor),
                }
                shares[at].events.extend(share.events);
            }
            chunk = CHUNK_MAX.min(limit);
        }
    }

    /// The next events of those partitions of one tag that may have more.
    async fn read(
        &self,
        tag: usize,
        cursor: &ValkeyCursor,
        shares: &[Share],
        chunk: usize,
    ) -> Result<Vec<(usize, Share)>> {
        let open: Vec<u16> = self.keys.sharing(tag).filter(|at| !shares[usize::from(*at)].done).collect();
        if open.is_empty() {
            return Ok(Vec::new());
        }
        let feeds: Vec<String> = open.iter().map(|at| self.keys.feed(Partition(*at))).collect();
        let mut command = Call::Feed.with(feeds.iter().map(String::as_str));
        command.arg(chunk);
        for at in open.iter().map(|at| usize::from(*at)) {
            let last = shares[at].events.last().map_or(cursor.positions[at].position, |(position, _)| *position);
            command.arg(event_id(last));
        }
        let answers = list(self.one(self.keys.tags()[tag].slot, command).await?)?;
        let share = |(at, answer): (&u16, Value)| Ok((usize::from(*at), parse(answer, chunk)?));
        open.iter().zip(answers).map(share).collect()
    }
}

/// All partitions, from one on and around.
fn turns(first: usize, count: usize) -> impl Iterator<Item = usize> {
    (first..count).chain(0..first.min(count))
}

fn parse(answer: Value, chunk: usize) -> Result<Share> {
    let mut parts = list(answer)?.into_iter();
    let newest = match parts.next() {
        Some(Value::BulkString(id)) => Some(position(&id)?),
        _ => None,
    };
    let anchor = match parts.next() {
        Some(Value::BulkString(body)) => Some(Bytes::from(body)),
        _ => None,
    };
    let mut values = list(parts.next().ok_or_else(strange)?)?.into_iter();
    let mut events = Vec::with_capacity(values.len() / 2);
    while let (Some(id), Some(body)) = (values.next(), values.next()) {
        events.push((position(&bytes(id)?)?, Bytes::from(bytes(body)?)));
    }
    Ok(Share { done: events.len() < chunk, events, newest, anchor, undone: false })
}

#[cfg(test)]
mod tests {
    use super::*;
    use onward_fuzz::proptest::prelude::*;
    use onward_fuzz::{fuzz, near};

    #[test]
    fn marks_stay_the_same_for_ever() {
        assert_eq!((mark(b""), mark(b"a"), mark(b"b")), (0x1cd9, 0xcd20, 0xcae9));
    }

    #[test]
    fn cursors_survive_their_text() {
        let parse = |text: &str, partitions| ValkeyCursor::parse(&Cursor::from_text(text), partitions);
        let (none, some) = (MarkedPosition::default(), |position, mark| MarkedPosition { position, mark });
        for positions in [
            vec![none, none, none],
            vec![some(1, Some(7)), none, some(255, None)],
            vec![none, some(u64::MAX, Some(u16::MAX)), none],
            vec![some(7, Some(0)), none, none],
        ] {
            let cursor = ValkeyCursor { next: 2, positions };
            assert_eq!(parse(cursor.encode().as_str(), 3).unwrap(), cursor);
        }
        let cursor = ValkeyCursor { next: 1, positions: vec![none, some(16, Some(0xab)), none, none] };
        assert_eq!(cursor.encode().as_str(), "1;,10.ab");
        for text in
            ["not a cursor", "3;", "0;1,2,3,4", "0;x", ";", "5", "0;1.", "0;.1", "0;1.10000", "0;0.7", "+0;", "0;1,"]
        {
            assert!(parse(text, 3).is_err(), "{text}");
        }
    }

    #[test]
    fn fuzz_cursors_have_one_spelling() {
        let position = "([1-9a-f][0-9a-f]{0,15}(\\.[1-9a-f][0-9a-f]{0,3})?)?";
        fuzz(
            near((0..4, position, position, position).prop_map(|(next, a, b, c)| format!("{next};{a},{b},{c},1"))),
            |text| {
                let Ok(cursor) = ValkeyCursor::parse(&Cursor::from_text(text.as_str()), 4) else { return Ok(false) };
                prop_assert!(cursor.next < 4 && cursor.positions.len() == 4);
                prop_assert!(text.is_empty() || cursor.encode().as_str() == text, "{text:?}");
                Ok(true)
            },
        );
    }
}
