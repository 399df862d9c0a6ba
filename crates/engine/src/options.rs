//! Options of an engine, and the scope of its background work.

use crate::clock::{Chance, Clock, SystemClock};
use onward_core::record::{Execution, FORMAT, Member};
use onward_core::{Command, Millis, Namespace, Reply, RootSecret, Span, Stop, TagKey, TagValue, View, limits};
use std::sync::Arc;

/// The rules an engine runs. There is one set; a simulation swaps it to prove that it would notice a broken one.
pub type Rules = fn(&mut View<'_>, &Command, Millis) -> Result<Reply, Stop>;

/// Options of an engine; the defaults suit a program that embeds one.
#[derive(Debug, Clone)]
pub struct Options {
    /// Source of the local time.
    pub clock: Arc<dyn Clock>,
    /// Source of ids and jitter.
    pub chance: Arc<Chance>,
    /// How long a call is retried before it fails.
    pub call_timeout: Span,
    /// Interval of the sweep for lost hints.
    pub sweep_every: Span,
    /// Interval at which the records are read that callers wait for, in case a hint was lost.
    pub watched_every: Span,
    /// Bytes of the records that all partitions together keep in memory.
    pub cache_bytes: usize,
    /// How long events stay readable before the home of their partition removes them.
    pub event_retention: Span,
    /// Restricts the background work of this process; all executions if unset.
    pub scope: Option<Scope>,
    /// What new token keys are bound to, from outside the store; without it, a copy of the store can sign tokens.
    pub token_secret: Option<RootSecret>,
    /// Rules applied to commands.
    pub rules: Rules,
    /// The newest format of stored bodies that this process says it reads, for tests of builds beside each other.
    #[doc(hidden)]
    pub formats_known: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            clock: Arc::new(SystemClock),
            chance: Arc::new(Chance::from_os()),
            call_timeout: Span::seconds(30),
            sweep_every: Span::seconds(10),
            watched_every: Span::seconds(10),
            cache_bytes: 32 * 1024 * 1024,
            event_retention: limits::EVENT_RETENTION_DEFAULT,
            scope: None,
            token_secret: None,
            rules: onward_core::apply::<Command>,
            formats_known: FORMAT,
        }
    }
}

/// The executions whose due times a process handles. An execution that cannot be read is out of scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// Only this namespace; all if unset.
    pub namespace: Option<Namespace>,
    /// Only executions with this tag; all if unset.
    pub tag: Option<(TagKey, TagValue)>,
}

impl Scope {
    /// Whether a member's scope is the same as `scope`, so that both processes handle the same executions.
    pub(crate) fn is_shared_with(scope: Option<&Self>, member: &Member) -> bool {
        let (namespace, tag) = scope.map(|scope| (scope.namespace.as_ref(), scope.tag.as_ref())).unwrap_or_default();
        (member.namespace.as_ref(), member.tag.as_ref()) == (namespace, tag)
    }

    /// Whether an execution is in scope.
    #[must_use]
    pub fn covers(&self, execution: &Execution) -> bool {
        let tag = self.tag.as_ref().is_none_or(|(key, value)| execution.tags.get(key) == Some(value));
        self.covers_namespace(&execution.namespace) && tag
    }

    /// Whether records of a namespace that have no tags, such as its keys, are in scope.
    #[must_use]
    pub fn covers_namespace(&self, namespace: &Namespace) -> bool {
        self.namespace.as_ref().is_none_or(|own| own == namespace)
    }
}
