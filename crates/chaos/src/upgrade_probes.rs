//! Executions with every field set, which several builds change in turn: no field may get lost on the way.

use crate::work;
use onward::{Client, ClientOptions, ExecutionId, RetryPolicy};
use onward_core::{Actor, CommandId, Operate, Payload, act};
use onward_store::{Key, Partition, Store};
use serde_json::{Map, Value};
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// How many there are. They become ready one after the other in a good half of the run: some are run under every mixture of
/// builds.
const COUNT: u32 = 60;
/// Milliseconds between two probes for each second of the run.
const APART: u64 = 10;
/// One probe in this many carries a trace. They are further apart, so that some become ready while the other build is alone.
const TRACED: u32 = 3;
const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const DAY: Duration = Duration::from_secs(24 * 3_600);

/// What changes in the life of an execution; all else is as it was submitted.
const CHANGING: [&str; 13] = [
    "state",
    "changed_at",
    "place",
    "started_at",
    "attempts",
    "retries",
    "reclaims",
    "reclaims_in_a_row",
    "epoch",
    "last",
    "result",
    "progress",
    "pages",
];
/// What grows at its end only.
const GROWING: [&str; 2] = ["operated", "history"];

/// The probes, and their records as they were submitted.
#[derive(Debug)]
pub(crate) struct UpgradeProbes(Vec<(ExecutionId, Map<String, Value>)>);

impl UpgradeProbes {
    /// Submits them by an engine of its own, which then ends, for a run of `seconds`.
    pub(crate) async fn make(store: &Arc<dyn Store>, url: &str, seconds: u64) -> io::Result<Self> {
        let client = Client::open_with(url, ClientOptions::default()).await.map_err(io::Error::other)?;
        let made = submit(&client, Duration::from_millis(seconds * APART)).await;
        client.shutdown().await.map_err(io::Error::other)?;
        let mut kept = Vec::new();
        for id in made.map_err(io::Error::other)? {
            kept.push((id, body(&**store, id).await?));
        }
        Ok(Self(kept))
    }

    /// Their ids.
    pub(crate) fn ids(&self) -> impl Iterator<Item = ExecutionId> {
        self.0.iter().map(|(id, _)| *id)
    }

    /// What is missing or different now, in words.
    pub(crate) async fn lost(&self, store: &dyn Store) -> io::Result<Vec<String>> {
        let mut lost = Vec::new();
        for (id, before) in &self.0 {
            let after = body(store, *id).await?;
            lost.extend(differences(before, &after).into_iter().map(|what| format!("{id}: {what}")));
        }
        Ok(lost)
    }
}

async fn submit(client: &Client, apart: Duration) -> Result<Vec<ExecutionId>, onward::Error> {
    let job = Payload::json(r#"{"fails":1,"gives_up":false,"later":true,"takes":5}"#)?;
    let mut ids = Vec::new();
    for n in 0..COUNT {
        let pause = apart * n;
        let submission = client.submit_payload(work::KIND, job.clone()).lane(work::LANE);
        let submission = match n % TRACED {
            0 => submission.trace(TRACE).delay(pause * 2),
            _ => submission.delay(pause),
        };
        let submission = submission.tag("keepsake", &n.to_string()).priority(7).deadline(DAY).attempt_timeout(DAY);
        let (submission, key) =
            (submission.retention(DAY * 2).max_reclaims(99).max_replays(9), format!("keepsake-{n}"));
        let submission = match n % 2 {
            0 => submission.idempotency_key(&key).remember_key_for(DAY),
            _ => submission.unique_key(&key),
        };
        let id = submission.retry(RetryPolicy { max_retries: 9, ..RetryPolicy::default() }).await?.id;
        let by: Option<Actor> = Some("ada".parse()?);
        let act = act::Tag { set: [("seen".parse()?, "yes".parse()?)].into(), ..act::Tag::default() }.into();
        let (command, namespace) = (CommandId(client.chance().id()), client.namespace().clone());
        if let Some(engine) = client.engine() {
            engine.run(Operate { command, namespace, execution: id, by, act }).await?;
        }
        ids.push(id);
    }
    Ok(ids)
}

async fn body(store: &dyn Store, id: ExecutionId) -> io::Result<Map<String, Value>> {
    let key = Key::new(id.to_string());
    let found = store.load(Partition(id.partition().0), &[key]).await.map_err(io::Error::other)?;
    let record = found.into_iter().next().flatten().ok_or_else(|| io::Error::other(format!("{id} is lost")))?;
    Ok(serde_json::from_slice(&record.body)?)
}

/// What one record says no more that another one said.
fn differences(before: &Map<String, Value>, after: &Map<String, Value>) -> Vec<String> {
    let mut different = Vec::new();
    for (name, said) in before.iter().filter(|(name, _)| !CHANGING.contains(&name.as_str())) {
        let kept = match (said, after.get(name)) {
            (Value::Array(said), Some(Value::Array(now))) if GROWING.contains(&name.as_str()) => now.starts_with(said),
            (said, now) => now == Some(said),
        };
        if !kept {
            different.push(format!("{name} was {said} and is {}", after.get(name).unwrap_or(&Value::Null)));
        }
    }
    different
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_gets_lost_is_named() {
        let map = |value: Value| value.as_object().cloned().unwrap();
        let before = map(json!({"state": 1, "tags": {"a": "b"}, "history": [{"by": "ada"}], "lane": "x"}));
        let good = map(json!({"state": 2, "tags": {"a": "b"}, "history": [{"by": "ada"}, 2], "lane": "x", "new": 1}));
        assert!(differences(&before, &good).is_empty());
        let bad = map(json!({"state": 2, "tags": {}, "history": [{}, 2]}));
        let lost = differences(&before, &bad);
        let names: Vec<&str> = lost.iter().map(|text| text.split(' ').next().unwrap()).collect();
        assert_eq!(names, ["history", "lane", "tags"]);
    }
}
