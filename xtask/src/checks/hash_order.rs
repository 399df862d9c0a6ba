//! Equal seeds give equal runs, so nothing that a run is made of may iterate in the random order of a hasher.

use crate::finding::Finding;
use crate::tree::Tree;
use crate::words::find_word;

/// What a simulated run consists of: the rules, the engine and the simulator itself.
const FOLDERS: [&str; 3] = ["crates/core/src/", "crates/engine/src/", "crates/sim/src/"];

/// The one place that may hold such a collection: it can be asked and not walked through.
const ASKED_ONLY: &str = "crates/engine/src/lookup.rs";

/// Collections in hash order, their modules, and the source of their randomness.
const WORDS: [&str; 5] = ["HashMap", "HashSet", "hash_map", "hash_set", "RandomState"];

/// Collections in hash order where a run must repeat exactly, tests included: a helper there soon moves.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let simulated = tree
        .rust()
        .filter(|(file, _)| file.path != ASKED_ONLY && FOLDERS.iter().any(|folder| file.path.starts_with(folder)));
    for (file, source) in simulated {
        for (number, _, line) in source.code_lines() {
            if let Some(word) = WORDS.iter().find(|word| find_word(line, word).is_some()) {
                let what = format!("`{word}` iterates in an order that differs from run to run");
                findings.push(Finding::new(
                    &file.path,
                    number,
                    what,
                    "use `BTreeMap`, `BTreeSet` or the engine's `Lookup`",
                ));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<usize> {
        check(&Tree::of(&[(path, text)])).into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn hashed_collections_fail_where_runs_repeat() {
        let text = "use std::collections::{BTreeMap, HashMap};\nlet a: HashSet<u8>;\nhash_map::Entry\n";
        for path in ["crates/core/src/a.rs", "crates/engine/src/a/b.rs", "crates/sim/src/a.rs"] {
            assert_eq!(found(path, text), [1, 2, 3], "{path}");
        }
        for path in [ASKED_ONLY, "crates/store/src/a.rs", "crates/cli/src/a.rs", "crates/engine/tests/a.rs"] {
            assert!(found(path, text).is_empty(), "{path}");
        }
    }

    #[test]
    fn ordered_collections_comments_and_literals_pass() {
        let text = "// no HashMap here\nuse std::collections::BTreeMap;\nf(\"HashSet\", NoHashMapAtAll)";
        assert!(found("crates/engine/src/a.rs", text).is_empty());
    }

    #[test]
    fn the_message_says_why_and_what_instead() {
        let findings = check(&Tree::of(&[("crates/sim/src/a.rs", "HashMap")]));
        let expected = "crates/sim/src/a.rs:1: `HashMap` iterates in an order that differs from run to run; \
                        use `BTreeMap`, `BTreeSet` or the engine's `Lookup`";
        assert_eq!(super::super::lines(&findings), [expected]);
    }
}
