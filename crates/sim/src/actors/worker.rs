//! Claims, works, renews and reports; stalls, vanishes and repeats itself now and then.

use super::Caller;
use crate::clock::sleep;
use crate::faults::Fault;
use crate::world::Running;
use onward_core::{Category, Claimed, CommandId, Failure, Fence, Payload, Span};
use onward_engine::Wants;

/// How a piece of work goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fortune {
    Succeeds,
    Fails,
    GivenBack,
    /// The worker comes back after its lease has ended and reports as if nothing had happened.
    Stalls,
    /// The worker is never heard of again.
    Vanishes,
}

/// Somebody who works.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) caller: Caller,
    pub(crate) wants: Wants,
}

impl Worker {
    pub(crate) async fn run(mut self) {
        while !self.caller.world.is_over() {
            let Some(process) = self.caller.world.any(&mut self.caller.dice) else {
                sleep(Span(100)).await;
                continue;
            };
            self.turn(&process).await;
        }
    }

    async fn turn(&mut self, process: &Running) {
        let calm = self.caller.world.is_calm();
        let waits: &[u64] = if calm { &[20_000] } else { &[0, 300, 3_000, 10_000] };
        let wait = Span(*self.caller.dice.pick(waits).unwrap_or(&1_000));
        match self.caller.claim(process, &self.wants.clone(), wait).await {
            Some(Ok(claimed)) => {
                if claimed.is_empty() {
                    sleep(self.caller.dice.span(50, 900)).await;
                }
                for work in claimed {
                    self.serve(&work).await;
                }
            }
            Some(Err(_)) | None => sleep(self.caller.dice.span(50, 600)).await,
        }
    }

    async fn serve(&mut self, work: &Claimed) {
        let fence = work.fence;
        let lease = self.wants.lease.0;
        let fortune = self.fortune();
        match fortune {
            Fortune::Vanishes => {
                self.caller.world.hub.fault(Fault::StalledWorker, format_args!("{} is forgotten", fence.execution));
                return;
            }
            Fortune::Stalls => {
                self.caller.world.hub.fault(Fault::StalledWorker, format_args!("{} waits", fence.execution));
                sleep(self.caller.dice.span(lease, lease + 4_000)).await;
            }
            _ => {
                sleep(self.caller.dice.span(0, lease / 3)).await;
                while self.caller.errs(30) {
                    if !self.renew(fence).await {
                        break;
                    }
                    sleep(self.caller.dice.span(0, lease / 2)).await;
                }
            }
        }
        self.report(fence, fortune).await;
    }

    fn fortune(&mut self) -> Fortune {
        let draw = self.caller.dice.below(100);
        if self.caller.world.is_calm() {
            return if draw < 90 { Fortune::Succeeds } else { Fortune::Fails };
        }
        match draw {
            0..=57 => Fortune::Succeeds,
            58..=77 => Fortune::Fails,
            78..=82 => Fortune::GivenBack,
            83..=93 => Fortune::Stalls,
            _ => Fortune::Vanishes,
        }
    }

    async fn renew(&mut self, fence: Fence) -> bool {
        let Some(process) = self.caller.world.any(&mut self.caller.dice) else { return false };
        matches!(self.caller.renew(&process, fence, self.wants.lease).await, Some(Ok(_)))
    }

    /// Reports under one command id until there is an answer, and sometimes once more.
    async fn report(&mut self, fence: Fence, fortune: Fortune) {
        let command = CommandId(self.caller.dice.wide());
        let category = match self.caller.dice.below(5) {
            0 => Category::permanent(),
            1 => Category::panic(),
            _ => Category::transient(),
        };
        let failure = Failure::new(category, "it did not work");
        let Ok(result) = Payload::of(&self.caller.dice.below(1_000)) else { return };
        let mut acknowledged = None;
        let forgetful = self.caller.world.settings.is_forgetful();
        for _ in 0..5 {
            let Some(process) = self.caller.world.any(&mut self.caller.dice) else {
                sleep(Span(200)).await;
                continue;
            };
            let answer = match fortune {
                Fortune::Fails => {
                    self.caller.fail(&process, command, fence, &failure).await.map(|answer| answer.map(Some))
                }
                Fortune::GivenBack => self.caller.unclaim(&process, fence).await.map(|answer| answer.map(|()| None)),
                _ => {
                    let heard = self.caller.complete(&process, command, fence, &result).await;
                    heard.map(|answer| answer.map(|()| None))
                }
            };
            match answer {
                Some(Ok(reply)) => {
                    if acknowledged.is_some_and(|first| first != reply) && !forgetful {
                        let what = format!("{command} was answered {acknowledged:?}, then {reply:?}");
                        self.caller.world.hub.violate("repeats", what);
                    }
                    acknowledged = Some(reply);
                    // Giving back draws a new id each time, so it cannot be repeated.
                    if fortune == Fortune::GivenBack || !self.caller.errs(25) {
                        return;
                    }
                }
                Some(Err(error)) if !error.is_temporary() => {
                    if acknowledged.is_some() && !forgetful {
                        let what = format!("{command} was acknowledged first and refused later: {error}");
                        self.caller.world.hub.violate("repeats", what);
                    }
                    return;
                }
                _ => sleep(self.caller.dice.span(10, 1_000)).await,
            }
        }
    }
}
