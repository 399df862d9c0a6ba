//! `onward cancel`, `replay`, `reschedule`, `priority`, `tag`, `revoke`, `purge`: what operators do with one execution.

use crate::args::{CancelArgs, PriorityArgs, ReasonArgs, RescheduleArgs, TagArgs, Target};
use crate::problem::{Exit, Problem};
use crate::submit::{parse, span, tags, when};
use crate::{open, output, time};
use onward::{Error, ExecutionId, Reason, Rejection};
use onward_core::Act;
use onward_core::record::Did;
use std::collections::BTreeSet;

/// What to do, and with which execution.
pub(crate) struct Order {
    target: Target,
    act: Act,
}

impl Order {
    pub(crate) fn cancel(args: CancelArgs) -> Result<Self, Problem> {
        let grace = span("--grace", args.grace.as_deref())?;
        Ok(Self { target: args.target, act: Act::Cancel { reason: Reason::new(&args.reason), grace } })
    }

    pub(crate) fn replay(args: ReasonArgs) -> Self {
        Self { target: args.target, act: Act::Replay { reason: Reason::new(&args.reason), deadline: None } }
    }

    pub(crate) fn revoke(args: ReasonArgs) -> Self {
        Self { target: args.target, act: Act::Revoke { lease: None, reason: Reason::new(&args.reason) } }
    }

    pub(crate) fn reschedule(args: RescheduleArgs) -> Result<Self, Problem> {
        let when = when(args.delay.as_deref(), args.at.as_deref())?;
        Ok(Self { target: args.target, act: Act::Reschedule { when } })
    }

    pub(crate) fn priority(args: PriorityArgs) -> Self {
        Self { target: args.target, act: Act::Prioritise { priority: args.priority } }
    }

    pub(crate) fn tag(args: TagArgs) -> Result<Self, Problem> {
        let remove = args.remove.iter().map(|key| parse(key)).collect::<Result<BTreeSet<_>, _>>()?;
        Ok(Self { target: args.target, act: Act::Tag { set: tags(&args.set)?, remove } })
    }

    pub(crate) fn purge(target: Target) -> Self {
        Self { target, act: Act::Purge }
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
    let did = act.await;
    client.shutdown().await?;
    let did = did?;
    let object = serde_json::json!({ "id": id, "did": did });
    output::print(&if json { object.to_string() } else { said(id, did) });
    Ok(Exit::Success)
}

fn said(id: ExecutionId, did: Did) -> String {
    match did {
        Did::Cancelled => format!("cancelled {id}"),
        Did::AskedToStop { until } => format!("asked {id} to stop; it is cancelled at {}", time::show(until)),
        Did::Rescheduled { until: Some(until) } => format!("{id} runs at {}", time::show(until)),
        Did::Rescheduled { until: None } => format!("{id} is ready"),
        Did::Prioritised { before } => format!("changed the priority of {id}; it was {before}"),
        Did::Tagged => format!("changed the tags of {id}"),
        Did::Revoked { epoch, .. } => format!("took {id} from its worker (lease {epoch}); it is ready again"),
        Did::Replayed { replays } => format!("{id} runs again (replay {replays})"),
        Did::Purged => format!("purged {id}"),
    }
}
