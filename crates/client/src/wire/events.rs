//! Events over HTTP.

use super::invalid;
use crate::Result;
use onward_core::{Event, ExecutionId, Lane, Span, What};
use onward_engine::{EventFilter, Told};
use serde::{Deserialize, Serialize};

/// Filter and position of a query for events.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct EventQuery {
    /// Only events of this lane.
    pub lane: Option<Lane>,
    /// Only events of this execution.
    pub execution: Option<ExecutionId>,
    /// Only events of these types, separated by commas.
    #[cfg_attr(feature = "openapi", param(example = "completed,cancelled", pattern = "^[a-z_]+(,[a-z_]+)*$"))]
    pub names: Option<String>,
    /// Only events that end an execution.
    pub endings: Option<bool>,
    /// Cursor of the last event or page that was read; the oldest stored event comes first when absent.
    pub cursor: Option<String>,
    /// Maximum wait for the first event of an empty page, up to a minute; not for a stream.
    pub wait: Option<Span>,
    /// Maximum number of events of a page; 100 when absent; not for a stream.
    #[cfg_attr(feature = "openapi", param(minimum = 1, maximum = 1000))]
    pub limit: Option<usize>,
    /// Namespace, for clients that cannot set the header `Onward-Namespace`.
    #[cfg_attr(feature = "openapi", param(value_type = Option<onward_core::Namespace>))]
    pub namespace: Option<String>,
}

/// One event with its cursor, or a gap.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EventRow {
    /// The event; absent for a gap.
    pub event: Option<Event>,
    /// Cursor after this event; absent for a gap.
    pub cursor: Option<String>,
    /// Whether this is a gap: events were removed before they were read, or the store lost the events that were returned
    /// last.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub gap: bool,
}

/// A page of events.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EventPage {
    /// Events, ordered for each execution.
    pub events: Vec<EventRow>,
    /// Cursor after the last event.
    pub cursor: Option<String>,
}

impl EventQuery {
    /// Converts it to the engine's filter.
    ///
    /// # Errors
    /// When an event type is unknown.
    pub fn filter(&self) -> Result<EventFilter> {
        let names = self.names.as_deref().unwrap_or_default();
        let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
        if let Some(unknown) = names.clone().find(|name| !What::NAMES.contains(name)) {
            let unknown: String = unknown.chars().take(40).collect();
            return Err(invalid(
                "names",
                &format!("{unknown:?} is not an event type; the types are {}", What::NAMES.join(", ")),
            ));
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
