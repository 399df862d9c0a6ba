//! A store knows keys, bytes, versions and ranks; a domain word in it means that a rule has slipped in.

use crate::finding::Finding;
use crate::tree::Tree;
use crate::words::split_words;

const FOLDER: &str = "crates/store/src/";

/// Words of the domain that have no second meaning in a store. Words such as task, message, step, frame, stream and
/// signal are missing since SQL, tokio and operating systems use them too.
const WORDS: &[&str] = &[
    "attempt",
    "budget",
    "capability",
    "cron",
    "execution",
    "flow",
    "lane",
    "lease",
    "namespace",
    "quota",
    "suspension",
    "tenant",
    "waitpoint",
    "worker",
    "workflow",
];

/// Neighbouring words that mean the domain only together.
const PAIRS: &[(&str, &str)] =
    &[("edge", "group"), ("retry", "policy"), ("retry", "policies"), ("retry", "budget"), ("idempotency", "key")];

/// Domain words in code, comments, strings and schema files of the store.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|file| file.path.starts_with(FOLDER)) {
        for (number, line) in file.lines() {
            for word in domain_words(line) {
                let what = format!("domain word `{word}` in the store");
                let fix = "say it with keys, records, versions and ranks, or move the rule to core";
                findings.push(Finding::new(&file.path, number, what, fix));
            }
        }
    }
    findings
}

fn domain_words(line: &str) -> Vec<String> {
    let words = split_words(line);
    let single = words.iter().filter(|word| WORDS.contains(&singular(word).as_str())).cloned();
    let pairs = words.windows(2).filter(|pair| PAIRS.contains(&(pair[0].as_str(), singular(&pair[1]).as_str())));
    let mut found: Vec<_> = single.chain(pairs.map(|pair| pair.join(" "))).collect();
    found.sort();
    found.dedup();
    found
}

/// The form of a word that stands in the list: leases and leased are lease, capabilities are capability.
fn singular(word: &str) -> String {
    if let Some(stem) = word.strip_suffix("ies") {
        return format!("{stem}y");
    }
    let stem = word.strip_suffix('s').unwrap_or(word);
    if stem == "leased" { "lease".to_owned() } else { stem.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domain_words_are_found_in_every_spelling() {
        assert_eq!(domain_words("// The lease of an execution"), ["execution", "lease"]);
        assert_eq!(domain_words("struct FlowId; fn lane_limit() {} LEASES_MAX"), ["flow", "lane", "leases"]);
        assert_eq!(domain_words("CREATE VIEW attempts; RetryPolicy"), ["attempts", "retry policy"]);
        assert_eq!(domain_words("capabilities of leased Workers"), ["capabilities", "leased", "workers"]);
    }

    #[test]
    fn words_that_merely_contain_them_pass() {
        let line = "release overflow plane execute retry busy policy please Workerless streams task planes flowing";
        assert!(domain_words(line).is_empty(), "{:?}", domain_words(line));
    }

    #[test]
    fn only_the_store_is_searched_and_its_schema_too() {
        let tree = Tree::of(&[
            ("crates/store/src/sqlite/schema.sql", "-- one\nCREATE VIEW flows"),
            ("crates/engine/src/a.rs", "lease"),
            ("crates/store/tests/a.rs", "lease"),
        ]);
        let lines = super::super::lines(&check(&tree));
        assert_eq!(lines.len(), 1);
        assert!(lines[0].starts_with("crates/store/src/sqlite/schema.sql:2: domain word `flows`"), "{lines:?}");
    }
}
