//! How the feeds of all partitions are read as one, and what a cursor over them says.
//!
//! Positions of a partition are dense, except where they were raised, and the newest event is never trimmed: so an event
//! that does not follow its cursor directly means that something was trimmed unread or undone.

use super::read::{Reader, bytes, list, strange};
use super::script::Call;
use super::value::{event_id, position};
use crate::{Cursor, Event, FeedPage, Partition, Result, check};
use bytes::Bytes;
use futures_util::future::try_join_all;
use redis::Value;
use std::fmt::Write as _;

/// The fewest and the most events one call brings from one partition.
const CHUNK_MIN: usize = 16;
const CHUNK_MAX: usize = 1_000;

/// Where a reader is in each partition, and at which one it goes on, so that a busy partition does not hide the others.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Places {
    next: usize,
    positions: Vec<u64>,
}

impl Places {
    /// `next;position,position,...` in hexadecimal, with nothing for zero.
    fn parse(cursor: &Cursor, partitions: usize) -> Result<Self> {
        let text = cursor.as_str();
        let parse = || {
            let (next, list) = text.split_once(';')?;
            let next = usize::from_str_radix(next, 16).ok().filter(|next| *next < partitions)?;
            let number = |part: &str| if part.is_empty() { Some(0) } else { u64::from_str_radix(part, 16).ok() };
            let mut positions = list.split(',').map(number).collect::<Option<Vec<_>>>()?;
            (positions.len() <= partitions).then(|| positions.resize(partitions, 0))?;
            Some(Self { next, positions })
        };
        if text.is_empty() {
            return Ok(Self { next: 0, positions: vec![0; partitions] });
        }
        parse().ok_or_else(|| check::foreign_cursor(text))
    }

    fn cursor(&self) -> Cursor {
        let mut text = format!("{:x};", self.next);
        let end = self.positions.iter().rposition(|position| *position > 0).map_or(0, |last| last + 1);
        for (at, position) in self.positions[..end].iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            let _ = if *position == 0 { write!(text, "{comma}") } else { write!(text, "{comma}{position:x}") };
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
}

impl Reader<'_> {
    pub(super) async fn feed(&self, after: &Cursor, limit: usize) -> Result<FeedPage> {
        let mut places = Places::parse(after, usize::from(self.keys.partitions))?;
        let shares = if limit == 0 { Vec::new() } else { self.shares(&places, limit).await? };
        let mut page = FeedPage { events: Vec::new(), cursor: after.clone(), gap: false };
        for (at, share) in shares.iter().enumerate() {
            if let Some(newest) = share.newest.filter(|newest| *newest < places.positions[at]) {
                places.positions[at] = newest;
                page.gap = true;
            }
        }
        for at in turns(places.next, shares.len()) {
            for (position, body) in &shares[at].events {
                if page.events.len() == limit {
                    // The next page starts behind the partition that filled this one.
                    places.next = (places.next + 1) % shares.len();
                    page.cursor = places.cursor();
                    return Ok(page);
                }
                page.gap |= places.positions[at] + 1 != *position;
                places.positions[at] = *position;
                places.next = at;
                let partition = Partition(u16::try_from(at).unwrap_or(u16::MAX));
                page.events.push(Event { partition, position: *position, body: body.clone(), cursor: places.cursor() });
            }
        }
        page.cursor = places.cursor();
        Ok(page)
    }

    /// Enough of each partition's events for a page.
    async fn shares(&self, places: &Places, limit: usize) -> Result<Vec<Share>> {
        let count = places.positions.len();
        let mut shares: Vec<Share> = (0..count).map(|_| Share::default()).collect();
        let mut chunk = (limit / count).saturating_mul(2).clamp(CHUNK_MIN.min(limit), CHUNK_MAX);
        loop {
            let mut total: usize = 0;
            let missing = turns(places.next, count).any(|at| {
                total += shares[at].events.len();
                total < limit && !shares[at].done
            });
            if !missing {
                return Ok(shares);
            }
            let reads = (0..self.keys.tags().len()).map(|tag| self.read(tag, places, &shares, chunk));
            for (at, share) in try_join_all(reads).await?.into_iter().flatten() {
                shares[at].done = share.done;
                shares[at].newest = shares[at].newest.or(share.newest.filter(|_| shares[at].events.is_empty()));
                shares[at].events.extend(share.events);
            }
            chunk = CHUNK_MAX.min(limit);
        }
    }

    /// The next events of those partitions of one tag that may have more.
    async fn read(&self, tag: usize, places: &Places, shares: &[Share], chunk: usize) -> Result<Vec<(usize, Share)>> {
        let open: Vec<u16> = self.keys.sharing(tag).filter(|at| !shares[usize::from(*at)].done).collect();
        if open.is_empty() {
            return Ok(Vec::new());
        }
        let feeds: Vec<String> = open.iter().map(|at| self.keys.feed(Partition(*at))).collect();
        let mut command = Call::Feed.with(feeds.iter().map(String::as_str));
        command.arg(chunk);
        for at in open.iter().map(|at| usize::from(*at)) {
            let last = shares[at].events.last().map_or(places.positions[at], |(position, _)| *position);
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
    let mut values = list(parts.next().ok_or_else(strange)?)?.into_iter();
    let mut events = Vec::with_capacity(values.len() / 2);
    while let (Some(id), Some(body)) = (values.next(), values.next()) {
        events.push((position(&bytes(id)?)?, Bytes::from(bytes(body)?)));
    }
    Ok(Share { done: events.len() < chunk, events, newest })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_survive_their_text() {
        let parse = |text: &str, partitions| Places::parse(&Cursor::from_text(text), partitions);
        for positions in [vec![0, 0, 0], vec![1, 0, 255], vec![0, u64::MAX, 0], vec![7, 0, 0]] {
            let places = Places { next: 2, positions };
            assert_eq!(parse(places.cursor().as_str(), 3).unwrap(), places);
        }
        assert_eq!(Places { next: 1, positions: vec![0, 16, 0, 0] }.cursor().as_str(), "1;,10");
        for text in ["not a cursor", "3;", "0;1,2,3,4", "0;x", ";", "5"] {
            assert!(parse(text, 3).is_err(), "{text}");
        }
    }
}
