//! Pauses, drains and opens lanes, and has the store examined, while work goes on.

use super::Caller;
use crate::clock::sleep;
use crate::world::World;
use onward_core::Span;
use onward_core::record::LaneState;
use onward_engine::Examination;
use std::sync::Arc;

/// Somebody who changes lanes.
#[derive(Debug)]
pub(crate) struct Operator(pub(crate) Caller);

impl Operator {
    pub(crate) async fn run(mut self) {
        while self.0.pauses(500, 6_000).await {
            if self.0.dice.percent(15) {
                self.examine().await;
            } else {
                self.decide().await;
            }
        }
    }

    async fn examine(&mut self) {
        let Some(process) = self.0.world.any(&mut self.0.dice) else { return };
        let examination = Examination { repair: true, restored: false };
        self.0.say(&process, format_args!("{examination:?}"));
        let hurry = self.0.hurry();
        let heard = self.0.hear(&process, hurry, process.engine.examine(examination, |_| ())).await;
        if let Some(answer) = &heard {
            self.0.world.hub.check(|checker| checker.examined(answer));
        }
    }

    async fn decide(&mut self) {
        let settings = self.0.world.settings.clone();
        let dice = &mut self.0.dice;
        let (Some(namespace), Some(lane)) = (dice.pick(&settings.namespaces), dice.pick(&settings.lanes)) else {
            return;
        };
        let state = match dice.below(5) {
            0..=1 => LaneState::Paused,
            2 => LaneState::Draining,
            _ => LaneState::Open,
        };
        let Some(process) = self.0.world.any(&mut self.0.dice) else { return };
        self.0.set_lane(&process, namespace, lane, state).await;
    }
}

/// Opens every lane, so that all work can go on.
pub(crate) async fn open_all(world: &Arc<World>, mut caller: Caller) {
    let settings = world.settings.clone();
    for namespace in &settings.namespaces {
        for lane in &settings.lanes {
            let mut opened = false;
            for _ in 0..5 {
                let Some(process) = world.any(&mut caller.dice) else {
                    sleep(Span(500)).await;
                    continue;
                };
                let answer = caller.set_lane(&process, namespace, lane, LaneState::Open).await;
                opened = matches!(answer, Some(Ok(_)));
                if opened {
                    break;
                }
            }
            if !opened {
                world.hub.violate("lanes", format!("lane {namespace}/{lane} cannot be opened although all is calm"));
            }
        }
    }
}
