//! Messages between partitions.

pub(crate) mod delivery;
mod pairs;
mod stored;
