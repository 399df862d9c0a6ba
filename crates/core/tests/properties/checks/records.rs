//! The invariants of every record: its index entries, its due time, and that it agrees with the records beside it.

use super::Change;
use crate::world::World;
use onward_core::record::Record;
use onward_core::{Command, Key, Looked, Reply, audit, index};

/// What was done at a due time is not due at that time any more: nothing stays at the head of the index for ever.
pub(super) fn due_times(change: &Change<'_>) {
    let (Command::Due(due), Ok(Reply::Due(Looked { acted: true, .. }))) = (change.command, &change.done.result) else {
        return;
    };
    let at = |world: &World| world.record(&due.key).and_then(index::due);
    let (before, after) = (at(change.before), at(change.after));
    let leaving = change.changed().all(|(_, execution)| execution.is_purging());
    let ahead = after > before || after > Some(change.after.now);
    assert!(after.is_none() || ahead || leaving, "{} was due at {before:?} and is at {after:?}", due.key);
}

/// An index that follows the writes alone equals the one that is rebuilt from all records.
pub(super) fn indexes(change: &Change<'_>) {
    let rebuilt =
        change.after.records.iter().map(|(key, record)| (key, index::entries(key, record), index::due(record)));
    let followed = change.history.index.iter().map(|(key, (entries, due))| (key, entries.clone(), *due));
    assert!(rebuilt.eq(followed), "an index differs from its records");
    for key in &change.done.step.writes {
        let Some(record) = change.after.record(key) else { continue };
        let mut names: Vec<String> = index::entries(key, record).into_iter().map(|entry| entry.name).collect();
        assert!(names.iter().all(|name| !name.is_empty() && name.len() <= 200), "{names:?}");
        names.sort();
        let listed = names.len();
        names.dedup();
        assert_eq!(names.len(), listed, "{key} is listed twice in one index");
    }
}

/// Records agree with those beside them, so that an audit of a healthy store finds nothing to mend.
pub(super) fn agreement(change: &Change<'_>) {
    let records = &change.after.records;
    for (key, record) in records.iter().filter(|(key, _)| !matches!(key, Key::Dead(..))) {
        let presumed = audit::presumes(key, record);
        let beside = |key: &Key| presumed.contains(key).then(|| records.get(key).map(|record| &**record)).flatten();
        let verdicts = audit::judge(key, record, change.after.now, beside);
        assert!(verdicts.is_empty() || matches!(**record, Record::Unreadable(_)), "{key}: {verdicts:?}");
    }
}
