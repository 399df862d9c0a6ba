//! The work that every scenario measures: small executions, and workers that ask for them.

use super::Error;
use onward_core::{
    Class, ExecutionId, Lane, Millis, Namespace, NewExecution, PartitionId, Payload, Span, Submit, limits,
};
use onward_engine::clock::Chance;
use onward_engine::{Engine, Wants};
use uuid::Uuid;

/// How long a claim waits for work that must be there; only a failure takes that long.
pub(crate) const PATIENCE: Span = Span::seconds(20);

/// What a claim that never got its work counts as among others, in milliseconds. Left out, it would make them better.
pub(crate) const NEVER: f64 = PATIENCE.0 as f64;

/// An execution with the input of a usual small job.
pub(crate) fn execution(lane: &Lane) -> NewExecution {
    NewExecution { lane: lane.clone(), ..NewExecution::new(kind(), input()) }
}

/// Which handler would run it.
pub(crate) fn kind() -> onward_core::Kind {
    name("send-receipt")
}

/// What a handler works on.
pub(crate) fn input() -> Payload {
    json(r#"{"order":"o-20931","customer":"c-8812","amount_cents":4990,"currency":"EUR","attempt_hint":null}"#)
}

/// What a handler returns.
pub(crate) fn result() -> Payload {
    json(r#"{"sent":true,"message_id":"m-51c20d77"}"#)
}

/// A worker that serves one lane, one execution at a time.
pub(crate) fn wants(lane: &Lane, lease: Span) -> Wants {
    Wants {
        namespace: Namespace::default(),
        lanes: vec![lane.clone()],
        kinds: None,
        capabilities: Class::default(),
        worker: name("bench-worker-1"),
        build: None,
        lease,
        max: 1,
    }
}

/// A worker whose leases outlast any benchmark that does not test leases.
pub(crate) fn patient(lane: &Lane) -> Wants {
    wants(lane, limits::LEASE_MAX)
}

/// A name that is known to be well formed.
pub(crate) fn name<T: std::str::FromStr>(text: &str) -> T
where
    T::Err: std::fmt::Debug,
{
    text.parse().expect("the names in this module are well formed")
}

fn json(text: &str) -> Payload {
    Payload::json(text).expect("the payloads in this module are JSON")
}

/// An id as the engine draws them, for work that is prepared without an engine.
pub(crate) fn id(chance: &Chance, created: Millis, partitions: u16) -> ExecutionId {
    let random = chance.id() & 0x0fff_3fff_ffff_ffff_ffff;
    let time = u128::from(created.0 & 0xffff_ffff_ffff) << 80;
    let uuid = Uuid::from_u128(time | 0x7000_8000_0000_0000_0000 | random);
    ExecutionId::new(uuid, PartitionId::of(&[uuid.as_bytes()], partitions))
}

/// Submits all of these, as many in each call as one may hold.
pub(crate) async fn submit_all(engine: &Engine, new: &[NewExecution]) -> Result<(), Error> {
    for some in new.chunks(limits::CALL_ITEMS_MAX) {
        for answer in engine.submit_many(some.to_vec()).await? {
            answer?;
        }
    }
    Ok(())
}

/// Submits to one partition; by itself an engine chooses a few and changes them with time.
pub(crate) async fn submit_to(engine: &Engine, lane: &Lane, partition: PartitionId) -> Result<(), Error> {
    let submit = engine.address(execution(lane));
    let id = ExecutionId::new(submit.id.uuid(), partition);
    engine.run(Submit { id, ..submit }).await?;
    Ok(())
}

/// Runs a lifecycle in every partition, so that none is met for the first time when it is measured.
pub(crate) async fn visit(engine: &Engine, lane: &Lane) -> Result<(), Error> {
    for partition in (0..engine.store().meta().partitions).map(PartitionId) {
        submit_to(engine, lane, partition).await?;
        let claimed = one(engine.claim(&patient(lane), PATIENCE).await?)?;
        engine.complete(claimed.fence, result()).await?;
    }
    Ok(())
}

/// Exactly one execution, or the reason why there is none.
pub(crate) fn one<T>(claimed: Vec<T>) -> Result<T, Error> {
    claimed.into_iter().next().ok_or_else(|| Error::Broken("a claim got no work although some was ready".to_owned()))
}
