//! How a body becomes a request: bounded in size, time and memory, and refused with the field that is wrong.

use crate::app::{App, PIECE};
use crate::problem::{Fault, Refusal};
use crate::strict::Strict;
use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use onward_core::Span;
use serde::de::DeserializeOwned;
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;

/// How long a body waits for room before its caller is told to slow down.
const ROOM_WAIT: Span = Span::seconds(5);

/// Bodies up to this size are read whatever else is read.
const SMALL: usize = 16 * 1024;

/// The room that a body takes while it is in memory.
pub(crate) type Room = Option<OwnedSemaphorePermit>;

/// A request about one thing, and the room that it takes.
pub(crate) struct One<T>(pub(crate) T, pub(crate) Room);

/// A request of a caller without a key, which is small enough to need no room.
pub(crate) struct Small<T>(pub(crate) T);

/// A request about many things, and the room that it takes.
pub(crate) struct Many<T>(pub(crate) T, pub(crate) Room);

impl<T: DeserializeOwned> FromRequest<Arc<App>> for One<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Refusal> {
        let (value, permit) = read(request, app, app.options.limits.body_bytes).await?;
        Ok(Self(value, permit))
    }
}

impl<T: DeserializeOwned> FromRequest<Arc<App>> for Small<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Refusal> {
        let (value, _) = read(request, app, SMALL.min(app.options.limits.body_bytes)).await?;
        Ok(Self(value))
    }
}

impl<T: DeserializeOwned> FromRequest<Arc<App>> for Many<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Refusal> {
        let (value, permit) = read(request, app, app.options.limits.batch_bytes).await?;
        Ok(Self(value, permit))
    }
}

async fn read<T: DeserializeOwned>(request: Request, app: &App, limit: usize) -> Result<(T, Room), Refusal> {
    if length(request.headers()).is_some_and(|announced| announced > limit) {
        return Err(too_large(limit));
    }
    let is_json = is_json(request.headers());
    let (bytes, room) = tokio::select! {
        biased;
        whole = collect(app, request.into_body(), limit) => whole?,
        () = app.sleep(app.options.limits.body_time) => {
            return Err(Refusal::new(Fault::TooSlow, "the body took too long to arrive"));
        }
    };
    if bytes.is_empty() {
        return Ok((parse(&Bytes::from_static(b"{}"))?, room));
    }
    if !is_json {
        return Err(Refusal::new(Fault::MediaType, "the content type of the body is not application/json"));
    }
    Ok((parse(&bytes)?, room))
}

/// Takes a body in, and room for what has arrived of it: one that only announces much takes none. A small body needs
/// none, so that what frees leases gets through beside large ones.
async fn collect(app: &App, mut body: Body, limit: usize) -> Result<(Bytes, Room), Refusal> {
    let (mut whole, mut room) = (BytesMut::new(), None);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Refusal::new(Fault::Body, format!("the body is incomplete: {error}")))?;
        let Ok(data) = frame.into_data() else { continue };
        if whole.len() + data.len() > limit {
            return Err(too_large(limit));
        }
        whole.extend_from_slice(&data);
        if whole.len() > SMALL {
            enlarge(app, &mut room, whole.len()).await?;
        }
    }
    Ok((whole.freeze(), room))
}

/// Waits until a body has room for so many bytes.
async fn enlarge(app: &App, room: &mut Room, bytes: usize) -> Result<(), Refusal> {
    let held = room.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
    let lacking = bytes.div_ceil(PIECE).saturating_sub(held);
    let more = app.room.clone().acquire_many_owned(u32::try_from(lacking).unwrap_or(u32::MAX));
    let more = tokio::select! {
        biased;
        more = more => more.map_err(|_| Refusal::overloaded())?,
        () = app.sleep(ROOM_WAIT) => return Err(Refusal::overloaded()),
    };
    match room {
        Some(room) => room.merge(more),
        None => *room = Some(more),
    }
    Ok(())
}

fn parse<T: DeserializeOwned>(bytes: &Bytes) -> Result<T, Refusal> {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let wrong = |why: String| Refusal::new(Fault::Body, why);
    let mut track = serde_path_to_error::Track::new();
    let value = T::deserialize(Strict(serde_path_to_error::Deserializer::new(&mut json, &mut track)));
    let value = value.map_err(|error| {
        let (field, refusal) = (track.path().to_string(), wrong(plain(&error.to_string())));
        if field == "." { refusal } else { refusal.about(field) }
    })?;
    json.end().map_err(|error| wrong(error.to_string()))?;
    Ok(value)
}

/// The words of a parser in those of its caller: the names of our types mean nothing to one who wrote JSON.
fn plain(message: &str) -> String {
    let Some((found, rest)) = message.rsplit_once("expected ") else { return message.to_owned() };
    let (expected, place) =
        rest.split_once(" at line").map_or((rest, None), |(expected, place)| (expected, Some(place)));
    let expected = match expected.split(' ').next() {
        Some("struct" | "map" | "internally") => "an object",
        Some("u8") => "a whole number from 0 to 255",
        Some("u16") => "a whole number from 0 to 65535",
        Some("u32") => "a whole number from 0 to 4294967295",
        Some("u64" | "usize" | "i64") => "a whole number",
        Some("f64") => "a number",
        _ => expected,
    };
    let place = place.map(|place| format!(" at line{place}")).unwrap_or_default();
    format!("{found}expected {expected}{place}")
}

fn length(headers: &HeaderMap) -> Option<usize> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn is_json(headers: &HeaderMap) -> bool {
    let Some(text) = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()) else { return false };
    let kind = text.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("application/json")
}

fn too_large(limit: usize) -> Refusal {
    Refusal::new(Fault::TooLarge, format!("the body is larger than {limit} bytes, the maximum of this route"))
}

/// What a query says.
pub(crate) struct Asked<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Asked<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        match Query::<T>::try_from_uri(&parts.uri) {
            Ok(Query(value)) => Ok(Self(value)),
            Err(rejection) => Err(Refusal::new(Fault::Query, rejection.body_text())),
        }
    }
}

/// A part of the path that must be of a type.
pub(crate) struct InPath<T>(pub(crate) T);

/// Two values in the path.
#[derive(Debug)]
pub(crate) struct BothInPath<A, B>(pub(crate) A, pub(crate) B);

impl<A, B, S> FromRequestParts<S> for BothInPath<A, B>
where
    A: std::str::FromStr + Send,
    A::Err: Into<onward::Error>,
    B: std::str::FromStr + Send,
    B::Err: Into<onward::Error>,
    S: Send + Sync,
{
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let path = axum::extract::Path::<(String, String)>::from_request_parts(parts, state).await;
        let (one, other) = path.map_err(|_| Refusal::no_route())?.0;
        let one = one.parse().map_err(|error: A::Err| Refusal::from(error))?;
        Ok(Self(one, other.parse().map_err(|error: B::Err| Refusal::from(error))?))
    }
}

impl<T, S> FromRequestParts<S> for InPath<T>
where
    T: std::str::FromStr + Send,
    T::Err: Into<onward::Error>,
    S: Send + Sync,
{
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let path = axum::extract::Path::<String>::from_request_parts(parts, state).await;
        let text = path.map_err(|_| Refusal::no_route())?.0;
        text.parse().map(Self).map_err(|error: T::Err| Refusal::from(error))
    }
}
