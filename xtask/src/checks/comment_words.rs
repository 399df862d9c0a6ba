//! Comments describe the code as it is: no open ends, no history, no trace of how the work was organised.

use crate::finding::Finding;
use crate::tree::{File, Tree};
use crate::words::find_word;
use std::borrow::Cow;

/// Marks of unfinished work; case matters, since "todo" is also a word of prose.
const MARKS: [&str; 3] = ["TODO", "FIXME", "XXX"];

/// Phrases of history and process, in any case.
const PHRASES: [&str; 6] = ["issue #", "previously", "no longer", "moved from", "session", "sessions"];

/// Banned words in comments of source files.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &tree.files {
        for (index, comment) in comments(file).lines().enumerate() {
            for word in banned(comment) {
                let fix = "state what holds now and why, or do the work";
                findings.push(Finding::new(&file.path, index + 1, format!("`{word}` in a comment"), fix));
            }
        }
    }
    findings
}

/// The comments of a file, on the lines where they stand; empty for files that are no source.
fn comments(file: &File) -> Cow<'_, str> {
    if let Some(source) = &file.source {
        return Cow::Borrowed(&source.comments);
    }
    let mark = match file.name().rsplit('.').next() {
        Some("sh" | "toml" | "yml" | "yaml" | "Makefile" | "run") => "#",
        Some("sql" | "lua") => "--",
        _ => return Cow::Borrowed(""),
    };
    let comment = |line: &str| line.find(mark).map_or("", |at| &line[at..]).to_owned();
    Cow::Owned(file.text.lines().map(comment).collect::<Vec<_>>().join("\n"))
}

fn banned(comment: &str) -> Vec<&'static str> {
    let lower = comment.to_lowercase();
    let marks = MARKS.into_iter().filter(|mark| find_word(comment, mark).is_some());
    let phrases = PHRASES.into_iter().filter(|phrase| find_word(&lower, phrase).is_some());
    marks.chain(phrases).chain(has_numbered_phase(&lower).then_some("phase <number>")).collect()
}

/// A numbered phase belongs to a plan; the phase of a record has a name.
fn has_numbered_phase(lower: &str) -> bool {
    let starts_with_digit = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
    lower.match_indices("phase ").any(|(at, word)| starts_with_digit(&lower[at + word.len()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        let findings = check(&Tree::of(&[(path, text)]));
        findings.into_iter().map(|finding| format!("{}:{}", finding.line, finding.what)).collect()
    }

    #[test]
    fn banned_words_are_found_in_comments() {
        assert_eq!(found("a.rs", "//! A.\nfn a() {} // TODO more"), ["2:`TODO` in a comment"]);
        assert_eq!(found("a.rs", "/* see Issue #12 */"), ["1:`issue #` in a comment"]);
        assert_eq!(found("a.rs", "/// Previously a list, no longer.").len(), 2);
        assert_eq!(found("a.rs", "// Phase 1 and sessions").len(), 2);
    }

    #[test]
    fn code_literals_and_longer_words_pass() {
        let text = "let session = \"TODO\"; // obsession with the waiting phase, to do\nfn previously() {}";
        assert!(found("a.rs", text).is_empty(), "{:?}", found("a.rs", text));
    }

    #[test]
    fn other_source_files_are_searched_by_their_own_marks() {
        assert_eq!(found("Makefile", "a:\n\techo session # FIXME"), ["2:`FIXME` in a comment"]);
        assert_eq!(found("x/schema.sql", "-- moved from b\nSELECT 'session'"), ["1:`moved from` in a comment"]);
        assert_eq!(found("scripts/a.sh", "mktemp XXX.XXXXXX"), Vec::<String>::new());
        assert_eq!(found("README.md", "# No longer slow"), Vec::<String>::new());
    }
}
