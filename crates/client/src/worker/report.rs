//! How the end of an attempt is reported: with one id, again and again while the lease is held.

use super::WorkerState;
use super::attempt::Taken;
use super::leases::HeldLease;
use crate::call::{Ask, Reports};
use crate::failed::Why;
use crate::{Client, Error, Result};
use onward_core::{Category, Claimed, CommandId, End, Failure, Fence, Report, Span, end};
use onward_engine::{self as engine, Wants};

/// The first pause before a report is repeated; it doubles up to the longest.
pub(super) const PAUSE_FIRST: Span = Span(50);
pub(super) const PAUSE_MAX: Span = Span::seconds(2);
/// How often a report is repeated that broke something inside the engine. The first repeat nearly always helps; one that
/// breaks it every time must not go on for ever under a lease that is renewed meanwhile.
const BROKEN_MAX: u32 = 5;

impl From<Why> for End {
    fn from(why: Why) -> Self {
        match why {
            Why::Failed(failure) => end::Fail { failure }.into(),
            Why::Later(when) => end::Delay { when }.into(),
            Why::Cancelled(reason) => end::Cancel { reason }.into(),
        }
    }
}

/// Sends a report, and asks for work in the same breath if there is room for it.
pub(crate) async fn send(client: &Client, report: Report, claim: Option<Wants>) -> (Result<()>, Vec<Claimed>) {
    let sent: Result<Reports> = client.ask(Ask::Report { reports: vec![report], claim }).await;
    match sent {
        Ok(Reports { mut reported, claimed }) => {
            let missing = || engine::Error::Internal("a report was not answered".into()).into();
            let reported = reported.pop().unwrap_or_else(|| Err(missing())).map(|_| ());
            // A claim that failed is made again by whoever waits for work.
            (reported, claimed.unwrap_or_default())
        }
        Err(error) => (Err(error), Vec::new()),
    }
}

/// Reports an end. After a success the next execution is asked for in the same breath, since a slot becomes free.
pub(crate) async fn end(state: &WorkerState, lease: &HeldLease, fence: Fence, end: End) -> Option<Taken> {
    let command = state.command();
    let refills = matches!(end, End::Complete(_)) && state.refills();
    let claim = refills.then(|| state.wants(1));
    let report = Report { command, fence, end: end.clone() };
    let (reported, mut claimed) = send(&state.client, report, claim).await;
    // Its lease is renewed from now on, however long the report before it takes.
    let next = claimed.pop().map(|claimed| Taken::new(state, claimed));
    if let Err(error) = reported {
        insist(state, lease, fence, command, end, error).await;
    }
    next
}

/// Repeats a report that was not accepted, for as long as that may help.
async fn insist(
    state: &WorkerState,
    lease: &HeldLease,
    fence: Fence,
    mut command: CommandId,
    mut end: End,
    mut error: Error,
) {
    let execution = fence.execution;
    let (mut pause, mut broken) = (PAUSE_FIRST, 0);
    loop {
        broken += u32::from(error.is_internal());
        let may_pass = error.is_temporary() || (1..=BROKEN_MAX).contains(&broken);
        if error.is_argument() && matches!(end, End::Complete(_) | End::Delay(_)) {
            // What the handler returned is refused, and so it would be after another attempt.
            let failure = Failure::new(Category::permanent(), &format!("the answer is refused: {error}"));
            end = end::Fail { failure }.into();
            command = state.command();
        } else if error.is_refused() {
            return tracing::info!(%execution, %error, "the attempt is over; its end is not reported");
        } else if lease.is_lost() || !may_pass || error.is_shut_down() {
            return tracing::warn!(%execution, %error, "the end of an attempt could not be reported");
        } else {
            tracing::warn!(%execution, %error, "the end of an attempt could not be reported; trying again");
            state.client.clock().sleep(state.client.chance().jittered(pause)).await;
            pause = Span(pause.0 * 2).min(PAUSE_MAX);
        }
        let report = Report { command, fence, end: end.clone() };
        match send(&state.client, report, None).await.0 {
            Ok(()) => return,
            Err(again) => error = again,
        }
    }
}
