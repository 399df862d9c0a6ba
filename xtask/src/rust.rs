//! Rust source as a check sees it: code without comments and literals, comments alone, functions and test code.

mod items;
mod mask;

pub(crate) use items::{Function, close_of, functions};

use mask::mask;
use std::ops::Range;

/// A scanned file. `code` and `comments` have the same length and line breaks as the text, with spaces in between.
#[derive(Debug)]
pub(crate) struct Source {
    /// The text with comments and the contents of literals blanked; quotes stay.
    pub(crate) code: String,
    /// The text with everything but comments blanked.
    pub(crate) comments: String,
    /// Where the contents of string literals are.
    pub(crate) literals: Vec<Range<usize>>,
    /// Whether the whole file is test code.
    pub(crate) all_test: bool,
    /// Names of the modules that this file declares for tests only.
    pub(crate) test_modules: Vec<String>,
    tests: Vec<Range<usize>>,
    lines: Vec<usize>,
}

impl Source {
    pub(crate) fn scan(text: &str, all_test: bool) -> Self {
        let masked = mask(text);
        let tests = items::test_items(&masked.code);
        let test_modules = tests.iter().filter_map(|item| items::declared_module(&masked.code[item.clone()])).collect();
        let breaks = text.match_indices('\n').map(|(at, _)| at + 1);
        Self {
            all_test: all_test || masked.code.contains("#![cfg(test)]"),
            lines: std::iter::once(0).chain(breaks).collect(),
            code: masked.code,
            comments: masked.comments,
            literals: masked.literals,
            test_modules,
            tests,
        }
    }

    /// The line of a byte, counted from one.
    pub(crate) fn line_of(&self, at: usize) -> usize {
        self.lines.partition_point(|start| *start <= at)
    }

    /// Whether the byte belongs to test code.
    pub(crate) fn is_test(&self, at: usize) -> bool {
        self.all_test || self.tests.iter().any(|range| range.contains(&at))
    }

    /// The lines of the code with their numbers and the offset at which each starts.
    pub(crate) fn code_lines(&self) -> impl Iterator<Item = (usize, usize, &str)> {
        self.code.lines().zip(&self.lines).enumerate().map(|(index, (line, start))| (index + 1, *start, line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_know_their_line_and_whether_they_are_test_code() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\nfn c() {}\n";
        let source = Source::scan(text, false);
        let at = |needle: &str| text.find(needle).unwrap();
        assert_eq!([source.line_of(0), source.line_of(at("fn b")), source.line_of(at("fn c"))], [1, 4, 6]);
        assert!(source.is_test(at("fn b")));
        assert!(!source.is_test(0) && !source.is_test(at("fn c")));
    }

    #[test]
    fn code_lines_carry_number_and_offset() {
        let source = Source::scan("a\r\n// b\nc", false);
        let lines: Vec<_> = source.code_lines().map(|(number, start, line)| (number, start, line.trim())).collect();
        assert_eq!(lines, [(1, 0, "a"), (2, 3, ""), (3, 8, "c")]);
    }
}
