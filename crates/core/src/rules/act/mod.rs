//! Operator acts on an execution: one file per act, and one row of the table with its outcomes.

use crate::record::Execution;
use crate::{LeaseId, Millis, Stop, View, What};
use serde::{Deserialize, Serialize, Serializer};

/// An operator act.
pub(crate) trait OperatorAct {
    /// Applies the act to the execution; returns the event and the outcome. The caller writes the execution.
    fn act(&self, view: &mut View, execution: &mut Execution, now: Millis) -> Result<(What, ActOutcome), Stop>;
}

/// Declares the acts: a module for each, the enum of all acts, and the enum of their outcomes.
macro_rules! acts {
    ($($(#[$about:meta])* $module:ident::$act:ident => {
        $($(#[$outcome_about:meta])* $outcome:ident
            $({ $($(#[$field_about:meta])* $field:ident: $type:ty,)+ })?,)+
    })+) => {
        $(mod $module;)+
        $(pub use $module::$act;)+

        /// An operator act on an execution.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        #[serde(tag = "type", rename_all = "snake_case")]
        pub enum Act {
            $($(#[$about])* $act($act),)+
        }

        /// Outcome of an operator act.
        #[serde_with::skip_serializing_none]
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

            /// Serializes the act without its `type`, for requests whose path names the act.
            ///
            /// # Errors
            /// Those of the serializer.
            pub fn serialize_body<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self { $(Self::$act(act) => act.serialize(serializer),)+ }
            }

            /// Whether the act can have this outcome.
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
        pub(crate) const ROWS: &[(&str, &[crate::rules::table::Row])] = &[$((stringify!($module), $module::rows::ROWS),)+];
    };
}

acts! {
    /// Cancel the execution: at once, or after a running attempt had time to stop.
    cancel::Cancel => {
        /// The execution is cancelled.
        Cancelled,
        /// The running attempt was asked to stop. The execution is cancelled at `until` if it has not ended by then.
        StopRequested {
            /// End of the grace period.
            until: Millis,
        },
    }
    /// Set the time at which a waiting or delayed execution runs.
    reschedule::Reschedule => {
        /// The execution is ready, or becomes ready at `until`.
        Rescheduled {
            /// Time at which it becomes ready; absent when it is ready.
            until: Option<Millis>,
        },
    }
    /// Set the priority.
    prioritise::Prioritise => {
        /// The priority was changed.
        Prioritised {
            /// Priority before the change.
            before: u16,
        },
    }
    /// Add and remove tags.
    tag::Tag => {
        /// The tags were changed.
        Tagged,
    }
    /// Set or remove the note.
    annotate::Annotate => {
        /// The note was set or removed.
        Annotated,
    }
    /// Revoke the lease of a running execution.
    revoke::Revoke => {
        /// The lease was revoked.
        Revoked {
            /// Id of the revoked lease.
            lease: LeaseId,
            /// Epoch of the revoked lease.
            epoch: u64,
        },
    }
    /// Hold an execution: no worker gets it until it is resumed.
    pause::Pause => {
        /// The execution is held.
        Paused,
    }
    /// Resume an execution that is held or suspended.
    resume::Resume => {
        /// The execution goes on, or does at `until`.
        Resumed {
            /// Time at which it goes on; absent when it does at once.
            until: Option<Millis>,
        },
    }
    /// End a wait of a suspended execution without a signal.
    close_wait::CloseWait => {
        /// The wait is over.
        WaitClosed {
            /// Whether the execution goes on because of it.
            resumed: bool,
        },
    }
    /// Run an ended execution again.
    replay::Replay => {
        /// The execution is ready to run again.
        Replayed {
            /// Number of replays so far, including this one.
            replays: u32,
        },
    }
    /// Remove an ended execution and all its data.
    purge::Purge => {
        /// The execution is removed, or its removal has begun.
        Purged,
    }
}
