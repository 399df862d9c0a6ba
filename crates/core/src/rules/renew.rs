//! Extending a lease: nothing but its end changes, and nobody is told.

use crate::record::{Record, State};
use crate::rules::fence::{self, Owner};
use crate::{Key, Millis, Rejection, Renew, Renewed, Reply, Stop, View, limits};

pub(crate) fn renew(view: &mut View, renew: &Renew, now: Millis) -> Result<Reply, Stop> {
    if !(limits::LEASE_MIN..=limits::LEASE_MAX).contains(&renew.ttl) {
        let why = format!("is {} to {}, not {}", limits::LEASE_MIN, limits::LEASE_MAX, renew.ttl);
        return Err(Rejection::invalid("lease", why).into());
    }
    let Owner::Holds(mut execution, mut active, stamp) = fence::owner(view, &renew.fence, None, now)? else {
        // Without a command id nothing can be a repeat.
        return Err(fence::other_use());
    };
    let stop = active.stop.clone();
    let expires_at = active.lease.expires_at.max(now + renew.ttl);
    if expires_at > active.lease.expires_at {
        active.lease.expires_at = expires_at;
        execution.changed_at = stamp;
        execution.state = State::Active(active);
        view.put(Key::Execution(execution.id), Record::Execution(*execution))?;
    }
    Ok(Reply::Renewed(Renewed { expires_at, stop }))
}
