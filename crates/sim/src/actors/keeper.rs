//! Holds, resumes and steers executions that wait, and lets everything that only a person can resume go on once it is calm.

use super::signaller::condition;
use super::{Caller, Signaller, Steward};
use crate::checker::{Stage, named};
use crate::clock::sleep;
use onward_core::record::{Execution, WaitRef};
use onward_core::{Act, Reason, Span, When, act};

/// How often somebody looks after what waits, once it is calm.
const LOOKS_EVERY: Span = Span(400);

/// What is wished with what waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Errand {
    Hold,
    Resume,
    ResumeLater,
    CloseWait,
    Cancel,
    Reschedule,
    Replay,
    Purge,
}

impl Errand {
    const ALL: [Self; 11] = [
        Self::Hold,
        Self::Hold,
        Self::Resume,
        Self::Resume,
        Self::ResumeLater,
        Self::CloseWait,
        Self::CloseWait,
        Self::Cancel,
        Self::Reschedule,
        Self::Replay,
        Self::Purge,
    ];

    fn fits(self, stage: &Stage) -> bool {
        let waits = matches!(stage, Stage::Suspended(_) | Stage::Held { .. });
        match self {
            Self::Hold => stage.is_unfinished(),
            Self::Resume | Self::ResumeLater | Self::Cancel => waits,
            Self::CloseWait => matches!(stage.beneath(), Stage::Suspended(_)),
            Self::Reschedule => matches!(stage, Stage::Held { .. }),
            Self::Replay => matches!(stage, Stage::Held { exhausted: true, .. } | Stage::Finished(_)),
            Self::Purge => waits || matches!(stage, Stage::Finished(_)),
        }
    }
}

/// Somebody who looks after what waits.
#[derive(Debug)]
pub(crate) struct Keeper(pub(crate) Caller);

impl Keeper {
    /// Does one thing after the other until it is calm.
    pub(crate) async fn run(mut self, pause: Span) {
        while self.0.pauses(50, pause.0).await {
            let errand = *self.0.dice.pick(&Errand::ALL).unwrap_or(&Errand::Hold);
            let (draw, blind) = (self.0.dice.word(), self.0.dice.percent(10));
            let hub = self.0.world.hub.clone();
            let found = hub.check(|checker| checker.pick(draw, |stage| blind || errand.fits(stage)).cloned());
            let Some(execution) = found else { continue };
            let act = self.act(errand, &execution);
            self.operate(&execution, act).await;
        }
    }

    /// Once it is calm, lets everything go on that waits for a person, until the run is over.
    pub(crate) async fn look_after(mut self) {
        while !self.0.world.is_over() {
            sleep(LOOKS_EVERY).await;
            if !self.0.world.is_calm() {
                continue;
            }
            let waiting = self.0.world.hub.check(|checker| checker.all_waiting());
            for execution in waiting {
                if self.0.world.is_over() {
                    return;
                }
                self.help(&execution).await;
            }
        }
    }

    /// Does something that may let an execution go on; most things do at once.
    async fn help(&mut self, execution: &Execution) {
        let errand = match self.0.dice.below(100) {
            // Some are left to their times.
            0..=24 => return,
            25..=54 if execution.held.is_none() => {
                return Signaller::new(self.0.split()).answer(execution).await;
            }
            55..=64 if execution.held.is_none() => Errand::CloseWait,
            65..=69 => Errand::Cancel,
            _ => Errand::Resume,
        };
        let act = self.act(errand, execution);
        self.operate(execution, act).await;
    }

    fn act(&mut self, errand: Errand, execution: &Execution) -> Act {
        let waited: Vec<WaitRef> = condition(execution).map(named).unwrap_or_default().into_iter().collect();
        let dice = &mut self.0.dice;
        let reason = Reason::new("so it was wished");
        match errand {
            Errand::Hold => act::Pause { reason }.into(),
            Errand::Resume => act::Resume { delay: None }.into(),
            Errand::ResumeLater => act::Resume { delay: Some(dice.span(0, 4_000)) }.into(),
            Errand::CloseWait => {
                let wait = dice.pick(&waited).cloned().unwrap_or_else(|| super::any_wait(dice));
                let wait = if dice.percent(50) { wait.name.into() } else { wait.into() };
                act::CloseWait { wait }.into()
            }
            Errand::Cancel => act::Cancel { reason, grace: dice.percent(30).then(|| dice.span(0, 3_000)) }.into(),
            Errand::Reschedule => act::Reschedule::from(When::After(dice.span(0, 5_000))).into(),
            Errand::Replay => act::Replay::new(reason, None).into(),
            Errand::Purge => act::Purge {}.into(),
        }
    }

    async fn operate(&mut self, execution: &Execution, act: Act) {
        Steward(self.0.split()).operate(&execution.namespace, execution.id, act).await;
    }
}
