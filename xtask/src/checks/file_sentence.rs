//! Every Rust file opens with a sentence that says what the file answers.

use crate::finding::Finding;
use crate::tree::Tree;

/// Rust files without an opening sentence.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let wrong = tree.rust().filter_map(|(file, _)| problem(&file.text).map(|what| (file, what)));
    let fix = "open the file with `//! ` and one sentence saying what it answers";
    wrong.map(|(file, what)| Finding::new(&file.path, 1, what, fix)).collect()
}

fn problem(text: &str) -> Option<&'static str> {
    let paragraph: Vec<_> = text.lines().map_while(|line| line.strip_prefix("//! ")).collect();
    match (paragraph.first(), paragraph.last()) {
        (Some(first), Some(last)) => {
            if first.starts_with(|c: char| c.is_lowercase()) || first.starts_with('#') {
                Some("the first line does not begin a sentence")
            } else if !last.trim_end().ends_with(['.', ':', '?', '!']) {
                Some("the first paragraph does not end a sentence")
            } else {
                None
            }
        }
        _ => Some("the first line is not a `//!` sentence"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_may_wrap() {
        for text in ["//! One.\n", "//! One that\n//! wraps.\n//!\n//! More\nfn a() {}", "//! `x` is it:\n"] {
            assert_eq!(problem(text), None, "{text}");
        }
    }

    #[test]
    fn anything_else_first_fails() {
        let samples =
            ["", "\n//! Late.\n", "fn a() {}\n//! Late.", "//! no end", "//! small.", "//!", "// One.", "//! # A."];
        for text in samples {
            assert!(problem(text).is_some(), "{text}");
        }
    }
}
