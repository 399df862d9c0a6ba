//! Extending a lease: only its end changes, and no event is written.

use crate::record::{Record, State, StopRequest};
use crate::rules::fence::{self, Owner, fenced};
use crate::rules::lease;
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
        let Owner::Holds(mut execution, mut active) = fence::owner(view, &self.fence, None, now)? else {
            // Without a command id nothing can be a repeat.
            return Err(fence::other_use());
        };
        let mut changed = lease::set_back(view, &mut active, now);
        let expires_at = now + self.ttl;
        if expires_at > active.lease.expires_at {
            // One that would be over when it is written is none.
            view.not_after(expires_at);
            (active.lease.expires_at, active.lease.ttl) = (expires_at, self.ttl);
            changed = true;
        }
        let renewed = Renewed { expires_at: active.lease.expires_at, stop: active.stop.clone() };
        if changed {
            let running = Arc::make_mut(&mut execution);
            running.changed_at = running.stamp(now);
            running.state = State::Active(active);
            view.put(Key::Execution(execution.id), Record::Execution(execution))?;
        }
        Ok(renewed)
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
