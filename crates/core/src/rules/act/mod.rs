//! What operators can do with an execution: one file per act, and one row of the table for what can come of it.

use crate::record::Execution;
use crate::{LeaseId, Millis, Stop, View, What};
use serde::{Deserialize, Serialize, Serializer};

/// One thing that an operator can do with an execution.
pub(crate) trait OperatorAct {
    /// Does it, and answers what happened and what came of it. The caller writes the execution.
    fn act(&self, view: &mut View, execution: &mut Execution, now: Millis) -> Result<(What, ActOutcome), Stop>;
}

/// Makes the table of acts: a module for each, the enum of all acts, and the enum of what can come of them.
macro_rules! acts {
    ($($(#[$about:meta])* $module:ident::$act:ident => {
        $($(#[$outcome_about:meta])* $outcome:ident
            $({ $($(#[$field_about:meta])* $field:ident: $type:ty,)+ })?,)+
    })+) => {
        $(mod $module;)+
        $(pub use $module::$act;)+

        /// What an operator can do with an execution.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        #[serde(tag = "type", rename_all = "snake_case")]
        pub enum Act {
            $($(#[$about])* $act($act),)+
        }

        /// What came of an operator's act.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        #[serde(tag = "type", rename_all = "snake_case")]
        pub enum ActOutcome {
            $($($(#[$outcome_about])* $outcome $({ $($(#[$field_about])* $field: $type,)+ })?,)+)+
        }

        $(impl From<$act> for Act {
            fn from(act: $act) -> Self {
                Self::$act(act)
            }
        })+

        impl Act {
            /// The names of all acts, in the order of the table.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($module),)+];

            /// A short name for traces and metrics.
            #[must_use]
            pub fn name(&self) -> &'static str {
                match self { $(Self::$act(_) => stringify!($module),)+ }
            }

            /// Writes it without its name, for requests that name it apart from their body.
            ///
            /// # Errors
            /// Those of the serializer.
            pub fn serialize_body<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self { $(Self::$act(act) => act.serialize(serializer),)+ }
            }

            /// Whether this can have come of it.
            pub(crate) fn can_answer(&self, outcome: ActOutcome) -> bool {
                match self { $(Self::$act(_) => matches!(outcome, $(ActOutcome::$outcome { .. })|+),)+ }
            }

            pub(crate) fn act(
                &self,
                view: &mut View,
                execution: &mut Execution,
                now: Millis,
            ) -> Result<(What, ActOutcome), Stop> {
                match self { $(Self::$act(act) => act.act(view, execution, now),)+ }
            }
        }

        /// The rows of every act in the (state × command) table.
        #[cfg(test)]
        pub(crate) const ROWS: &[(&str, &[crate::rules::table::Row])] = &[$((stringify!($module), $module::ROWS),)+];
    };
}

acts! {
    /// Cancel it: at once, or after a running attempt had time to stop by itself.
    cancel::Cancel => {
        /// It is cancelled.
        Cancelled,
        /// It was asked to stop, and is cancelled at this time if it has not ended by then.
        StopRequested {
            /// When.
            until: Millis,
        },
    }
    /// Choose when it may run; only while it waits.
    reschedule::Reschedule => {
        /// It becomes ready at this time, or is ready.
        Rescheduled {
            /// When; absent when it is ready.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            until: Option<Millis>,
        },
    }
    /// Choose its place in the queue.
    prioritise::Prioritise => {
        /// Its priority is changed.
        Prioritised {
            /// What it was before.
            before: u16,
        },
    }
    /// Change its labels.
    tag::Tag => {
        /// Its tags are changed.
        Tagged,
    }
    /// Take it away from its worker.
    revoke::Revoke => {
        /// Its lease was taken away.
        Revoked {
            /// The lease.
            lease: LeaseId,
            /// Its epoch.
            epoch: u64,
        },
    }
    /// Run it again after it has ended.
    replay::Replay => {
        /// It runs again.
        Replayed {
            /// How often that was done by now.
            replays: u32,
        },
    }
    /// Remove it with all that belongs to it, after it has ended.
    purge::Purge => {
        /// It is gone, or goes piece by piece.
        Purged,
    }
}
