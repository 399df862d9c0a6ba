//! Functions fit on a screen; tables of cases inside them do not count.

use crate::finding::Finding;
use crate::rust::{Function, Source, close_of, functions};
use crate::tree::Tree;

const LINES_MAX: usize = 70;

/// Functions longer than the limit, tests included.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, source) in tree.rust() {
        for function in functions(&source.code) {
            let lines = counted_lines(source, &function);
            if lines > LINES_MAX {
                let what = format!("`fn {}` has {lines} lines, above {LINES_MAX}", function.name);
                let fix = "give its parts names, or move a table of cases into a const";
                findings.push(Finding::new(&file.path, source.line_of(function.span.start), what, fix));
            }
        }
    }
    findings
}

/// The lines from signature to closing brace without those of `const` and `static` items in the body.
fn counted_lines(source: &Source, function: &Function) -> usize {
    let lines_in = |start, end| source.line_of(end) - source.line_of(start) + 1;
    let mut lines = lines_in(function.span.start, function.span.end - 1);
    let mut at = function.body.start;
    while let Some((start, end)) = next_table(&source.code[..function.body.end], at) {
        lines -= lines_in(start, end) - 1;
        at = end;
    }
    lines
}

/// The next `const NAME: … = …;` or `static NAME: … = …;` from `from` on; its first line still counts.
fn next_table(code: &str, from: usize) -> Option<(usize, usize)> {
    let mut starts: Vec<usize> = Vec::new();
    for keyword in ["const ", "static "] {
        starts.extend(code[from..].match_indices(keyword).map(|(offset, _)| from + offset));
    }
    let start = starts.into_iter().filter(|start| is_table(code, *start)).min()?;
    let mut end = start;
    while end < code.len() && code.as_bytes()[end] != b';' {
        end = if b"{([".contains(&code.as_bytes()[end]) { close_of(code, end) } else { end + 1 };
    }
    (end < code.len()).then_some((start, end))
}

/// Whether a statement starts here and names a constant; `'static`, `*const T` and `const fn` do not.
fn is_table(code: &str, start: usize) -> bool {
    let name = code[start..].split_once(' ').map_or("", |(_, rest)| rest);
    let after = name.trim_start_matches(|c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    after.len() < name.len() && after.starts_with(':') && code[..start].trim_end().ends_with(['{', '}', ';'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> usize {
        check(&Tree::of(&[("a.rs", text)])).len()
    }

    #[test]
    fn seventy_lines_are_allowed() {
        let of = |lines: usize| format!("fn a() {{\n{}}}\n", "    x();\n".repeat(lines - 2));
        assert_eq!([found(&of(70)), found(&of(71))], [0, 1]);
        assert_eq!(found(&format!("#[cfg(test)]\nmod t {{\n{}}}", of(71))), 1);
    }

    #[test]
    fn braces_in_literals_and_comments_do_not_close() {
        let line = "    x('}', \"}\", r#\"\"}\"#); // }\n";
        assert_eq!(found(&format!("fn a() {{\n{}}}\n", line.repeat(69))), 1);
    }

    #[test]
    fn tables_do_not_count() {
        let rows = "        (1, \"a;b\"),\n".repeat(100);
        assert_eq!(found(&format!("fn a() {{\n    const CASES: &[(u8, &str)] = &[\n{rows}    ];\n}}\n")), 0);
        assert_eq!(found(&format!("fn a() {{\n    static CASES: [(u8, &str); 100] = [\n{rows}    ];\n}}\n")), 0);
        assert_eq!(found(&format!("fn a() {{\n    let cases = [\n{rows}    ];\n}}\n")), 1);
        assert_eq!(found(&format!("const CASES: &[(u8, &str)] = &[\n{rows}];\n")), 0);
    }

    #[test]
    fn other_uses_of_the_keywords_are_no_table() {
        for line in ["let x: &'static [u8] = &[\n1];\n", "x(y as *const T,\n1);\n", "const fn b() {\n}\n"] {
            assert_eq!(found(&format!("fn a() {{\n{}}}\n", line.repeat(35))), 1, "{line}");
        }
    }
}
