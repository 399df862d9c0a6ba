//! How a worker ends its lease: one file per end, and the table of them.

use crate::record::{Active, Execution};
use crate::rules::fence::Earlier;
use crate::rules::times::Moment;
use crate::{CommandId, Reported, Stop, View, What};

/// A running attempt whose lease ends, and the call that ends it.
pub(crate) struct Ending<'a> {
    pub(crate) execution: &'a mut Execution,
    pub(crate) active: Active,
    pub(crate) command: CommandId,
    pub(crate) at: Moment,
}

/// One way in which a worker ends its lease.
pub(crate) trait LeaseEnd {
    /// The answer to a call that did its work before; `None` when that was something else.
    fn answered(&self, earlier: &Earlier) -> Option<Reported>;

    /// Ends the lease, and answers what happened and what follows. The caller writes the execution.
    fn end(&self, view: &mut View, ending: Ending<'_>) -> Result<(What, Reported), Stop>;
}

/// Makes the table of ends: a module for each, and the enum of all of them.
macro_rules! ends {
    ($($(#[$about:meta])* $module:ident::$end:ident,)+) => {
        $(pub(crate) mod $module;)+
        $(pub use $module::$end;)+

        /// How a worker ends its lease.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum End {
            $($(#[$about])* $end($end),)+
        }

        $(impl From<$end> for End {
            fn from(end: $end) -> Self {
                Self::$end(end)
            }
        })+

        impl End {
            /// The names of all ends, in the order of the table.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($module),)+];

            /// A short name for traces and metrics.
            #[must_use]
            pub fn name(&self) -> &'static str {
                match self { $(Self::$end(_) => stringify!($module),)+ }
            }

            pub(crate) fn rule(&self) -> &dyn LeaseEnd {
                match self { $(Self::$end(end) => end,)+ }
            }
        }

        /// The rows of every end in the (state × command) table.
        #[cfg(test)]
        pub(crate) const ROWS: &[(&str, &[crate::rules::table::Row])] = &[$((stringify!($module), $module::rows::ROWS),)+];
    };
}

ends! {
    /// The execution is completed, with this result.
    complete::Complete,
    /// The attempt failed; the policy decides what follows.
    fail::Fail,
    /// The same attempt goes on later.
    delay::Delay,
    /// The work is not wanted any more: the execution is cancelled.
    cancel::Cancel,
    /// The execution becomes ready for another worker.
    unclaim::Unclaim,
}
