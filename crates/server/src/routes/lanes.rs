//! Lanes.

use crate::access::Caller;
use crate::answer::{Answer, ok};
use crate::body::{InPath, One};
use axum::http::HeaderMap;
use onward::call::Ask;
use onward::wire::{LaneInfo, LaneList, LanePatch};
use onward_core::Lane;
use onward_engine::LaneListing;

/// List the lanes that are used or were changed.
#[utoipa::path(get, path = "/v1/lanes", tag = "lanes",
    extensions(("x-roles" = json!(["read", "operate"])), ("x-call" = json!("lanes"))), responses(
    (status = 200, description = "By name", body = LaneList),
))]
pub(super) async fn list(caller: Caller) -> Answer<LaneList> {
    let lanes = caller.client.lanes().await?;
    Ok(ok(LaneList { lanes: lanes.into_iter().map(LaneInfo::from).collect() }))
}

/// Look at a lane. One that nobody used or changed is open and empty.
#[utoipa::path(get, path = "/v1/lanes/{lane}", tag = "lanes",
    extensions(("x-roles" = json!(["read", "operate"])), ("x-call" = json!("lane"))),
    params(("lane" = Lane, Path, description = "Which")), responses(
    (status = 200, description = "The lane", body = LaneInfo),
))]
pub(super) async fn get(caller: Caller, InPath(lane): InPath<Lane>) -> Answer<LaneInfo> {
    Ok(ok(caller.client.ask::<LaneListing>(Ask::Lane(lane)).await?.into()))
}

/// Change what a lane lets through, and what holds for submissions to it. Answers when every partition obeys.
#[utoipa::path(patch, path = "/v1/lanes/{lane}", tag = "lanes",
    extensions(("x-roles" = json!(["operate"])), ("x-call" = json!("set_lane"))),
    params(("lane" = Lane, Path, description = "Which")), request_body = LanePatch, responses(
    (status = 200, description = "The lane as it is now", body = LaneInfo),
))]
pub(super) async fn change(
    caller: Caller,
    InPath(lane): InPath<Lane>,
    headers: HeaderMap,
    One(patch, _room): One<LanePatch>,
) -> Answer<LaneInfo> {
    let ask = Ask::SetLane { command: caller.command(&headers, lane.as_str()), lane, change: patch.into() };
    Ok(ok(caller.client.ask::<LaneListing>(ask).await?.into()))
}
