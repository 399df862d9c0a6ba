//! Events over HTTP.

use super::invalid;
use crate::Result;
use onward_core::{Event, ExecutionId, Lane, Span, What};
use onward_engine::{EventFilter, Told};
use serde::{Deserialize, Serialize};

/// Which events are wanted, and from where on.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct EventQuery {
    /// Only of this lane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<Lane>,
    /// Only of this execution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<ExecutionId>,
    /// Only these, by their names, separated by commas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(example = "completed,cancelled", pattern = "^[a-z_]+(,[a-z_]+)*$"))]
    pub names: Option<String>,
    /// Only those that end an execution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endings: Option<bool>,
    /// Where to go on: from an earlier event or page. From the oldest event that is kept when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// How long a page without events waits for the first, at most a minute; a stream has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<Span>,
    /// The most events of a page, 100 when absent; a stream has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(minimum = 1, maximum = 1000))]
    pub limit: Option<usize>,
    /// Whose events; the header `Onward-Namespace` says the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<onward_core::Namespace>))]
    pub namespace: Option<String>,
}

/// One event and where to go on after it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EventRow {
    /// What happened; absent where events before were removed or undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<Event>,
    /// Where to go on after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Events before the next one were removed before this reader came, or what it was told last was undone by a server
    /// that lost its last moments.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub gap: bool,
}

/// A page of events.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EventPage {
    /// In order for each execution.
    pub events: Vec<EventRow>,
    /// Where to go on after the last of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

impl EventQuery {
    /// What the engine is told.
    ///
    /// # Errors
    /// When a name is none.
    pub fn filter(&self) -> Result<EventFilter> {
        let names = self.names.as_deref().unwrap_or_default();
        let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
        if let Some(unknown) = names.clone().find(|name| !What::NAMES.contains(name)) {
            let unknown: String = unknown.chars().take(40).collect();
            return Err(invalid("names", &format!("{unknown:?} is no event; known are {}", What::NAMES.join(", "))));
        }
        Ok(EventFilter {
            lane: self.lane.clone(),
            execution: self.execution,
            names: names.map(str::to_owned).collect(),
            endings: self.endings.unwrap_or_default(),
            ..EventFilter::default()
        })
    }
}

impl From<Told> for EventRow {
    fn from(told: Told) -> Self {
        match told {
            Told::Event { event, cursor } => Self { event: Some(event), cursor: Some(cursor), gap: false },
            Told::Gap => Self { event: None, cursor: None, gap: true },
        }
    }
}
