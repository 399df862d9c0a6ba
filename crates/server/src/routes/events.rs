//! Events, in pages and as a stream.

use crate::access::Caller;
use crate::answer::{Said, ok};
use crate::app::App;
use crate::body::Asked;
use crate::metrics::Counted;
use crate::problem::Refusal;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::IntoResponse;
use axum::response::sse::{self, KeepAlive, Sse};
use futures_util::{Stream, stream};
use onward::wire::{EventPage, EventQuery, EventRow};
use onward_core::{Span, limits};
use onward_engine::{Subscription, Told};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

/// Events of a page unless chosen.
const PAGE: usize = 100;
/// How long a stream may be silent before it shows that it is alive.
const SILENCE: Duration = Duration::from_secs(15);
/// How long a stream rests after the store could not be read.
const REST: Span = Span::seconds(1);

/// Read a page of events, and wait for the first when there is none.
#[utoipa::path(get, path = "/v1/events", tag = "events", params(EventQuery), responses(
    (status = 200, description = "One page; go on with its `cursor`", body = EventPage),
))]
pub(super) async fn page(
    State(app): State<Arc<App>>,
    caller: Caller,
    Asked(query): Asked<EventQuery>,
) -> Result<Said<EventPage>, Refusal> {
    let wait = app.wait(query.wait.map_or(Span(0), |length| length.0));
    let limit = query.limit.unwrap_or(PAGE).clamp(1, limits::PAGE_MAX);
    let mut events = caller.client.events(query.filter()?, query.cursor.clone());
    let mut rows = Vec::new();
    if let Some(told) = first(&app, &mut events, wait).await? {
        rows.push(row(told));
        while rows.len() < limit
            && let Some(told) = events.next_now().await?
        {
            rows.push(row(told));
        }
    }
    // A page that passed over events goes on behind them, unless it stopped in their midst.
    let last = rows.iter().rev().find_map(|row| row.cursor.clone());
    let cursor = events.cursor().or(last).or(query.cursor);
    Ok(ok(EventPage { events: rows, cursor }))
}

/// The first event, waited for.
async fn first(app: &App, events: &mut Subscription, wait: Span) -> Result<Option<Told>, Refusal> {
    if wait == Span(0) {
        return Ok(events.next_now().await?);
    }
    tokio::select! {
        biased;
        told = events.next() => Ok(told?),
        () = app.drained() => Ok(None),
        () = app.sleep(wait) => Ok(None),
    }
}

fn row(told: Told) -> EventRow {
    match told {
        Told::Event { event, cursor } => EventRow { event: Some(event), cursor: Some(cursor), gap: false },
        Told::Gap => EventRow { event: None, cursor: None, gap: true },
    }
}

/// Follow events as they happen (server-sent events).
///
/// Every message has the event's name, its JSON, and as its id the cursor to go on from: a reader that comes back sends the
/// last one as `Last-Event-ID` and misses nothing. A message `gap` says that events were removed before they were read.
#[utoipa::path(get, path = "/v1/events/stream", tag = "events", params(EventQuery), responses(
    (status = 200, description = "The stream", content_type = "text/event-stream", body = String),
))]
pub(super) async fn stream(
    State(app): State<Arc<App>>,
    caller: Caller,
    headers: HeaderMap,
    Asked(query): Asked<EventQuery>,
) -> Result<impl IntoResponse, Refusal> {
    let last = headers.get("last-event-id").and_then(|value| value.to_str().ok()).map(str::to_owned);
    let mut events = caller.client.events(query.filter()?, last.or(query.cursor));
    // A cursor that the store did not make is refused here, where there is still an answer to refuse with.
    let first = events.next_now().await?;
    let alive = KeepAlive::new().interval(SILENCE);
    Ok(Sse::new(messages(app, events, first)).keep_alive(alive))
}

type Message = Result<sse::Event, Infallible>;

fn messages(app: Arc<App>, events: Subscription, first: Option<Told>) -> impl Stream<Item = Message> {
    let open = Counted::in_(&app.metrics.streams);
    stream::unfold((app, events, first, open), |(app, mut events, first, open)| async move {
        if let Some(told) = first {
            return Some((Ok(message(&told)), (app, events, None, open)));
        }
        loop {
            let told = tokio::select! {
                biased;
                () = app.drained() => return None,
                told = events.next() => told,
            };
            match told {
                Ok(Some(told)) => return Some((Ok(message(&told)), (app, events, None, open))),
                Ok(None) => return None,
                Err(error) => {
                    tracing::warn!(%error, "a stream of events could not be read; trying again");
                    app.sleep(REST).await;
                }
            }
        }
    })
}

fn message(told: &Told) -> sse::Event {
    match told {
        Told::Event { event, cursor } => {
            let data = serde_json::to_string(event).unwrap_or_default();
            sse::Event::default().event(event.what.name()).id(cursor).data(data)
        }
        Told::Gap => sse::Event::default().event("gap").data("{}"),
    }
}
