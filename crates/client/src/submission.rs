//! Work about to be submitted: what it is, when it may run, and what happens when it fails.

use crate::call::Ask;
use crate::options::span;
use crate::{Client, Error, Result};
use futures_util::future::BoxFuture;
use onward_core::record::WaitAddress;
use onward_core::{
    Capability, Class, Millis, NewExecution, NewSignal, OnExhausted, Payload, RetryPolicy, Submitted, TagKey, TagValue,
    When,
};
use serde::Serialize;
use std::future::IntoFuture;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Work about to be submitted; awaiting it submits it. Made by [`Client::submit`].
///
/// A wrong argument is reported when it is awaited, so that calls can be chained.
#[derive(Debug)]
#[must_use = "work is submitted when this is awaited"]
pub struct Submission {
    client: Client,
    new: Result<NewExecution>,
}

impl Submission {
    pub(crate) fn new(client: Client, kind: &str, input: Result<Payload>) -> Self {
        let make = || {
            let mut new = NewExecution::new(kind.parse()?, input?);
            new.namespace = client.namespace().clone();
            Ok(new)
        };
        let new = make();
        Self { client, new }
    }

    /// The lane to queue in; `default` unless chosen.
    pub fn lane(self, lane: &str) -> Self {
        self.with(lane.parse(), |new, lane| new.lane = lane)
    }

    /// Higher runs first, 0 to 9,000; 0 unless chosen.
    pub fn priority(self, priority: u16) -> Self {
        self.set(|new| new.priority = priority)
    }

    /// Runs it after a pause, counted by the store's clock from the moment it is accepted.
    pub fn delay(self, pause: Duration) -> Self {
        self.set(|new| new.set_when(When::After(span(pause))))
    }

    /// Runs it at a time, which may not lie more than a minute in the past.
    pub fn run_at(self, at: SystemTime) -> Self {
        self.set(|new| new.set_when(When::At(millis(at))))
    }

    /// Adds a label by which it can be found.
    pub fn tag(self, key: &str, value: &str) -> Self {
        let label = key.parse::<TagKey>().and_then(|key| Ok((key, value.parse::<TagValue>()?)));
        self.with(label, |new, (key, value)| {
            new.tags.insert(key, value);
        })
    }

    /// Makes a later submission with the same key answer this execution instead of making another one.
    pub fn idempotency_key(self, key: &str) -> Self {
        self.with(key.parse(), |new, key| new.idempotency_key = Some(key))
    }

    /// How long the idempotency key is remembered, 10 minutes to 30 days; a day unless chosen.
    pub fn remember_key_for(self, window: Duration) -> Self {
        self.set(|new| new.policy.dedup_window = Some(span(window)))
    }

    /// Only workers with all of these capabilities may run it.
    pub fn requires<'a>(self, capabilities: impl IntoIterator<Item = &'a str>) -> Self {
        let parsed: std::result::Result<Vec<Capability>, _> = capabilities.into_iter().map(str::parse).collect();
        self.with(parsed.and_then(Class::new), |new, class| new.requires = class)
    }

    /// Makes another submission with the same key answer this execution instead of making one, until this one ends.
    pub fn unique_key(self, key: &str) -> Self {
        self.with(key.parse(), |new, key| new.unique_key = Some(key))
    }

    /// Sends a signal along with a unique key, in the same commit: to the execution that has the key, or to this one if none
    /// has.
    pub fn signal<T: Serialize + ?Sized>(self, wait: &str, value: &T) -> Self {
        let signal = wait.parse::<WaitAddress>().map_err(Error::from).and_then(|wait| {
            let mut signal = NewSignal::new(wait);
            signal.set_payload(Payload::of(value)?);
            Ok(signal)
        });
        self.with(signal, |new, signal| new.signal = Some(Box::new(signal)))
    }

    /// Holds the execution for an operator when an attempt fails and no retry is left, instead of letting it fail.
    pub fn pause_when_exhausted(self) -> Self {
        self.set(|new| new.policy.on_exhausted = Some(OnExhausted::Pause))
    }

    /// What to do when an attempt fails; three retries with growing pauses unless chosen.
    pub fn retry(self, policy: RetryPolicy) -> Self {
        self.set(|new| new.policy.retry = Some(policy))
    }

    /// How long one attempt may run before it fails with the category `timeout`, 1 second to a year; pauses do not count.
    pub fn attempt_timeout(self, timeout: Duration) -> Self {
        self.set(|new| new.policy.attempt_timeout = Some(span(timeout)))
    }

    /// Expires the execution after this long, wherever it stands then.
    pub fn deadline(self, after: Duration) -> Self {
        self.set(|new| new.set_deadline(Some(When::After(span(after)))))
    }

    /// Expires the execution at a time, wherever it stands then.
    pub fn deadline_at(self, at: SystemTime) -> Self {
        self.set(|new| new.set_deadline(Some(When::At(millis(at)))))
    }

    /// How many lost workers are followed by another attempt; 100 unless chosen.
    pub fn max_reclaims(self, reclaims: u32) -> Self {
        self.set(|new| new.policy.max_reclaims = Some(reclaims))
    }

    /// How often it may be run again after it has ended; 10 times unless chosen.
    pub fn max_replays(self, replays: u32) -> Self {
        self.set(|new| new.policy.max_replays = Some(replays))
    }

    /// How long it is kept after it has ended, 10 minutes to 10 years; a week unless chosen.
    pub fn retention(self, retention: Duration) -> Self {
        self.set(|new| new.policy.retention = Some(span(retention)))
    }

    /// Puts it into a trace: the W3C's `traceparent`, as in `00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01`. Each
    /// attempt is told of it. With the feature `otel` it is taken from the current span unless chosen.
    pub fn trace(self, traceparent: &str) -> Self {
        self.with(traceparent.parse(), |new, trace| new.trace = Some(trace))
    }

    pub(crate) fn into_new(self) -> Result<NewExecution> {
        self.new
    }

    /// Applies a choice that cannot be wrong.
    fn set(mut self, choose: impl FnOnce(&mut NewExecution)) -> Self {
        if let Ok(new) = &mut self.new {
            choose(new);
        }
        self
    }

    /// Applies a choice, unless it or an earlier one is wrong: the first mistake is the one to report.
    fn with<T, E: Into<Error>>(
        self,
        chosen: std::result::Result<T, E>,
        choose: impl FnOnce(&mut NewExecution, T),
    ) -> Self {
        match chosen {
            Ok(chosen) => self.set(|new| choose(new, chosen)),
            Err(error) => Self { new: self.new.and(Err(error.into())), ..self },
        }
    }
}

impl IntoFuture for Submission {
    type Output = Result<Submitted>;
    type IntoFuture = BoxFuture<'static, Result<Submitted>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.client.ask(Ask::Submit(Box::new(self.new?))).await })
    }
}

/// A time of the system's clock; those before 1970 are all the same.
pub(crate) fn millis(at: SystemTime) -> Millis {
    Millis(span(at.duration_since(UNIX_EPOCH).unwrap_or_default()).0)
}
