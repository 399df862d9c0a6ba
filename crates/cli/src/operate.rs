//! `onward cancel`, `replay`, `reschedule`, `priority`, `tag`, `revoke`, `purge`: what operators do with one execution.

use crate::args::{CancelArgs, PriorityArgs, ReasonArgs, RescheduleArgs, TagArgs, Target};
use crate::problem::{Exit, Problem};
use crate::submit::{parse, span, tags, when};
use crate::{open, output, shape, time};
use onward::wire::Acted;
use onward::{Error, ExecutionId, Reason, Rejection};
use onward_core::{Act, ActOutcome, act};
use std::collections::BTreeSet;

/// What to do, and with which execution.
pub(crate) struct Order {
    target: Target,
    act: Act,
}

impl Order {
    pub(crate) fn cancel(args: CancelArgs) -> Result<Self, Problem> {
        let grace = span("--grace", args.grace.as_deref())?;
        Ok(Self { target: args.target, act: act::Cancel { reason: Reason::new(&args.reason), grace }.into() })
    }

    pub(crate) fn replay(args: ReasonArgs) -> Self {
        Self {
            target: args.target,
            act: act::Replay { reason: Reason::new(&args.reason), ..act::Replay::default() }.into(),
        }
    }

    pub(crate) fn revoke(args: ReasonArgs) -> Self {
        Self { target: args.target, act: act::Revoke { lease: None, reason: Reason::new(&args.reason) }.into() }
    }

    pub(crate) fn reschedule(args: RescheduleArgs) -> Result<Self, Problem> {
        let when = when(args.delay.as_deref(), args.at.as_deref())?;
        Ok(Self { target: args.target, act: act::Reschedule::from(when).into() })
    }

    pub(crate) fn priority(args: PriorityArgs) -> Self {
        Self { target: args.target, act: act::Prioritise { priority: args.priority }.into() }
    }

    pub(crate) fn tag(args: TagArgs) -> Result<Self, Problem> {
        let remove = args.remove.iter().map(|key| parse(key)).collect::<Result<BTreeSet<_>, _>>()?;
        Ok(Self { target: args.target, act: act::Tag { set: tags(&args.set)?, remove }.into() })
    }

    pub(crate) fn purge(target: Target) -> Self {
        Self { target, act: act::Purge {}.into() }
    }
}

/// Carries an order out and says what came of it.
pub(crate) async fn run(order: Order, store: &str, json: bool) -> Result<Exit, Problem> {
    let id: ExecutionId = parse(&order.target.id)?;
    let client = open::existing(store, &order.target.namespace).await?;
    let act = async {
        // What is gone already counts as purged, which must not hide a mistyped id.
        if client.get(id).await?.is_none() {
            return Err(Error::from(Rejection::ExecutionNotFound(id)));
        }
        client.operate(id, order.act).await
    };
    let outcome = act.await;
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
        ActOutcome::Revoked { epoch, .. } => format!("took {id} from its worker (lease {epoch}); it is ready again"),
        ActOutcome::Replayed { replays } => format!("{id} runs again (replay {replays})"),
        ActOutcome::Purged => format!("purged {id}"),
    }
}
