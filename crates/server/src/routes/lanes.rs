//! Lanes.

use crate::access::Caller;
use crate::answer::{Answer, ok};
use crate::body::{InPath, One};
use axum::http::HeaderMap;
use onward::call::Ask;
use onward::wire::{LaneInfo, LaneList, LanePatch};
use onward_core::Lane;
use onward_engine::LaneListing;

/// List the lanes that have been used or changed.
#[utoipa::path(get, path = "/v1/lanes", tag = "lanes",
    extensions(("x-roles" = json!(["read", "operate"])), ("x-call" = json!("lanes"))), responses(
    (status = 200, description = "Lanes, sorted by name", body = LaneList),
))]
pub(super) async fn list(caller: Caller) -> Answer<LaneList> {
    let lanes = caller.client.lanes().await?;
    Ok(ok(LaneList { lanes: lanes.into_iter().map(LaneInfo::from).collect() }))
}

/// Get a lane. A lane that was never used or changed is open and empty.
#[utoipa::path(get, path = "/v1/lanes/{lane}", tag = "lanes",
    extensions(("x-roles" = json!(["read", "operate"])), ("x-call" = json!("lane"))),
    params(("lane" = Lane, Path, description = "Name of the lane")), responses(
    (status = 200, description = "The lane", body = LaneInfo),
))]
pub(super) async fn get(caller: Caller, InPath(lane): InPath<Lane>) -> Answer<LaneInfo> {
    Ok(ok(caller.client.ask::<LaneListing>(Ask::Lane(lane)).await?.into()))
}

/// Open, pause or drain a lane, and set its defaults. Returns once every partition applies the change.
#[utoipa::path(patch, path = "/v1/lanes/{lane}", tag = "lanes",
    extensions(("x-roles" = json!(["operate"])), ("x-call" = json!("set_lane"))),
    params(("lane" = Lane, Path, description = "Name of the lane")), request_body = LanePatch, responses(
    (status = 200, description = "The changed lane", body = LaneInfo),
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
