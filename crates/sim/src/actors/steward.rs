//! Cancels, steers, takes away, runs again and removes executions while work goes on.

use super::Caller;
use crate::checker::Stage;
use crate::clock::sleep;
use crate::world::Running;
use onward_core::record::{Execution, State};
use onward_core::{
    Act, ActOutcome, CommandId, ExecutionId, Name, Namespace, Operate, Reason, Span, TagKey, TagValue, When, act,
};
use std::collections::{BTreeMap, BTreeSet};

/// What a steward wants, before it knows with which execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    CancelNow,
    AskToStop,
    RunNow,
    RunLater,
    Prioritise,
    Tag,
    Annotate,
    Revoke,
    Replay,
    Purge,
}

impl Wish {
    /// Replays are wished twice as often: they are the longest way back.
    const ALL: [Self; 11] = [
        Self::CancelNow,
        Self::AskToStop,
        Self::RunNow,
        Self::RunLater,
        Self::Prioritise,
        Self::Tag,
        Self::Annotate,
        Self::Revoke,
        Self::Replay,
        Self::Replay,
        Self::Purge,
    ];

    fn fits(self, stage: &Stage) -> bool {
        match self {
            Self::CancelNow | Self::Prioritise => stage.is_unfinished(),
            Self::AskToStop | Self::Revoke => matches!(stage, Stage::Active(_)),
            Self::RunNow | Self::RunLater => matches!(stage, Stage::Ready(_) | Stage::Delayed { .. }),
            Self::Tag | Self::Annotate => !matches!(stage, Stage::Absent | Stage::Purging(_)),
            Self::Replay | Self::Purge => matches!(stage, Stage::Finished(_)),
        }
    }
}

/// Somebody who looks after executions.
#[derive(Debug)]
pub(crate) struct Steward(pub(crate) Caller);

impl Steward {
    pub(crate) async fn run(mut self) {
        while self.0.pauses(100, 1_100).await {
            self.deed().await;
        }
    }

    /// Does something with somebody's execution, mostly one with which that can be done.
    pub(crate) async fn deed(&mut self) {
        let wish = *self.0.dice.pick(&Wish::ALL).unwrap_or(&Wish::Tag);
        let (draw, blind) = (self.0.dice.word(), self.0.dice.percent(12));
        let hub = self.0.world.hub.clone();
        let found = hub.check(|checker| checker.pick(draw, |stage| blind || wish.fits(stage)).cloned());
        let Some(execution) = found else { return };
        if let Some(act) = self.act(wish, &execution) {
            self.operate(&execution.namespace, execution.id, act).await;
        }
    }

    /// Does this or something with an execution through a process, whether that can be done or not.
    pub(super) async fn deed_to(&mut self, execution: &Execution, process: &Running, wish: Option<Wish>) {
        let any = *self.0.dice.pick(&Wish::ALL).unwrap_or(&Wish::Tag);
        let wish = wish.unwrap_or(any);
        if let Some(act) = self.act(wish, execution) {
            let operate = self.wanted(&execution.namespace, execution.id, act);
            drop(self.0.run(process, &operate).await);
        }
    }

    /// The call by which an act is wanted.
    fn wanted(&mut self, namespace: &Namespace, execution: ExecutionId, act: Act) -> Operate {
        let command = CommandId(self.0.dice.wide());
        Operate { command, namespace: namespace.clone(), execution, by: None, act }
    }

    fn act(&mut self, wish: Wish, execution: &Execution) -> Option<Act> {
        let reason = Reason::new("so it was wished");
        let dice = &mut self.0.dice;
        Some(match wish {
            Wish::CancelNow => act::Cancel { reason, grace: None }.into(),
            Wish::AskToStop => act::Cancel { reason, grace: Some(dice.span(0, 5_000)) }.into(),
            Wish::RunNow => act::Reschedule::from(When::Now).into(),
            Wish::RunLater => act::Reschedule::from(When::After(dice.span(1, 6_000))).into(),
            Wish::Prioritise => act::Prioritise { priority: dice.below(9_001) as u16 }.into(),
            Wish::Tag => {
                let (team, stage) = (TagKey::parse("team").ok()?, TagKey::parse("stage").ok()?);
                let value = TagValue::parse(["red", "green"][dice.below(2) as usize]).ok()?;
                let remove = if dice.percent(40) { BTreeSet::from([team]) } else { BTreeSet::new() };
                act::Tag { set: BTreeMap::from([(stage, value)]), remove }.into()
            }
            Wish::Annotate => {
                act::Annotate { note: ["", "look later", "ask Ada"][dice.below(3) as usize].into() }.into()
            }
            Wish::Revoke => {
                let lease = match &execution.state {
                    State::Active(active) if dice.percent(50) => Some(active.lease.id),
                    _ => None,
                };
                act::Revoke { lease, reason }.into()
            }
            Wish::Replay => {
                let deadline = dice.percent(25).then(|| When::After(dice.span(500, 20_000)));
                act::Replay::new(reason, deadline).into()
            }
            Wish::Purge => act::Purge {}.into(),
        })
    }

    /// Calls under one id until there is an answer, and sometimes once more.
    pub(super) async fn operate(&mut self, namespace: &Namespace, id: ExecutionId, act: Act) {
        let operate = self.wanted(namespace, id, act);
        let command = operate.command;
        let (hub, forgetful) = (self.0.world.hub.clone(), self.0.world.settings.is_forgetful());
        let mut acknowledged = None;
        for _ in 0..4 {
            let Some(process) = self.0.world.any(&mut self.0.dice) else {
                sleep(Span(200)).await;
                continue;
            };
            let answer = self.0.run(&process, &operate).await;
            // What a failover took counts as purged until its submit is repeated.
            let reborn = self.0.world.settings.later_faults.replica && acknowledged == Some(ActOutcome::Purged);
            let excused = forgetful || reborn || hub.check(|checker| checker.is_removed(id));
            match answer {
                Some(Ok(outcome)) => {
                    if acknowledged.is_some_and(|first| first != outcome) && !excused {
                        let what = format!("{command} was answered {acknowledged:?}, then {outcome:?}");
                        hub.violate("repeats", what);
                    }
                    acknowledged = Some(outcome);
                    if self.0.dice.percent(20) {
                        self.0.look_up(&process, id).await;
                    }
                    if !self.0.errs(20) {
                        return;
                    }
                }
                Some(Err(error)) if !error.is_temporary() => {
                    if acknowledged.is_some() && !excused {
                        hub.violate("repeats", format!("{command} was done first and refused later: {error}"));
                    }
                    return;
                }
                _ => sleep(self.0.dice.span(10, 1_000)).await,
            }
        }
    }

    /// Removes an execution while others want to run it again.
    pub(crate) async fn race(mut self, id: ExecutionId, namespace: &Namespace, purges: bool) {
        sleep(self.0.dice.span(0, if purges { 10 } else { 60 })).await;
        let reason = Reason::new("so it was wished");
        let act = if purges { act::Purge {}.into() } else { act::Replay::new(reason, None).into() };
        self.operate(namespace, id, act).await;
    }
}
