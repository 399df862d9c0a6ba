//! Events: pages and streams.

use crate::access::Caller;
use crate::answer::{Answer, ok};
use crate::app::App;
use crate::body::Asked;
use crate::metrics::Counted;
use crate::problem::Refusal;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::IntoResponse;
use axum::response::sse::{self, KeepAlive, Sse};
use futures_util::{Stream, stream};
use onward::call::{Ask, EventsPage};
use onward::wire::{EventPage, EventQuery, EventRow};
use onward_core::{Event, Millis, Rejection, Span, What};
use onward_engine::{EventFilter, Subscription, Told};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

/// Default number of events per page.
const PAGE: usize = 100;
/// Interval of keep-alive messages on an idle stream.
const SILENCE: Duration = Duration::from_secs(15);
/// Interval at which the API key of a stream is checked again.
const KEY_LOOKED_AT: Span = Span::seconds(2);
/// Streams written per millisecond, and the longest time that a stream collects events before it writes.
const STREAMS_PER_MILLI: u64 = 16;
const PACE_MAX: Span = Span(100);
/// Pause of a stream after the store could not be read.
const REST: Span = Span::seconds(1);

/// Read a page of events; with `wait`, wait for the first event of an empty page.
#[utoipa::path(get, path = "/v1/events", tag = "events",
    extensions(("x-roles" = json!(["read", "operate"])), ("x-call" = json!("events"))), params(EventQuery), responses(
    (status = 200, description = "One page; pass its `cursor` to read the next one", body = EventPage),
))]
pub(super) async fn page(
    State(app): State<Arc<App>>,
    caller: Caller,
    Asked(query): Asked<EventQuery>,
) -> Answer<EventPage> {
    let wait = app.wait(query.wait.unwrap_or_default());
    let (filter, limit) = (query.filter()?, query.limit.unwrap_or(PAGE));
    let ask = |wait| Ask::Events { filter: filter.clone(), cursor: query.cursor.clone(), wait, limit };
    let page: EventsPage = tokio::select! {
        biased;
        page = caller.client.ask(ask(wait)) => page?,
        () = app.drained() => caller.client.ask(ask(Span(0))).await?,
    };
    let rows = page.told.into_iter().filter(|told| !is_hidden(told, &caller)).map(EventRow::from);
    Ok(ok(EventPage { events: rows.collect(), cursor: page.cursor.or(query.cursor) }))
}

/// Whether an event is hidden from the caller. API keys belong to no namespace, so only callers that may list keys see
/// events about them.
fn is_hidden(told: &Told, caller: &Caller) -> bool {
    let about_keys = |event: &Event| {
        matches!(event.what, What::KeyIssued { .. } | What::KeyRevoked { .. } | What::TokenKeysRotated { .. })
    };
    !caller.sees_keys() && matches!(told, Told::Event { event, .. } if about_keys(event))
}

/// Stream events as they happen (server-sent events).
///
/// Each message has the name of the event, its JSON as data, and a cursor as its id. A client that reconnects sends the
/// last id as `Last-Event-ID` and continues after that event. A message named `gap` means that events were removed before
/// they were read.
#[utoipa::path(get, path = "/v1/events/stream", tag = "events",
    extensions(("x-roles" = json!(["read", "operate"])), ("x-call" = json!("events"))), params(EventQuery), responses(
    (status = 200, description = "Stream of events", content_type = "text/event-stream", body = String),
))]
pub(super) async fn stream(
    State(app): State<Arc<App>>,
    caller: Caller,
    headers: HeaderMap,
    Asked(query): Asked<EventQuery>,
) -> Result<impl IntoResponse, Refusal> {
    if query.wait.is_some() || query.limit.is_some() {
        let why = "a stream has no pages; leave wait and limit out".to_owned();
        return Err(Rejection::InvalidArgument { field: "wait", why }.into());
    }
    let last = headers.get("last-event-id").and_then(|value| value.to_str().ok()).map(str::to_owned);
    let filter = EventFilter { namespace: Some(caller.client.namespace().clone()), ..query.filter()? };
    let mut events = app.engine().subscribe(filter, last.or(query.cursor));
    // A cursor that the store did not make is refused here, where there is still an answer to refuse with.
    let first = events.next_now().await?;
    let alive = KeepAlive::new().interval(SILENCE);
    Ok(Sse::new(messages(app, caller, events, first)).keep_alive(alive))
}

type Message = Result<sse::Event, Infallible>;

/// State of an open stream.
struct Telling {
    app: Arc<App>,
    caller: Caller,
    events: Subscription,
    first: Option<Told>,
    looked_at: Millis,
    _open: Counted,
}

fn messages(app: Arc<App>, caller: Caller, events: Subscription, first: Option<Told>) -> impl Stream<Item = Message> {
    let (open, looked_at) = (Counted::in_(&app.metrics.streams), app.now());
    let telling = Telling { app, caller, events, first, looked_at, _open: open };
    stream::unfold(telling, |mut telling| async move {
        let told = telling.next().await?;
        Some((Ok(message(&told)), telling))
    })
}

impl Telling {
    /// Returns the next message, or `None` when the server drains or the API key is invalid by now.
    async fn next(&mut self) -> Option<Told> {
        loop {
            let (now, app) = (self.app.now(), self.app.clone());
            if now - self.looked_at >= KEY_LOOKED_AT {
                self.looked_at = now;
                if !self.is_allowed().await {
                    return None;
                }
            }
            if let Some(told) = self.first.take().filter(|told| !is_hidden(told, &self.caller)) {
                return Some(told);
            }
            self.events.set_pace(pace(app.metrics.streams.get()));
            let told = tokio::select! {
                biased;
                () = app.drained() => return None,
                told = self.events.next() => told,
                () = app.sleep(KEY_LOOKED_AT) => continue,
            };
            match told {
                Ok(Some(told)) if is_hidden(&told, &self.caller) => {}
                Ok(told) => return told,
                Err(error) => {
                    tracing::warn!(%error, "a stream of events could not be read; trying again");
                    app.sleep(REST).await;
                }
            }
        }
    }

    /// Whether the API key is still valid; an unavailable store leaves it valid.
    async fn is_allowed(&self) -> bool {
        let Some(id) = self.caller.key.as_ref().map(|key| key.id) else { return true };
        let engine = self.app.engine();
        engine.key(id).await.map_or(true, |key| key.is_some_and(|key| key.is_good(engine.now())))
    }
}

/// The time that a stream collects events before it writes. It grows with the number of streams, so that they do not slow
/// down other calls.
fn pace(streams: i64) -> Span {
    Span(u64::try_from(streams).unwrap_or(0) / STREAMS_PER_MILLI).min(PACE_MAX)
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
