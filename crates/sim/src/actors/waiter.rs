//! Waits for ends, often through another process than the one that causes them, and longer than any hint takes.

use super::Caller;
use crate::clock::sleep;
use crate::world::Running;
use onward_core::{ExecutionId, Span};

/// How many wait at the same time.
pub(crate) const WAITERS: u64 = 8;
/// Longer than any run takes to tell an end after the last fault.
const LONG: Span = Span::minutes(10);

/// A caller that waits for ends.
#[derive(Debug)]
pub(crate) struct Waiter(pub(crate) Caller);

impl Waiter {
    /// Waits for one end after the other until the run is over.
    pub(crate) async fn run(mut self) {
        while !self.0.world.is_over() {
            sleep(self.0.dice.span(100, 3_000)).await;
            let (world, draw) = (self.0.world.clone(), self.0.dice.below(u64::MAX));
            let found = world.hub.check(|checker| checker.pick(draw, |stage| stage.is_unfinished()).map(|one| one.id));
            let up: Vec<Running> = world.processes().collect();
            let (Some(id), Some(process)) = (found, self.0.dice.pick(&up).cloned()) else { continue };
            let time = if self.0.dice.percent(35) { self.0.dice.span(1, 20_000) } else { LONG };
            self.0.wait(&process, id, time).await;
        }
    }
}

impl Caller {
    /// Waits for an end: the reply was true during the call, and comes soon after the end.
    async fn wait(&mut self, process: &Running, id: ExecutionId, time: Span) {
        let (world, since) = (self.world.clone(), self.since());
        self.note(process, format_args!("waits {time} for {id}"));
        let waiting = world.begin_wait(id);
        let answer = tokio::select! {
            biased;
            answer = process.engine.wait(id, time) => Some(answer),
            () = process.state.death() => None,
        };
        world.end_wait(waiting);
        if let Some(answer) = answer {
            self.note(process, format_args!("waited for {id}"));
            world.hub.check(|checker| checker.looked_up(since, id, &answer));
        }
    }
}
