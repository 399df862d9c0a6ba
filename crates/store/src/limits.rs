//! How much a store takes in one call, and why; every store has the same limits.

/// The longest key or index name, in bytes: long enough for two ids and a prefix, short enough to repeat in every index.
pub const KEY_BYTES_MAX: usize = 200;

/// The most keys one load or one batch's expectations may name; a caller pages beyond it.
pub const KEYS_MAX: usize = 10_000;

/// The most index entries of one record; each costs a row whenever it changes.
pub const ENTRIES_MAX: usize = 64;

/// The most rows one batch may write, so that no batch holds up the others in its group for long.
pub const BATCH_ROWS_MAX: usize = 20_000;

/// The most payload bytes one batch may write, so that a group fits in memory many times over.
pub const BATCH_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The most partitions a store may have; each costs its readers a little.
pub const PARTITIONS_MAX: u16 = 4096;

/// The highest sequence of a log entry: what every store's signed integers can hold.
pub const SEQ_MAX: u64 = i64::MAX as u64;
