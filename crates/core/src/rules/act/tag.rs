//! Changing the tags of an execution, all or none; an ended execution can be tagged too.

use super::{ActOutcome, OperatorAct};
use crate::record::Execution;
use crate::text::or_default;
use crate::{Millis, Rejection, Stop, TagKey, TagValue, View, What, limits};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Changes the tags of an execution.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = TagRequest))]
#[serde(deny_unknown_fields, default)]
pub struct Tag {
    /// Tags to add or replace.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<TagKey, TagValue>,
    /// Keys of tags to remove.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "BTreeSet::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<TagKey>))]
    pub remove: BTreeSet<TagKey>,
}

impl OperatorAct for Tag {
    fn act(&self, _: &mut View, execution: &mut Execution, now: Millis) -> Result<(What, ActOutcome), Stop> {
        if let Some(key) = self.set.keys().find(|key| self.remove.contains(*key)) {
            return Err(Rejection::invalid("tags", format!("{key} is both set and removed")).into());
        }
        execution.tags.retain(|key, _| !self.remove.contains(key));
        execution.tags.extend(self.set.iter().map(|(key, value)| (key.clone(), value.clone())));
        if execution.tags.len() > limits::TAGS_MAX {
            let why = format!("must be at most {}, would be {}", limits::TAGS_MAX, execution.tags.len());
            return Err(Rejection::invalid("tags", why).into());
        }
        execution.changed_at = execution.stamp(now);
        Ok((What::TagsChanged, ActOutcome::Tagged))
    }
}

#[cfg(test)]
pub(crate) mod rows {
    use crate::rules::table::Row;
    use crate::rules::world::make::{self, id};

    /// Rows of the (state × command) table.
    #[rustfmt::skip]
    pub(crate) const ROWS: &[Row] = &[
        Row::new("tag", |_, _| make::operate(61, id(1), make::tag(&[("a", "b")], &[])), &[
            ("execution_not_found", "Absent"),
            ("execution_purged", "Stub"),
            ("stays", "*"),
        ]),
    ];
}
