//! How ranks and places are written in the columns of any SQL database, whose integers have a sign.

use crate::{Entry, IndexName, IndexPlace};

/// The name that the rows of due times have; no index can have it.
pub(crate) const DUE: &str = "";

const SIGN: u64 = 1 << 63;

/// A rank as a signed integer with the same order.
#[allow(clippy::cast_possible_wrap)]
pub(crate) fn rank_to_sql(rank: u64) -> i64 {
    (rank ^ SIGN) as i64
}

/// The rank that was written.
#[allow(clippy::cast_sign_loss)]
pub(crate) fn rank_from_sql(rank: i64) -> u64 {
    (rank as u64) ^ SIGN
}

/// A number that is never beyond what a column can hold.
pub(crate) fn clamp(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The name and rank under which a place is a row.
pub(crate) fn named(place: &IndexPlace) -> (&str, i64) {
    match place {
        IndexPlace::Entry(entry) => (entry.name.as_str(), rank_to_sql(entry.rank)),
        IndexPlace::Due(due) => (DUE, rank_to_sql(*due)),
    }
}

/// The place of a row.
pub(crate) fn place(name: &str, rank: i64) -> IndexPlace {
    match name {
        DUE => IndexPlace::Due(rank_from_sql(rank)),
        name => IndexPlace::Entry(Entry { name: IndexName::new(name), rank: rank_from_sql(rank) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_keep_their_order() {
        let ranks = [0, 1, SIGN - 1, SIGN, SIGN + 1, u64::MAX];
        for pair in ranks.windows(2) {
            assert!(rank_to_sql(pair[0]) < rank_to_sql(pair[1]), "{pair:?}");
        }
        for rank in ranks {
            assert_eq!(rank_from_sql(rank_to_sql(rank)), rank);
        }
    }

    #[test]
    fn places_survive_their_row() {
        let entry = Entry { name: IndexName::new("a"), rank: u64::MAX };
        for one in [IndexPlace::Entry(entry), IndexPlace::Due(0), IndexPlace::Due(u64::MAX)] {
            let (name, rank) = named(&one);
            assert_eq!(place(name, rank), one);
        }
    }
}
