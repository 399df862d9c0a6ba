//! Times that callers choose, and what follows from them for the window of a commit.

use crate::{Millis, Rejection, Span, View, When, limits};

/// The time of a change: by the clock, from which everything counts, and as it is written down, which never goes back.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    pub(crate) now: Millis,
    pub(crate) stamp: Millis,
}

/// The time that a caller chose. What follows from a time being past holds only from that time on, lest a clock that
/// runs ahead lets work run early or refuses a time to come.
pub(crate) fn time(view: &mut View, field: &'static str, when: When, now: Millis) -> Result<Millis, Rejection> {
    let at = match when {
        When::Now => return Ok(now),
        When::After(pause) => now + pause,
        When::At(at) => {
            if at <= now {
                view.not_before(at);
            }
            at
        }
    };
    if at + limits::PAST_GRACE < now {
        view.not_before(at + limits::PAST_GRACE + Span(1));
        return Err(Rejection::TimeInPast { field, ago: now - at });
    }
    if at > now + limits::FUTURE_MAX {
        return Err(Rejection::invalid(field, format!("must be at most {} in the future", limits::FUTURE_MAX)));
    }
    if let When::At(at) = when {
        // A commit that comes later must not happen: a repeat of it would have been refused by then.
        view.not_after(at + limits::PAST_GRACE + Span(1));
    }
    Ok(at)
}

/// The deadline that a caller chose, which must be in the future.
pub(crate) fn deadline(view: &mut View, when: Option<When>, now: Millis) -> Result<Option<Millis>, Rejection> {
    let Some(when) = when else { return Ok(None) };
    let at = time(view, "expires_at", when, now)?;
    if at <= now {
        return Err(Rejection::TimeInPast { field: "expires_at", ago: now - at });
    }
    Ok(Some(at))
}
