//! Turns the JSON of a server's responses into the client's types.

use crate::Result;
use crate::call::EventsPage;
use crate::wire::{CountOf, CountsAnswer, EventPage, LaneInfo, SubmitAnswer, Work};
use onward_core::record::LaneSettings;
use onward_core::{Claimed, Fence, Payload, Submitted};
use onward_engine::{Counts, LaneListing, Told};
use onward_store::Count;

pub(super) fn submitted(answer: &SubmitAnswer) -> Submitted {
    Submitted { id: answer.id, created: answer.created, signalled: answer.signalled }
}

pub(super) fn claimed(work: Work) -> Result<Claimed> {
    let fence: Fence = work.lease.0;
    Ok(Claimed {
        fence,
        expires_at: work.lease_expires_at,
        namespace: work.namespace,
        lane: work.lane,
        kind: work.kind,
        input: Payload::of_fields(work.input.as_ref(), work.input_bytes.as_ref())?,
        tags: work.tags,
        attempt_kind: work.attempt_kind,
        resumed: work.resumed,
        retries: work.retries,
        times_out_at: work.times_out_at,
        deadline: work.expires_at,
        created_at: work.created_at,
        trace: work.trace,
        woke: work.woke,
        open_waits: work.open_waits,
    })
}

pub(super) fn counts(answer: CountsAnswer) -> Counts {
    let count = |of: CountOf| Count { n: of.n, capped: of.capped };
    Counts {
        total: count(answer.total),
        waiting: count(answer.waiting),
        delayed: count(answer.delayed),
        suspended: count(answer.suspended),
        active: count(answer.active),
        completed: count(answer.completed),
        failed: count(answer.failed),
        cancelled: count(answer.cancelled),
        expired: count(answer.expired),
    }
}

pub(super) fn lane(info: LaneInfo) -> LaneListing {
    let LaneInfo { lane, state, defaults, ready, ready_capped, oldest } = info;
    LaneListing { lane, settings: LaneSettings { state, defaults }, ready, ready_capped, oldest }
}

pub(super) fn events(page: EventPage) -> EventsPage {
    let told = page.events.into_iter().filter_map(|row| match (row.event, row.cursor) {
        (Some(event), Some(cursor)) => Some(Told::Event { event, cursor }),
        _ if row.gap => Some(Told::Gap),
        _ => None,
    });
    EventsPage { told: told.collect(), cursor: page.cursor }
}
