//! A store that waits for a replica: what the replica lacks is never acknowledged, and lost when it takes over.

use crate::clock::sleep;
use crate::dice::Dice;
use crate::faults::Fault;
use crate::world::World;
use std::sync::Arc;

/// Cuts the replica off again and again until it is calm.
#[derive(Debug)]
pub(crate) struct Failover {
    pub(crate) world: Arc<World>,
    pub(crate) dice: Dice,
}

impl Failover {
    pub(crate) async fn run(mut self) {
        while !self.world.is_calm() {
            sleep(self.dice.span(500, 8_000)).await;
            if self.world.is_calm() {
                return;
            }
            let (length, takes_over) = (self.dice.span(20, 4_000), self.dice.percent(60));
            let hub = &self.world.hub;
            hub.fault(Fault::ReplicaAway, format_args!("for {length}"));
            hub.cut_replica();
            sleep(length).await;
            if !takes_over {
                hub.trace(format_args!("the replica is back"));
                hub.replica_caught_up();
            } else if let Err(error) = hub.fail_over() {
                hub.violate("contract", format!("the replica could not take over: {error}"));
            }
        }
    }
}
