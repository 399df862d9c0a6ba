//! Turns the JSON of a server's responses into the client's types.

use crate::call::EventsPage;
use crate::wire::{
    CountOf, CountsAnswer, EndKind, EventPage, ItemAnswer, LaneInfo, Leased, ReportAnswer, SubmitAnswer, Work,
    read_payload,
};
use crate::{Error, Result};
use onward_core::record::LaneSettings;
use onward_core::{AfterFailure, Claimed, Fence, Renewed, Submitted};
use onward_engine::{Counts, LaneListing, Reported, Told};
use onward_store::Count;

/// The answer to one of many.
pub(super) fn item<T, U>(answer: ItemAnswer<T>, read: impl FnOnce(T) -> U) -> Result<U> {
    match answer {
        ItemAnswer::Ok(done) => Ok(read(done)),
        ItemAnswer::Problem(problem) => Err(Error::Server(Box::new(problem))),
    }
}

pub(super) fn submitted(answer: &SubmitAnswer) -> Submitted {
    Submitted { id: answer.id, created: answer.created }
}

pub(super) fn claimed(work: Work) -> Result<Claimed> {
    let fence: Fence = work.lease.0;
    Ok(Claimed {
        fence,
        expires_at: work.lease_expires_at,
        namespace: work.namespace,
        lane: work.lane,
        kind: work.kind,
        input: read_payload(work.input, work.input_bytes, "input")?,
        tags: work.tags,
        attempt_kind: work.attempt_kind,
        resumed: work.resumed,
        retries: work.retries,
        times_out_at: work.times_out_at,
        deadline: work.deadline,
        created_at: work.created_at,
        trace: work.trace,
    })
}

pub(super) fn renewed(leased: Leased) -> Renewed {
    Renewed { expires_at: leased.expires_at, stop: leased.stop }
}

pub(super) fn reported(end: EndKind, answer: ReportAnswer) -> Result<Reported> {
    let without_time = || Error::Unintelligible { why: "a report was answered without a time".to_owned() };
    Ok(match (end, answer) {
        (EndKind::Complete, _) => Reported::Completed,
        (EndKind::Cancel, _) => Reported::Cancelled,
        (EndKind::Unclaim, _) => Reported::GivenBack,
        (EndKind::Fail, ReportAnswer { ended: true, .. }) => Reported::Failed(AfterFailure::Finished),
        (EndKind::Fail, ReportAnswer { again_at, .. }) => {
            Reported::Failed(AfterFailure::RetryAt(again_at.ok_or_else(without_time)?))
        }
        (EndKind::Delay, ReportAnswer { again_at, .. }) => Reported::Delayed(again_at.ok_or_else(without_time)?),
    })
}

pub(super) fn counts(answer: CountsAnswer) -> Counts {
    let count = |of: CountOf| Count { n: of.n, capped: of.capped };
    Counts {
        total: count(answer.total),
        waiting: count(answer.waiting),
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
