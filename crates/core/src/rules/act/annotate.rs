//! Setting the note of an execution; an ended execution can have one too.

use super::{ActOutcome, OperatorAct};
use crate::record::Execution;
use crate::text::or_default;
use crate::{Millis, Rejection, Stop, View, What, limits};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Sets or removes the note of an execution.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = AnnotateRequest))]
#[serde(deny_unknown_fields)]
pub struct Annotate {
    /// Note for people, at most 1,024 bytes. It replaces the earlier note; an empty one removes it.
    #[serde(deserialize_with = "or_default")]
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub note: Arc<str>,
}

impl OperatorAct for Annotate {
    fn act(&self, _: &mut View, execution: &mut Execution, now: Millis) -> Result<(What, ActOutcome), Stop> {
        let (max, found) = (limits::NOTE_BYTES_MAX, self.note.len());
        if found > max {
            return Err(Rejection::invalid("note", format!("must have at most {max} bytes, has {found}")).into());
        }
        execution.note = Some(self.note.clone()).filter(|note| !note.is_empty());
        execution.changed_at = execution.stamp(now);
        Ok((What::Annotated { note: self.note.clone() }, ActOutcome::Annotated))
    }
}

#[cfg(test)]
pub(crate) mod rows {
    use super::*;
    use crate::rules::table::Row;
    use crate::rules::world::make::{self, id};

    /// Rows of the (state × command) table.
    #[rustfmt::skip]
    pub(crate) const ROWS: &[Row] = &[
        Row::new("annotate", |_, _| make::operate(61, id(1), Annotate { note: "wait for Ada".into() }.into()), &[
            ("execution_not_found", "Absent"),
            ("execution_purged", "Stub"),
            ("stays", "*"),
        ]),
        Row::new("annotate (repeat)", |_, _| make::operate(41, id(1), Annotate { note: "wait for Ada".into() }.into()), &[
            ("execution_not_found", "Absent"),
            ("invalid_argument", "ReadyReplay DelayedOperator ActiveAsked ActiveStopOver Held Stub"),
            ("stays", "*"),
        ]),
    ];
}
