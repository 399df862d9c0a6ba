//! What happens: one file per verb, and below what several of them share.

pub(crate) mod claim;
pub(crate) mod complete;
pub(crate) mod due;
pub(crate) mod fail;
pub(crate) mod fence;
pub(crate) mod lane;
pub(crate) mod message;
pub(crate) mod renew;
pub(crate) mod submit;
pub(crate) mod unclaim;

#[cfg(test)]
mod table;
#[cfg(test)]
mod tests;
#[cfg(test)]
#[path = "../../tests/world/mod.rs"]
mod world;
