//! The event feed as readers see it.

pub(crate) mod cursor;
pub(crate) mod reads;
pub(crate) mod subscription;
