//! Matches ready work with workers: ready queues, parked claims, placement of new work, and remote work.

pub(crate) mod affinity;
pub(crate) mod arrivals;
pub(crate) mod board;
pub(crate) mod claims;
pub(crate) mod patience;
pub(crate) mod placement;
pub(crate) mod queue_bytes;
pub(crate) mod ready;
pub(crate) mod registry;
pub(crate) mod remote;
pub(crate) mod waiters;
