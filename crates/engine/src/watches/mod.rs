//! Watches: callers that wait for records to change, and the one job that reads the records for all of them.
//!
//! What says that a record may have changed is a hint: a commit of this process, a topic of another one's, or an event of
//! the feed where wake-ups name nothing. A hint makes the job read, and what was read decides. So no caller polls, lost
//! hints cost time and nothing else, and callers that wait for the same record share every read.

pub(crate) mod feed;
pub(crate) mod reader;
mod registry;

pub(crate) use registry::Watches;
