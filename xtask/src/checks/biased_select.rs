//! A `select!` looks at its branches in a random order unless it is told otherwise, and then equal seeds give unequal
//! runs.

use crate::finding::Finding;
use crate::rust::close_of;
use crate::tree::Tree;
use crate::words::find_word;

/// What runs inside a simulation.
const FOLDERS: [&str; 3] = ["crates/engine/src/", "crates/client/src/", "crates/sim/src/"];

const MACRO: &str = "select!";

/// Uses of `select!` whose first word is not `biased`.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let simulated = tree.rust().filter(|(file, _)| FOLDERS.iter().any(|folder| file.path.starts_with(folder)));
    for (file, source) in simulated {
        for at in unbiased(&source.code) {
            let fix = "begin it with `biased;` and put the branch that must win first";
            let what = "a `select!` that draws the order of its branches";
            findings.push(Finding::new(&file.path, source.line_of(at), what, fix));
        }
    }
    findings
}

/// Where the macro is called without `biased;` at its beginning.
fn unbiased(code: &str) -> Vec<usize> {
    let (mut found, mut from) = (Vec::new(), 0);
    while let Some(at) = find_word(&code[from..], MACRO).map(|offset| from + offset) {
        from = at + MACRO.len();
        let Some(open) = code[from..].find(['{', '(', '[']).map(|offset| from + offset) else { break };
        let body = code[open + 1..close_of(code, open)].trim_start();
        let is_biased = body.strip_prefix("biased").is_some_and(|rest| rest.trim_start().starts_with(';'));
        if code[from..open].trim().is_empty() && !is_biased {
            found.push(at);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<usize> {
        check(&Tree::of(&[(path, text)])).into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_select_without_an_order_fails() {
        let text =
            "tokio::select! { a = b => {} }\nselect! {\n    // biased;\n    a = biased() => {}\n}\nselect!(a = b => c)";
        for path in ["crates/engine/src/a.rs", "crates/client/src/a/b.rs", "crates/sim/src/a.rs"] {
            assert_eq!(found(path, text), [1, 2, 6], "{path}");
        }
        assert!(found("crates/cli/src/a.rs", text).is_empty());
    }

    #[test]
    fn a_select_with_an_order_passes() {
        let text =
            "select! { biased; a = b => {} }\ntokio::select! {\n    // The stop wins.\n    biased;\n    a = b => {}\n}";
        assert!(found("crates/engine/src/a.rs", text).is_empty());
    }

    #[test]
    fn examples_in_comments_and_relatives_pass() {
        let text = "/// tokio::select! { a = b => {} }\nselect_all(x); f(\"select! {}\"); my_select! { a }\nuse tokio::select;";
        assert!(found("crates/client/src/a.rs", text).is_empty());
    }

    #[test]
    fn code_that_ends_early_is_no_reason_to_panic() {
        assert!(found("crates/sim/src/a.rs", "select!").is_empty());
        assert_eq!(found("crates/sim/src/a.rs", "select! {"), [1]);
    }
}
