//! Work about to be submitted: what it is, when it may run, and what happens when it fails.

use crate::call::Ask;
use crate::options::span;
use crate::{Client, Result};
use futures_util::future::BoxFuture;
use onward_core::{Class, Millis, Payload, RetryPolicy, Submitted, When};
use onward_engine::NewExecution;
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
        self.with(|new| {
            new.lane = lane.parse()?;
            Ok(())
        })
    }

    /// Higher runs first, 0 to 9,000; 0 unless chosen.
    pub fn priority(self, priority: u16) -> Self {
        self.with(|new| {
            new.priority = priority;
            Ok(())
        })
    }

    /// Runs it after a pause, counted by the store's clock from the moment it is accepted.
    pub fn delay(self, pause: Duration) -> Self {
        self.with(|new| {
            new.when = When::After(span(pause));
            Ok(())
        })
    }

    /// Runs it at a time, which may not lie more than a minute in the past.
    pub fn run_at(self, at: SystemTime) -> Self {
        self.with(|new| {
            new.when = When::At(millis(at));
            Ok(())
        })
    }

    /// Adds a label by which it can be found.
    pub fn tag(self, key: &str, value: &str) -> Self {
        self.with(|new| {
            new.tags.insert(key.parse()?, value.parse()?);
            Ok(())
        })
    }

    /// Makes a later submission with the same key answer this execution instead of making another one.
    pub fn idempotency_key(self, key: &str) -> Self {
        self.with(|new| {
            new.idempotency_key = Some(key.parse()?);
            Ok(())
        })
    }

    /// How long the idempotency key is remembered, 10 minutes to 30 days; a day unless chosen.
    pub fn remember_key_for(self, window: Duration) -> Self {
        self.with(|new| {
            new.policy.dedup_window = Some(span(window));
            Ok(())
        })
    }

    /// Only workers with all of these capabilities may run it.
    pub fn requires<'a>(self, capabilities: impl IntoIterator<Item = &'a str>) -> Self {
        let parsed: std::result::Result<Vec<_>, _> = capabilities.into_iter().map(str::parse).collect();
        self.with(|new| {
            new.requires = Class::new(parsed?)?;
            Ok(())
        })
    }

    /// Makes another submission with the same key answer this execution instead of making one, until this one ends.
    pub fn unique_key(self, key: &str) -> Self {
        self.with(|new| {
            new.unique_key = Some(key.parse()?);
            Ok(())
        })
    }

    /// What to do when an attempt fails; three retries with growing pauses unless chosen.
    pub fn retry(self, policy: RetryPolicy) -> Self {
        self.with(|new| {
            new.policy.retry = Some(policy);
            Ok(())
        })
    }

    /// How long one attempt may run before it fails with the category `timeout`, 1 second to a year; pauses do not count.
    pub fn attempt_timeout(self, timeout: Duration) -> Self {
        self.with(|new| {
            new.policy.attempt_timeout = Some(span(timeout));
            Ok(())
        })
    }

    /// Expires the execution after this long, wherever it stands then.
    pub fn deadline(self, after: Duration) -> Self {
        self.with(|new| {
            new.deadline = Some(When::After(span(after)));
            Ok(())
        })
    }

    /// Expires the execution at a time, wherever it stands then.
    pub fn deadline_at(self, at: SystemTime) -> Self {
        self.with(|new| {
            new.deadline = Some(When::At(millis(at)));
            Ok(())
        })
    }

    /// How many lost workers are followed by another attempt; 100 unless chosen.
    pub fn max_reclaims(self, reclaims: u32) -> Self {
        self.with(|new| {
            new.policy.max_reclaims = Some(reclaims);
            Ok(())
        })
    }

    /// How often it may be run again after it has ended; 10 times unless chosen.
    pub fn max_replays(self, replays: u32) -> Self {
        self.with(|new| {
            new.policy.max_replays = Some(replays);
            Ok(())
        })
    }

    /// How long it is kept after it has ended, 10 minutes to 10 years; a week unless chosen.
    pub fn retention(self, retention: Duration) -> Self {
        self.with(|new| {
            new.policy.retention = Some(span(retention));
            Ok(())
        })
    }

    /// Puts it into a trace: the W3C's `traceparent`, as in `00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01`. Each
    /// attempt is told of it. With the feature `otel` it is taken from the current span unless chosen.
    pub fn trace(self, traceparent: &str) -> Self {
        self.with(|new| {
            new.trace = Some(traceparent.parse()?);
            Ok(())
        })
    }

    pub(crate) fn into_new(self) -> Result<NewExecution> {
        self.new
    }

    /// Applies a choice, unless an earlier one was wrong: the first mistake is the one to report.
    fn with(mut self, choose: impl FnOnce(&mut NewExecution) -> Result<()>) -> Self {
        if let Ok(new) = &mut self.new
            && let Err(error) = choose(new)
        {
            self.new = Err(error);
        }
        self
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
