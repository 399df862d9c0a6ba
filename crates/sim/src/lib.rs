//! The real engine in a broken world: deterministic simulation of processes, workers, clocks and a store that fail.
//!
//! One seed makes one world. Its processes run `onward_engine::Engine` on the reference store behind connections that
//! lose, delay and repeat; time advances only when everybody waits. Checkers watch every commit and every answer, and
//! share no code with the rules. Equal seeds give equal traces, so a failing seed is a complete reproduction.
//!
//! Planted faults ([`Mutant`]) prove that the checkers would notice: they live in this crate only.

mod actors;
mod campaign;
mod checker;
mod clock;
mod dice;
mod failover;
mod fault_scheduler;
mod faults;
mod hub;
mod later_faults;
mod ledger;
mod mutants;
mod named;
mod process_state;
mod redelivery;
mod run;
mod seeds;
mod settings;
mod store;
mod trace;
mod world;

pub use campaign::{Totals, first_failure, many};
pub use checker::{Tally, Violation};
pub use faults::{Fault, FaultCounts};
pub use ledger::{Entry, line, next_seed};
pub use mutants::{Mutant, NOT_APPLICABLE};
pub use run::{Report, run};
pub use seeds::{FAILED, Failed, Generation, REGRESSION, fresh_seeds, generation};
pub use trace::Keep;
