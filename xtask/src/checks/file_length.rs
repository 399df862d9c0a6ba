//! Files stay short enough to be read in one sitting.

use crate::finding::Finding;
use crate::tree::Tree;

/// A longer file fails.
const LINES_MAX: usize = 800;

/// A longer file is worth a look.
const LINES_NOTED: usize = 400;

const FIX: &str = "split it by what its parts answer";

/// Rust files that are too long.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    long_files(tree, LINES_MAX, usize::MAX)
}

/// Rust files that are long but allowed.
pub(crate) fn notes(tree: &Tree) -> Vec<Finding> {
    long_files(tree, LINES_NOTED, LINES_MAX)
}

fn long_files(tree: &Tree, above: usize, to: usize) -> Vec<Finding> {
    let lengths = tree.rust().map(|(file, _)| (file, file.text.lines().count()));
    let long = lengths.filter(|(_, lines)| *lines > above && *lines <= to);
    long.map(|(file, lines)| Finding::new(&file.path, above + 1, format!("{lines} lines, above {above}"), FIX))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_is_noted_then_refused() {
        let of = |lines: usize| Tree::of(&[("a.rs", &"x\n".repeat(lines)), ("a.md", &"x\n".repeat(5_000))]);
        let found = |lines: usize| (notes(&of(lines)).len(), check(&of(lines)).len());
        assert_eq!([found(400), found(401), found(800), found(801)], [(0, 0), (1, 0), (1, 0), (0, 1)]);
    }
}
