//! The rules, transition by transition and refusal by refusal.

mod claim;
mod due;
mod fence;
mod idempotency;
mod lane;
mod lost;
mod message;
mod payload;
mod rank;
mod refusals;
mod retry;
mod submit;
mod vectors;
mod view;
