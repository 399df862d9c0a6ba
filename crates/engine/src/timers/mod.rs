//! Timers: the nearest due times in memory, firing them, and removing records past their retention.

pub(crate) mod due;
pub(crate) mod failures;
pub(crate) mod heap;
pub(crate) mod housekeeping;
pub(crate) mod review;
