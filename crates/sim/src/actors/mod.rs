//! Who uses the engine: submitters, workers and operators, none of them entirely reliable.

mod calls;
mod operator;
mod submitter;
mod worker;

pub(crate) use calls::Caller;
pub(crate) use operator::{Operator, open_all};
pub(crate) use submitter::Submitter;
pub(crate) use worker::Worker;
