//! Errands: going on with work that a commit left over, piece by piece.

use crate::record::{Errand, ErrandKind};
use crate::rules::due::Looked;
use crate::rules::purge;
use crate::{ExecutionId, Key, Millis, PageOf, Stop, View, limits};

/// Does the next piece of an errand whose time has come.
pub(crate) fn go_on(
    view: &mut View,
    (id, kind): (ExecutionId, ErrandKind),
    errand: Errand,
    now: Millis,
) -> Result<Looked, Stop> {
    view.not_before(errand.since);
    match kind {
        ErrandKind::Purge => purge::piece(view, id, errand, now),
    }
}

/// What a look at an index found.
pub(crate) struct Candidates {
    /// Keys whose records exist, in the order of the index.
    pub(crate) keys: Vec<Key>,
    /// Whether it lists records of a kind that this version does not know.
    pub(crate) has_unknown: bool,
}

/// Up to `max` records that an index lists and that exist. Pages are hints: one that names only what is gone is passed by,
/// and finding nothing does not mean that there is nothing.
pub(crate) fn candidates(view: &mut View, index: &str, max: usize) -> Result<Candidates, Stop> {
    let mut found = Candidates { keys: Vec::new(), has_unknown: false };
    let mut page = PageOf { index: index.to_owned(), after: None };
    for _ in 0..limits::PAGES_PER_STEP {
        let listed = view.page(&page)?;
        let looked = &listed[..listed.len().min(max)];
        let known: Vec<Key> = looked.iter().filter_map(|candidate| candidate.key.parse().ok()).collect();
        found.has_unknown |= known.len() < looked.len();
        view.for_each(known, |view, key| {
            if view.get(&key)?.is_some() {
                found.keys.push(key);
            }
            Ok(())
        })?;
        let is_last = looked.len() == listed.len() && listed.len() < limits::CANDIDATES_MAX;
        match looked.last() {
            Some(last) if found.keys.is_empty() && !is_last => page.after = Some(last.clone()),
            _ => break,
        }
    }
    Ok(found)
}
