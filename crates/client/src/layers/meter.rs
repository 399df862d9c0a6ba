//! How many calls there were, how they ended and how long they took.

use crate::call::{Answer, Call};
use crate::{Error, Result};
use futures_util::future::BoxFuture;
use onward_core::Span;
use onward_engine::clock::{Clock, SystemClock};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use tower::Service;

/// Counts calls; clones count together.
#[derive(Debug, Clone)]
pub struct Meter {
    counted: Arc<Mutex<BTreeMap<(&'static str, String), Count>>>,
    clock: Arc<dyn Clock>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Count {
    calls: u64,
    took: Span,
    longest: Span,
}

/// Calls of one name that ended alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// What was called; [`Ask::name`](crate::call::Ask::name) has all names.
    pub call: &'static str,
    /// How it ended: `ok`, or the code of its error.
    pub code: String,
    /// How often.
    pub calls: u64,
    /// How long they took together.
    pub took: Span,
    /// How long the longest took.
    pub longest: Span,
}

layer! {
    /// Calls that are counted.
    Meter => Metered
}

impl Default for Meter {
    fn default() -> Self {
        Self::new()
    }
}

impl Meter {
    /// Nothing counted yet.
    #[must_use]
    pub fn new() -> Self {
        Self::with_clock(Arc::new(SystemClock))
    }

    /// The same, by another clock.
    #[must_use]
    pub fn with_clock(clock: Arc<dyn Clock>) -> Self {
        Self { counted: Arc::default(), clock }
    }

    /// What was counted so far, by call and code.
    #[must_use]
    pub fn read(&self) -> Vec<Row> {
        let counted = self.counted.lock();
        let row = |((call, code), count): (&(&'static str, String), &Count)| Row {
            call,
            code: code.clone(),
            calls: count.calls,
            took: count.took,
            longest: count.longest,
        };
        counted.iter().map(row).collect()
    }

    fn count(&self, call: &'static str, code: &str, took: Span) {
        let mut counted = self.counted.lock();
        let count = counted.entry((call, code.to_owned())).or_default();
        count.calls += 1;
        count.took = count.took + took;
        count.longest = count.longest.max(took);
    }

    fn carry<S>(&self, inner: &mut S, call: Call) -> BoxFuture<'static, Result<Answer>>
    where
        S: Service<Call, Response = Answer, Error = Error, Future: Send + 'static>,
    {
        let (name, meter) = (call.ask.name(), self.clone());
        let began = meter.clock.now();
        let calling = inner.call(call);
        Box::pin(async move {
            let answer = calling.await;
            let code = answer.as_ref().map_or_else(|error| error.code(), |_| "ok");
            meter.count(name, code, meter.clock.now() - began);
            answer
        })
    }
}
