//! How an engine is set up.

use crate::clock::{Chance, Clock, SystemClock};
use onward_core::record::{Execution, Member};
use onward_core::{Command, Millis, Namespace, Reply, Span, Stop, TagKey, TagValue, View, limits};
use std::sync::Arc;

/// The rules an engine runs. There is one set; a simulation swaps it to prove that it would notice a broken one.
pub type Rules = fn(&mut View<'_>, &Command, Millis) -> Result<Reply, Stop>;

/// How an engine is set up; the default is right for a program that embeds one.
#[derive(Debug, Clone)]
pub struct Options {
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Where ids and jitter come from.
    pub chance: Arc<Chance>,
    /// How long a call is tried before it is given up.
    pub call_timeout: Span,
    /// How often lost hints are looked for.
    pub sweep_every: Span,
    /// Records cached for each partition, in each of two generations.
    pub cache_records: usize,
    /// Bytes cached for each partition, in each of two generations.
    pub cache_bytes: usize,
    /// How long events can be read before the home of the store removes them.
    pub event_retention: Span,
    /// Restricts the background work of this process.
    pub scope: Option<Scope>,
    /// The rules.
    pub rules: Rules,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            clock: Arc::new(SystemClock),
            chance: Arc::new(Chance::from_os()),
            call_timeout: Span::seconds(30),
            sweep_every: Span::seconds(10),
            cache_records: 256,
            cache_bytes: 256 * 1024,
            event_retention: limits::EVENT_RETENTION_DEFAULT,
            scope: None,
            rules: onward_core::apply,
        }
    }
}

/// The executions whose due times a process looks after. An execution that cannot be read is outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// Only this namespace.
    pub namespace: Option<Namespace>,
    /// Only executions with this tag.
    pub tag: Option<(TagKey, TagValue)>,
}

impl Scope {
    /// Whether a process that says this about itself looks after the same executions as one with this scope.
    pub(crate) fn is_shared_with(scope: Option<&Self>, member: &Member) -> bool {
        let (namespace, tag) = scope.map(|scope| (scope.namespace.as_ref(), scope.tag.as_ref())).unwrap_or_default();
        (member.namespace.as_ref(), member.tag.as_ref()) == (namespace, tag)
    }

    /// Whether an execution is inside.
    #[must_use]
    pub fn covers(&self, execution: &Execution) -> bool {
        let tag = self.tag.as_ref().is_none_or(|(key, value)| execution.tags.get(key) == Some(value));
        self.covers_namespace(&execution.namespace) && tag
    }

    /// Whether records of a namespace that have no tags, such as its keys, are inside.
    #[must_use]
    pub fn covers_namespace(&self, namespace: &Namespace) -> bool {
        self.namespace.as_ref().is_none_or(|own| own == namespace)
    }
}
