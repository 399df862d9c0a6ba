//! Several processes on one store: which are alive, which partitions are whose, and the hints they send each other.

pub(crate) mod handover;
pub(crate) mod heartbeat;
pub(crate) mod roster;
pub(crate) mod topics;
pub(crate) mod wakes;
