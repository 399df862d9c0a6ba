//! Finding and counting over HTTP.

use super::invalid;
use crate::{Description, Result};
use onward_core::record::PublicState;
use onward_core::{Kind, Lane, Millis};
use onward_engine::{Counts, FindFilter};
use onward_store::Count;
use serde::{Deserialize, Serialize};

/// Which executions are wanted; what is absent does not matter.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct FilterFields {
    /// Only in this state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<PublicState>,
    /// Only of this lane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<Lane>,
    /// Only of this kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// Only with this label, as `key=value`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "openapi",
        schema(example = "customer=42", pattern = "^[A-Za-z0-9._-]{1,64}=[A-Za-z0-9._-]{1,64}$")
    )]
    pub tag: Option<String>,
    /// Only submitted at this time or later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<onward_core::openapi::Time>))]
    pub created_from: Option<Millis>,
    /// Only submitted before this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<onward_core::openapi::Time>))]
    pub created_until: Option<Millis>,
}

/// The query of a search.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct SearchQuery {
    /// Only in this state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<PublicState>,
    /// Only of this lane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<Lane>,
    /// Only of this kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// Only with this label, as `key=value`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "openapi",
        param(example = "customer=42", pattern = "^[A-Za-z0-9._-]{1,64}=[A-Za-z0-9._-]{1,64}$")
    )]
    pub tag: Option<String>,
    /// Only submitted at this time or later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<onward_core::openapi::Time>))]
    pub created_from: Option<Millis>,
    /// Only submitted before this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<onward_core::openapi::Time>))]
    pub created_until: Option<Millis>,
    /// Where to go on; from an earlier page's `next`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// The most executions of a page; 100 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(minimum = 1, maximum = 1000))]
    pub limit: Option<usize>,
    /// Whose executions; the header `Onward-Namespace` says the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<onward_core::Namespace>))]
    pub namespace: Option<String>,
}

/// One page of executions.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FoundPage {
    /// What was found: waiting work in the order in which it is claimed, running and delayed work by what happens to it
    /// first, ended work by its end and everything else by its submission, newest first.
    pub executions: Vec<Description>,
    /// How many entries were looked at.
    pub scanned: usize,
    /// Where the next page starts; absent at the end. A page may be short or empty and still have a next one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// How many there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CountOf {
    /// So many.
    pub n: u64,
    /// Whether counting stopped there, so that there may be more.
    pub capped: bool,
}

/// How many executions a namespace has; counting stops at 100,000 of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CountsAnswer {
    /// All of them.
    pub total: CountOf,
    /// Those that wait for a worker.
    pub waiting: CountOf,
    /// Those that ended well.
    pub completed: CountOf,
    /// Those that ended badly.
    pub failed: CountOf,
    /// Those that somebody wanted no more.
    pub cancelled: CountOf,
    /// Those whose time was up.
    pub expired: CountOf,
}

impl SearchQuery {
    /// The filter in it.
    #[must_use]
    pub fn filter(&self) -> FilterFields {
        FilterFields {
            state: self.state,
            lane: self.lane.clone(),
            kind: self.kind.clone(),
            tag: self.tag.clone(),
            created_from: self.created_from,
            created_until: self.created_until,
        }
    }
}

impl FilterFields {
    /// What the engine is told.
    ///
    /// # Errors
    /// When the label is none.
    pub fn into_filter(self) -> Result<FindFilter> {
        let tag = match &self.tag {
            None => None,
            Some(text) => {
                let (key, value) = text.split_once('=').ok_or_else(|| invalid("tag", "is written as key=value"))?;
                Some((key.parse()?, value.parse()?))
            }
        };
        Ok(FindFilter {
            state: self.state,
            lane: self.lane,
            kind: self.kind,
            tag,
            created_from: self.created_from,
            created_until: self.created_until,
        })
    }
}

impl From<Count> for CountOf {
    fn from(count: Count) -> Self {
        Self { n: count.n, capped: count.capped }
    }
}

impl From<Counts> for CountsAnswer {
    fn from(counts: Counts) -> Self {
        Self {
            total: counts.total.into(),
            waiting: counts.waiting.into(),
            completed: counts.completed.into(),
            failed: counts.failed.into(),
            cancelled: counts.cancelled.into(),
            expired: counts.expired.into(),
        }
    }
}

impl From<crate::Found> for FoundPage {
    fn from(found: crate::Found) -> Self {
        Self { executions: found.executions, scanned: found.scanned, next: found.next }
    }
}
