//! The only entry point of the rules.

use crate::{Millis, Stop, Verb, View};

/// Runs one command against the records at hand.
///
/// A refused or stopped command leaves no write behind; what it read and the window it relied on stay in the view,
/// because a refusal must be as true as an acceptance when it is answered.
///
/// # Errors
/// [`Stop::Refuse`] with the reason, or [`Stop::Need`] with the keys of records that must be loaded first.
pub fn apply<V: Verb>(view: &mut View, verb: &V, now: Millis) -> Result<V::Reply, Stop> {
    view.begin(verb.actor());
    let result = verb.run(view, now);
    if result.is_err() {
        view.undo();
    }
    result
}
