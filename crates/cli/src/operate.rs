//! `onward cancel`, `pause`, `resume`, `replay` and the other commands by which operators act on one execution.

use crate::args::{
    AnnotateArgs, CancelArgs, CloseWaitArgs, OperateCommand, PriorityArgs, ReasonArgs, RescheduleArgs, ResumeArgs,
    TagArgs, Target,
};
use crate::problem::{Exit, Problem};
use crate::submit::{parse, span, tags, when};
use crate::{open, output, shape, time};
use onward::wire::Acted;
use onward::{Error, ExecutionId, Reason, Rejection};
use onward_core::{Act, ActOutcome, act};
use std::collections::BTreeSet;

/// The execution that is meant, and what to do with it.
fn order(command: OperateCommand) -> Result<(Target, Act), Problem> {
    Ok(match command {
        OperateCommand::Cancel(CancelArgs { target, reason, grace }) => {
            let grace = span("--grace", grace.as_deref())?;
            (target, act::Cancel { reason: Reason::new(&reason), grace }.into())
        }
        OperateCommand::Replay(ReasonArgs { target, reason }) => {
            (target, act::Replay::new(Reason::new(&reason), None).into())
        }
        OperateCommand::Reschedule(RescheduleArgs { target, delay, at }) => {
            (target, act::Reschedule::from(when(delay.as_deref(), at.as_deref())?).into())
        }
        OperateCommand::Priority(PriorityArgs { target, priority }) => (target, act::Prioritise { priority }.into()),
        OperateCommand::Tag(TagArgs { target, set, remove }) => {
            let remove = remove.iter().map(|key| parse(key)).collect::<Result<BTreeSet<_>, _>>()?;
            (target, act::Tag { set: tags(&set)?, remove }.into())
        }
        OperateCommand::Annotate(AnnotateArgs { target, note }) => (target, act::Annotate { note: note.into() }.into()),
        OperateCommand::Revoke(ReasonArgs { target, reason }) => {
            (target, act::Revoke { lease: None, reason: Reason::new(&reason) }.into())
        }
        OperateCommand::Pause(ReasonArgs { target, reason }) => {
            (target, act::Pause { reason: Reason::new(&reason) }.into())
        }
        OperateCommand::Resume(ResumeArgs { target, delay }) => {
            (target, act::Resume { delay: span("--delay", delay.as_deref())? }.into())
        }
        OperateCommand::CloseWait(CloseWaitArgs { target, wait }) => {
            (target, act::CloseWait { wait: parse(&wait)? }.into())
        }
        OperateCommand::Purge(target) => (target, act::Purge {}.into()),
    })
}

/// Carries out what an operator wants and says what came of it.
pub(crate) async fn run(command: OperateCommand, store: &str, json: bool) -> Result<Exit, Problem> {
    let (target, act) = order(command)?;
    let id: ExecutionId = parse(&target.id)?;
    let client = open::existing(store, &target.namespace).await?;
    let acting = async {
        // What is gone already counts as purged, which must not hide a mistyped id.
        if client.get(id).await?.is_none() {
            return Err(Error::from(Rejection::ExecutionNotFound(id)));
        }
        client.operate(id, act).await
    };
    let outcome = acting.await;
    client.shutdown().await?;
    let outcome = outcome?;
    output::print(&if json { shape::text(&Acted { outcome }) } else { said(id, outcome) });
    Ok(Exit::Success)
}

fn said(id: ExecutionId, outcome: ActOutcome) -> String {
    match outcome {
        ActOutcome::Cancelled => format!("cancelled {id}"),
        ActOutcome::StopRequested { until } => format!("asked {id} to stop; it is cancelled at {}", time::show(until)),
        ActOutcome::Rescheduled { until: Some(until) } => format!("{id} runs at {}", time::show(until)),
        ActOutcome::Rescheduled { until: None } => format!("{id} is ready"),
        ActOutcome::Prioritised { before } => format!("changed the priority of {id}; it was {before}"),
        ActOutcome::Tagged => format!("changed the tags of {id}"),
        ActOutcome::Annotated => format!("changed the note on {id}"),
        ActOutcome::Revoked { epoch, .. } => format!("took {id} from its worker (lease {epoch}); it is ready again"),
        ActOutcome::Paused => format!("{id} is held; no worker gets it until it is resumed (onward resume {id})"),
        ActOutcome::Resumed { until: Some(until) } => format!("{id} goes on at {}", time::show(until)),
        ActOutcome::Resumed { until: None } => format!("{id} goes on"),
        ActOutcome::WaitClosed { resumed: true } => format!("closed the wait; {id} goes on"),
        ActOutcome::WaitClosed { resumed: false } => format!("closed the wait; {id} waits for others"),
        ActOutcome::Replayed { replays } => format!("{id} runs again (replay {replays})"),
        ActOutcome::Purged => format!("purged {id}"),
    }
}
