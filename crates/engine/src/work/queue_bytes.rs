//! The bytes of commands in memory: bounds what each partition of a process holds, and what all hold together.
//!
//! A command counts from when it is queued until it is answered: while it waits, rests after a failure or is in flight.

use onward_core::limits;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts the bytes of the commands of one partition.
#[derive(Debug)]
pub(crate) struct QueueBytes {
    own: AtomicUsize,
    /// Those of all partitions.
    all: Arc<AtomicUsize>,
}

/// The bytes of one command; dropping it frees them.
#[derive(Debug)]
pub(crate) struct HeldBytes {
    of: Arc<QueueBytes>,
    bytes: usize,
}

impl QueueBytes {
    /// Counts for a partition; `all` is shared by the partitions of a process.
    pub(crate) fn new(all: &Arc<AtomicUsize>) -> Arc<Self> {
        Arc::new(Self { own: AtomicUsize::new(0), all: all.clone() })
    }

    /// Holds the bytes of a command if there is room; work that frees what is held has a reserve of its own.
    pub(crate) fn hold(self: &Arc<Self>, bytes: usize, is_sheddable: bool) -> Option<HeldBytes> {
        let (own_reserve, all_reserve) =
            if is_sheddable { (0, 0) } else { (limits::QUEUE_BYTES_RESERVE, limits::QUEUES_BYTES_RESERVE) };
        // From here on they are counted, and dropping this takes them back.
        let own = self.own.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let all = self.all.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let held = HeldBytes { of: self.clone(), bytes };
        let fits = own <= limits::QUEUE_BYTES_MAX + own_reserve && all <= limits::QUEUES_BYTES_MAX + all_reserve;
        fits.then_some(held)
    }
}

impl Drop for HeldBytes {
    fn drop(&mut self) {
        self.of.own.fetch_sub(self.bytes, Ordering::Relaxed);
        self.of.all.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_holds_so_many_bytes_and_a_process_no_more_than_a_few_of_them() {
        let all = Arc::default();
        let piece = limits::QUEUE_BYTES_MAX / 4;
        let partitions: Vec<_> = (0..20).map(|_| QueueBytes::new(&all)).collect();
        let fill = |partition: &Arc<QueueBytes>, is_sheddable| -> Vec<HeldBytes> {
            std::iter::from_fn(|| partition.hold(piece, is_sheddable)).collect()
        };
        let mut held = vec![fill(&partitions[0], true)];
        assert_eq!(held[0].len(), 4, "as many as fit one partition");
        let reserve = fill(&partitions[0], false);
        assert_eq!(reserve.len(), limits::QUEUE_BYTES_RESERVE / piece, "what frees held work goes on");
        drop(reserve);
        held.extend(partitions[1..].iter().map(|partition| fill(partition, true)));
        let count = |held: &[Vec<HeldBytes>]| held.iter().map(Vec::len).sum::<usize>();
        assert_eq!(count(&held), limits::QUEUES_BYTES_MAX / piece, "as many as fit one process");
        held.extend(partitions.iter().map(|partition| fill(partition, false)));
        assert_eq!(count(&held), (limits::QUEUES_BYTES_MAX + limits::QUEUES_BYTES_RESERVE) / piece);
        drop(held);
        assert_eq!((all.load(Ordering::Relaxed), fill(&partitions[7], true).len()), (0, 4), "all of it is free again");
    }
}
