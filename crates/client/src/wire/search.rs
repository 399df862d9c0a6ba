//! Searching and counting executions over HTTP.

use super::invalid;
use crate::{Description, Error, Result};
use onward_core::record::PublicState;
use onward_core::{Kind, Lane, Millis};
use onward_engine::{Counts, FindFilter};
use onward_store::Count;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// Filter for executions; absent fields match everything.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct FilterFields {
    /// Only executions in one of these states, separated by commas.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, example = "failed,expired", pattern = "^[a-z]+(,[a-z]+)*$"))]
    pub state: Option<States>,
    /// Only executions of this lane.
    pub lane: Option<Lane>,
    /// Only executions of this kind.
    pub kind: Option<Kind>,
    /// Only executions with this tag, as `key=value`.
    #[cfg_attr(
        feature = "openapi",
        schema(example = "customer=42", pattern = "^[A-Za-z0-9._-]{1,64}=[A-Za-z0-9._-]{1,64}$")
    )]
    pub tag: Option<String>,
    /// Only executions submitted at this time or later.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<onward_core::openapi::Time>))]
    pub created_from: Option<Millis>,
    /// Only executions submitted before this time.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<onward_core::openapi::Time>))]
    pub created_until: Option<Millis>,
}

/// Query parameters of a search.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct SearchQuery {
    /// Only executions in one of these states, separated by commas.
    #[cfg_attr(feature = "openapi", param(value_type = Option<String>, example = "failed,expired", pattern = "^[a-z]+(,[a-z]+)*$"))]
    pub state: Option<States>,
    /// Only executions of this lane.
    pub lane: Option<Lane>,
    /// Only executions of this kind.
    pub kind: Option<Kind>,
    /// Only executions with this tag, as `key=value`.
    #[cfg_attr(
        feature = "openapi",
        param(example = "customer=42", pattern = "^[A-Za-z0-9._-]{1,64}=[A-Za-z0-9._-]{1,64}$")
    )]
    pub tag: Option<String>,
    /// Only executions submitted at this time or later.
    #[cfg_attr(feature = "openapi", param(value_type = Option<onward_core::openapi::Time>))]
    pub created_from: Option<Millis>,
    /// Only executions submitted before this time.
    #[cfg_attr(feature = "openapi", param(value_type = Option<onward_core::openapi::Time>))]
    pub created_until: Option<Millis>,
    /// Start of this page: `next` of the page before; the first page when absent.
    pub cursor: Option<String>,
    /// Maximum number of executions of a page; 100 when absent.
    #[cfg_attr(feature = "openapi", param(minimum = 1, maximum = 1000))]
    pub limit: Option<usize>,
    /// Namespace, for clients that cannot set the header `Onward-Namespace`.
    #[cfg_attr(feature = "openapi", param(value_type = Option<onward_core::Namespace>))]
    pub namespace: Option<String>,
}

/// States of executions; their text separates them by commas.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct States(pub BTreeSet<PublicState>);

impl FromStr for States {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let known = || PublicState::ALL.iter().map(|state| state.as_str()).collect::<Vec<_>>().join(", ");
        let state = |word: &str| {
            let unknown = || invalid("state", &format!("{word:?} is not a state; the states are {}", known()));
            PublicState::named(word).ok_or_else(unknown)
        };
        Ok(Self(text.split(',').map(state).collect::<Result<_>>()?))
    }
}

impl fmt::Display for States {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.iter().map(|state| state.as_str()).collect::<Vec<_>>().join(","))
    }
}

impl Serialize for States {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for States {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

/// One page of executions.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FoundPage {
    /// Executions that match. The order depends on the filter: waiting executions in the order of claims, active ones by
    /// their next due time, delayed ones by the time they wait for, ended ones by their end, newest first, and all others by their submission,
    /// newest first, also those of several states of which not all are ends.
    pub executions: Vec<Description>,
    /// Number of index entries of this namespace that were read.
    pub scanned: usize,
    /// Cursor of the next page; absent on the last page. A short or empty page can have a next page.
    pub next: Option<String>,
}

/// A count with an upper limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CountOf {
    /// Number of executions counted.
    pub n: u64,
    /// Whether counting stopped at `n`, so that there may be more.
    pub capped: bool,
}

/// Number of executions of a namespace by state; each is counted up to 100,000.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CountsAnswer {
    /// All executions.
    pub total: CountOf,
    /// Executions that are waiting for a worker.
    pub waiting: CountOf,
    /// Delayed executions.
    pub delayed: CountOf,
    /// Executions that wait for signals or an operator.
    #[serde(default)]
    pub suspended: CountOf,
    /// Executions that a worker runs.
    pub active: CountOf,
    /// Completed executions.
    pub completed: CountOf,
    /// Failed executions.
    pub failed: CountOf,
    /// Cancelled executions.
    pub cancelled: CountOf,
    /// Expired executions.
    pub expired: CountOf,
}

impl SearchQuery {
    /// The filter of the query.
    #[must_use]
    pub fn filter(&self) -> FilterFields {
        FilterFields {
            state: self.state.clone(),
            lane: self.lane.clone(),
            kind: self.kind.clone(),
            tag: self.tag.clone(),
            created_from: self.created_from,
            created_until: self.created_until,
        }
    }
}

impl FilterFields {
    /// Converts it to the engine's filter.
    ///
    /// # Errors
    /// When the tag is malformed.
    pub fn into_filter(self) -> Result<FindFilter> {
        let tag = match &self.tag {
            None => None,
            Some(text) => {
                let (key, value) =
                    text.split_once('=').ok_or_else(|| invalid("tag", "must be written as key=value"))?;
                Some((key.parse()?, value.parse()?))
            }
        };
        Ok(FindFilter {
            states: self.state.unwrap_or_default().0,
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
            delayed: counts.delayed.into(),
            suspended: counts.suspended.into(),
            active: counts.active.into(),
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
