//! The last scene: the store is opened again, and its records and events must tell the same story.

use super::Play;
use crate::open;
use crate::problem::Problem;
use onward::store::Cursor;
use onward::{Client, ExecutionId, PublicState};
use onward_core::{What, codec};
use std::collections::BTreeMap;

/// Events read in one call.
const PAGE: usize = 1_000;

/// Everything submitted has ended exactly once.
pub(super) async fn check(play: &mut Play) -> Result<(), Problem> {
    play.show.scene("The books");
    let client = Client::open(&play.store).await?;
    play.show.say("the store was closed and opened again");
    let mut completed = 0;
    for id in &play.submitted {
        let state = client.get(*id).await?.map(|found| found.state);
        completed += usize::from(state == Some(PublicState::Completed));
    }
    let ends = ends(&client).await?;
    client.shutdown().await?;
    let all = play.submitted.len();
    play.show.check(completed == all, &format!("{completed} of {all} executions are there, and completed"));
    let once = play.submitted.iter().filter(|id| ends.get(id) == Some(&1)).count();
    let text = format!("{once} of {all} ended exactly once, says the event feed, and {} others did", ends.len() - once);
    play.show.check(once == all && ends.len() == all, &text);
    Ok(())
}

/// How often each execution ended, by the feed.
async fn ends(client: &Client) -> Result<BTreeMap<ExecutionId, u32>, Problem> {
    let mut ends = BTreeMap::new();
    let mut cursor = Cursor::start();
    loop {
        let page = open::engine(client)?.store().read_feed(&cursor, PAGE).await.map_err(onward::Error::from)?;
        if page.events.is_empty() {
            return Ok(ends);
        }
        for event in page.events.iter().flat_map(|found| codec::decode_events(&found.body)).flatten() {
            let ended = matches!(
                event.what,
                What::Completed { .. }
                    | What::AttemptFailed { retry_at: None, .. }
                    | What::LeaseExpired { again_at: None, .. }
            );
            if let Some(id) = event.execution().filter(|_| ended) {
                *ends.entry(id).or_insert(0) += 1;
            }
        }
        cursor = page.cursor;
    }
}
