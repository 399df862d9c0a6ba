//! Messages between partitions.

pub(crate) mod delivery;
