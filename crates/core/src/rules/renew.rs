//! Extending a lease: only its end changes, and no event is written.

use crate::record::{Record, State, StopRequest};
use crate::rules::fence::{self, Owner, fenced};
use crate::{Fence, Key, Millis, Span, Stop, Verb, View, limits};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Extends a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Renew {
    /// Whose lease.
    pub fence: Fence,
    /// How long it lasts from now.
    pub ttl: Span,
}

/// State of a lease.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Leased))]
pub struct Renewed {
    /// Time at which the lease expires.
    pub expires_at: Millis,
    /// Set once the attempt was asked to stop.
    pub stop: Option<StopRequest>,
}

fenced!(Renew);

impl Verb for Renew {
    type Reply = Renewed;

    fenced!(keys);

    fn run(&self, view: &mut View, now: Millis) -> Result<Renewed, Stop> {
        limits::check_lease(self.ttl)?;
        let Owner::Holds(mut execution, mut active, stamp) = fence::owner(view, &self.fence, None, now)? else {
            // Without a command id nothing can be a repeat.
            return Err(fence::other_use());
        };
        let stop = active.stop.clone();
        let expires_at = active.lease.expires_at.max(now + self.ttl);
        if expires_at > active.lease.expires_at {
            // One that would be over when it is written is none.
            view.not_after(expires_at);
            active.lease.expires_at = expires_at;
            let changed = Arc::make_mut(&mut execution);
            changed.changed_at = stamp;
            changed.state = State::Active(active);
            view.put(Key::Execution(execution.id), Record::Execution(execution))?;
        }
        Ok(Renewed { expires_at, stop })
    }
}

#[cfg(test)]
pub(crate) mod rows {
    use crate::rules::table::Row;
    use crate::rules::world::make::{self, TTL};

    /// Rows of the (state × command) table.
    #[rustfmt::skip]
    pub(crate) const ROWS: &[Row] = &[
        Row::fenced("renew", |_, fence| make::renew(fence, TTL), &[
            ("stays", "ActiveMine ActiveResumed ActiveAsked ActiveStopOver"),
            ("→ ActiveMine", "ActiveLapsed"),
        ]),
    ];
}
