//! Bounds the calls that wait to share a request, by number and bytes. Further calls wait for room, up to their deadline.

use crate::{Error, Result};
use onward_core::Span;
use onward_engine::clock::{Clock, SystemClock};
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// When to call again that found no room.
const RETRY_AFTER: Span = Span(100);
/// What one permit for bytes stands for.
const PIECE: usize = 1024;

/// The room for calls of one kind.
#[derive(Debug, Clone)]
pub(super) struct Room {
    items: Arc<Semaphore>,
    pieces: Arc<Semaphore>,
    /// All pieces. A call that is larger takes all of them.
    pieces_max: u32,
}

/// The room of one call; dropping it frees it.
#[derive(Debug)]
pub(super) struct Place {
    _item: OwnedSemaphorePermit,
    _pieces: OwnedSemaphorePermit,
}

impl Room {
    /// Room for up to `items` calls and `bytes` bytes.
    pub(super) fn new(items: usize, bytes: usize) -> Self {
        let pieces = bytes / PIECE;
        Self {
            items: Arc::new(Semaphore::new(items)),
            pieces: Arc::new(Semaphore::new(pieces)),
            pieces_max: u32::try_from(pieces).unwrap_or(u32::MAX),
        }
    }

    /// Takes room for a call of about `bytes` bytes.
    ///
    /// # Errors
    /// When there was none for as long as it may wait.
    pub(super) async fn enter(&self, bytes: usize, patience: Span) -> Result<Place> {
        let pieces = u32::try_from(bytes.div_ceil(PIECE)).unwrap_or(u32::MAX).min(self.pieces_max);
        let entering = async {
            let item = self.items.clone().acquire_owned().await.ok()?;
            let pieces = self.pieces.clone().acquire_many_owned(pieces).await.ok()?;
            Some(Place { _item: item, _pieces: pieces })
        };
        let place = tokio::select! {
            biased;
            place = entering => place,
            // A network is as slow as it is, whatever clock a test holds.
            () = SystemClock.sleep(patience) => None,
        };
        place.ok_or_else(|| Error::from(onward_engine::Error::Overloaded { retry_after: RETRY_AFTER }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    const DAY: Span = Span::days(1);

    #[tokio::test]
    async fn calls_wait_for_room_or_are_refused_in_time() {
        let room = Room::new(3, 10 * PIECE);
        let large = room.enter(9 * PIECE, DAY).await.unwrap();
        let small = room.enter(1, DAY).await.unwrap();
        assert!(room.enter(1, DAY).now_or_never().is_none(), "its bytes are taken");
        assert_eq!(room.enter(1, Span(1)).await.unwrap_err().code(), "overloaded");
        drop(large);
        let places = [room.enter(1, DAY).await.unwrap(), room.enter(1, DAY).await.unwrap()];
        assert!(room.enter(1, DAY).now_or_never().is_none(), "as many as may wait");
        drop((small, places));
        let whole = room.enter(usize::MAX, DAY).await.unwrap();
        assert!(room.enter(1, DAY).now_or_never().is_none(), "what is larger than all room takes all of it");
        drop(whole);
        room.enter(1, DAY).await.unwrap();
    }
}
