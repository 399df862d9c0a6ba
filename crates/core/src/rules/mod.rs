//! What happens: one file per verb, and below what several of them share.

pub(crate) mod access;
pub(crate) mod cancel;
pub(crate) mod claim;
pub(crate) mod complete;
pub(crate) mod delay;
pub(crate) mod due;
pub(crate) mod fail;
pub(crate) mod lane;
pub(crate) mod message;
pub(crate) mod operate;
pub(crate) mod progress;
pub(crate) mod purge;
pub(crate) mod renew;
pub(crate) mod replay;
pub(crate) mod steer;
pub(crate) mod submit;
pub(crate) mod unclaim;

pub(crate) mod fence;
pub(crate) mod finish;
pub(crate) mod lost;

#[cfg(test)]
mod table;
#[cfg(test)]
mod tests;
#[cfg(test)]
#[path = "../../tests/world/mod.rs"]
mod world;
