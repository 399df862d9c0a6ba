//! The invariant of the pages of history: together with the record they tell what was told.

use super::Change;
use onward_core::record::Record;
use onward_core::{Key, limits};

/// What an execution remembers of itself is what was told about it, in full pages and a rest.
pub(super) fn histories(change: &Change<'_>) {
    for (_, execution) in change.whole() {
        let mut remembered = Vec::new();
        for page in 0..execution.pages {
            let Some(Record::History(page)) = change.after.record(&Key::History(execution.id, page)) else {
                panic!("page {page} of {} is missing", execution.id)
            };
            assert_eq!(page.transitions.len(), limits::HISTORY_PAGE, "pages are full");
            remembered.extend(page.transitions.iter());
        }
        assert!((1..=limits::HISTORY_PAGE).contains(&execution.history.len()));
        remembered.extend(&execution.history);
        let told = &change.story(execution.id).told;
        assert!(remembered.len() == told.len() && remembered.iter().zip(told).all(|(one, other)| *one == other));
    }
}
