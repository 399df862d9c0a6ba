//! Claims, works, renews and reports; stalls, vanishes and repeats itself now and then.

use super::suspender::{Suspender, Suspending};
use super::{Caller, boomerang};
use crate::clock::sleep;
use crate::faults::Fault;
use crate::world::Running;
use onward_core::record::Execution;
use onward_core::{
    Category, Claimed, CommandId, End, Failure, Fence, Payload, Progress, Reason, Rejection, Report, Reported, Span,
    WaitResult, When, end, limits,
};
use onward_engine::{Error, Wants};
use std::collections::VecDeque;

/// How a piece of work goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fortune {
    Succeeds,
    Fails,
    GivenBack,
    /// The worker goes on later.
    Pauses,
    /// The worker finds that nobody needs it.
    GivenUp,
    /// The worker comes back after its lease has ended and reports as if nothing had happened.
    Stalls,
    /// The worker is never heard of again.
    Vanishes,
}

/// Reports that a worker remembers.
const PAST_MAX: usize = 8;
/// Attempts after which somebody keeps what nobody wanted to keep: more than one step of a purge removes.
const BOOMERANG_ATTEMPTS: u32 = limits::PURGE_PIECE as u32 + 2;

/// Work whose lease a worker holds.
#[derive(Debug, Clone)]
struct HeldWork {
    fence: Fence,
    is_kept: bool,
    /// A wait that was over when the work was claimed, as its worker was told of it.
    over: Option<WaitResult>,
}

impl HeldWork {
    fn new(work: &Claimed) -> Self {
        let is_kept = boomerang().is_none_or(|kind| kind != work.kind) || work.fence.attempt > BOOMERANG_ATTEMPTS;
        let over = work.woke.as_ref().and_then(|woke| woke.waits.first().cloned());
        Self { fence: work.fence, is_kept, over }
    }
}

/// A report that was made, and how it was answered for good, if it was.
#[derive(Debug, Clone)]
struct MadeReport {
    report: Report,
    acknowledged: Option<Reported>,
}

/// Somebody who works.
#[derive(Debug)]
pub(crate) struct Worker {
    caller: Caller,
    wants: Wants,
    /// The newest reports, oldest first.
    past: VecDeque<MadeReport>,
    suspender: Suspender,
}

impl Worker {
    pub(crate) fn new(caller: Caller, wants: Wants) -> Self {
        Self { caller, wants, past: VecDeque::new(), suspender: Suspender::default() }
    }

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
        let old_repeats = self.caller.world.settings.later_faults.old_repeats;
        if old_repeats > 0 && self.caller.errs(old_repeats) {
            self.repeat_old().await;
        }
        if self.caller.world.settings.waiting.is_some() && !self.caller.world.is_calm() && self.caller.fresh.percent(6)
        {
            self.suspender.repeat_old(&mut self.caller).await;
        }
        let calm = self.caller.world.is_calm();
        let waits: &[u64] = if calm { &[20_000] } else { &[0, 300, 3_000, 10_000] };
        let wait = Span(*self.caller.dice.pick(waits).unwrap_or(&1_000));
        match self.caller.claim(process, &self.wants.clone(), wait).await {
            Some(Ok(claimed)) => {
                if claimed.is_empty() {
                    sleep(self.caller.dice.span(50, 900)).await;
                }
                self.serve_all(claimed).await;
            }
            Some(Err(_)) | None => sleep(self.caller.dice.span(50, 600)).await,
        }
    }

    /// One after the other, while the leases of those that wait are renewed.
    async fn serve_all(&mut self, claimed: Vec<Claimed>) {
        let mut queue: VecDeque<HeldWork> = claimed.iter().map(HeldWork::new).collect();
        while !queue.is_empty() {
            let more = self.serve(queue.make_contiguous()).await;
            queue.pop_front();
            queue.extend(more.iter().map(HeldWork::new));
        }
    }

    /// Does the first piece of work that it holds; the answer is what it got on top.
    async fn serve(&mut self, held: &[HeldWork]) -> Vec<Claimed> {
        let Some(HeldWork { fence, is_kept, over }) = held.first().cloned() else { return Vec::new() };
        if !is_kept {
            self.report(fence, Fortune::GivenBack).await;
            return Vec::new();
        }
        let lease = self.wants.lease.0;
        let fortune = self.fortune();
        match fortune {
            Fortune::Vanishes => {
                self.caller.world.hub.fault(Fault::StalledWorker, format_args!("{} is forgotten", fence.execution));
                return Vec::new();
            }
            Fortune::Stalls => {
                self.caller.world.hub.fault(Fault::StalledWorker, format_args!("{} waits", fence.execution));
                sleep(self.caller.dice.span(lease, lease + 4_000)).await;
            }
            _ => {
                sleep(self.caller.dice.span(0, lease / 3)).await;
                if self.caller.dice.percent(15) {
                    self.progress(fence).await;
                }
                while self.caller.dice.percent(25) && self.renew(held).await {
                    sleep(self.caller.dice.span(0, lease / 2)).await;
                }
            }
        }
        if self.suspends(fence, over.as_ref()).await == Suspending::Gone {
            return Vec::new();
        }
        if fortune == Fortune::Succeeds && self.caller.dice.percent(15) {
            return self.go_on(fence).await;
        }
        self.report(fence, fortune).await;
        Vec::new()
    }

    /// Perhaps suspends the attempt instead of going on.
    async fn suspends(&mut self, fence: Fence, over: Option<&WaitResult>) -> Suspending {
        let Some(odds) = self.caller.world.settings.waiting else { return Suspending::GoesOn };
        // In the calm everything comes to an end.
        let percent = if self.caller.world.is_calm() { odds.suspends / 3 } else { odds.suspends };
        let known = over.filter(|_| self.caller.fresh.percent(50));
        if known.is_none() && !self.caller.fresh.percent(percent) {
            return Suspending::GoesOn;
        }
        self.suspender.suspend(&mut self.caller, odds, fence, known).await
    }

    fn fortune(&mut self) -> Fortune {
        let draw = self.caller.dice.below(100);
        if self.caller.world.is_calm() {
            // Timers have something to do even when nothing else goes wrong.
            return match draw {
                0..=76 => Fortune::Succeeds,
                77..=81 => Fortune::Pauses,
                82..=91 => Fortune::Fails,
                _ => Fortune::Vanishes,
            };
        }
        match draw {
            0..=47 => Fortune::Succeeds,
            48..=65 => Fortune::Fails,
            66..=74 => Fortune::Pauses,
            75..=77 => Fortune::GivenUp,
            78..=82 => Fortune::GivenBack,
            83..=93 => Fortune::Stalls,
            _ => Fortune::Vanishes,
        }
    }

    /// Renews everything it holds; says whether the first lease lives on.
    async fn renew(&mut self, held: &[HeldWork]) -> bool {
        let Some(process) = self.caller.world.any(&mut self.caller.dice) else { return false };
        let fences: Vec<Fence> = held.iter().map(|held| held.fence).collect();
        let heard = self.caller.renew(&process, &fences, self.wants.lease).await;
        matches!(heard, Some(Ok(answers)) if matches!(answers.first(), Some(Ok(_))))
    }

    async fn progress(&mut self, fence: Fence) {
        let percent = self.caller.dice.below(101) as u8;
        if let Some(process) = self.caller.world.any(&mut self.caller.dice) {
            let progress = Progress { fence, percent: Some(percent), message: Some(Reason::new("on its way")) };
            self.caller.run(&process, &progress).await;
        }
    }

    /// Reports success and takes the next work in the same call.
    async fn go_on(&mut self, fence: Fence) -> Vec<Claimed> {
        let Some(process) = self.caller.world.any(&mut self.caller.dice) else { return Vec::new() };
        let Some(result) = self.result() else { return Vec::new() };
        match self.caller.complete_and_claim(&process, fence, &result, &self.wants.clone()).await {
            Some(Ok((_, Ok(claimed)))) => claimed,
            _ => Vec::new(),
        }
    }

    fn result(&mut self) -> Option<Payload> {
        let dice = &mut self.caller.dice;
        if dice.percent(12) { super::large(dice) } else { Payload::of(&dice.below(1_000)).ok() }
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
        let Some(result) = self.result() else { return };
        let when = When::After(self.caller.dice.span(0, 5_000));
        let end: End = match fortune {
            Fortune::Fails => end::Fail { failure }.into(),
            Fortune::GivenBack => end::Unclaim {}.into(),
            Fortune::Pauses => end::Delay { when }.into(),
            Fortune::GivenUp => end::Cancel { reason: Reason::new("nobody needs this") }.into(),
            Fortune::Succeeds | Fortune::Stalls | Fortune::Vanishes => end::Complete { result }.into(),
        };
        let made = MadeReport { report: Report { command, fence, end }, acknowledged: None };
        let made = self.send(made, 5).await;
        if self.past.len() >= PAST_MAX {
            self.past.pop_front();
        }
        self.past.push_back(made);
    }

    /// Repeats an old report, preferably about something that is being removed.
    async fn repeat_old(&mut self) {
        let hub = self.caller.world.hub.clone();
        let is_going = |made: &&MadeReport| {
            let id = made.report.fence.execution;
            hub.check(|checker| checker.execution(id).is_some_and(Execution::is_purging))
        };
        let any = self.caller.dice.below(self.past.len() as u64) as usize;
        let Some(made) = self.past.iter().find(is_going).or(self.past.get(any)).cloned() else { return };
        let Report { command, fence, .. } = &made.report;
        hub.fault(Fault::OldRepeat, format_args!("{command} of {}", fence.execution));
        drop(self.send(made, 1).await);
    }

    /// Sends a report until there is an answer, and sometimes once more.
    async fn send(&mut self, mut made: MadeReport, tries: u32) -> MadeReport {
        let (command, id) = (made.report.command, made.report.fence.execution);
        let forgetful = self.caller.world.settings.is_forgetful();
        for _ in 0..tries {
            let Some(process) = self.caller.world.any(&mut self.caller.dice) else {
                sleep(Span(200)).await;
                continue;
            };
            let answer = self.caller.run(&process, &made.report).await;
            let forgetful = forgetful || self.caller.world.hub.check(|checker| checker.is_removed(id));
            let first = made.acknowledged;
            match answer {
                Some(Ok(reply)) => {
                    if first.is_some_and(|first| first != reply) && !forgetful {
                        let what = format!("{command} was answered {first:?}, then {reply:?}");
                        self.caller.world.hub.violate("repeats", what);
                    }
                    made.acknowledged = Some(reply);
                    if self.caller.dice.percent(8) {
                        self.caller.look_up(&process, id).await;
                    }
                    if !self.caller.errs(25) {
                        return made;
                    }
                }
                Some(Err(error)) if !error.is_temporary() => {
                    // What is being removed denies nothing.
                    let denied = !matches!(error, Error::Refused(Rejection::Purged(_)));
                    if first.is_some() && denied && !forgetful {
                        let what = format!("{command} was acknowledged first and refused later: {error}");
                        self.caller.world.hub.violate("repeats", what);
                    }
                    return made;
                }
                _ => sleep(self.caller.dice.span(10, 1_000)).await,
            }
        }
        made
    }
}
