//! Every error code is documented, and every documented code exists.

use crate::finding::Finding;
use crate::rust::functions;
use crate::tree::{File, Tree};
use std::collections::BTreeMap;

const DOCUMENT: &str = "docs/errors.md";

/// A code with the place that returns or documents it.
#[derive(Debug, PartialEq, Eq)]
struct Code {
    name: String,
    path: String,
    line: usize,
}

/// Codes that are returned twice, misspelt, undocumented, or documented without being returned.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let returned = returned_codes(tree);
    let documented = tree.file(DOCUMENT).map(documented_codes).unwrap_or_default();
    let mut findings = Vec::new();
    let mut seen: BTreeMap<&str, &Code> = BTreeMap::new();
    for code in &returned {
        let mut add = |what: String, fix: &str| findings.push(Finding::new(&code.path, code.line, what, fix));
        let name = code.name.as_str();
        if !is_snake_case(name) {
            add(format!("error code `{name}` is not snake_case"), "spell it with a-z, 0-9 and single underscores");
        }
        if let Some(first) = seen.get(name) {
            let what = format!("error code `{name}` is also returned at {}:{}", first.path, first.line);
            add(what, "give each reason its own code, or call the other `code`");
            continue;
        }
        seen.insert(name, code);
        if !documented.iter().any(|row| row.name == name) {
            let row = format!("add a row that starts with | `{name}` |");
            add(format!("error code `{name}` is not in {DOCUMENT}"), &row);
        }
    }
    for (index, row) in documented.iter().enumerate() {
        let mut add = |what: String, fix: &str| findings.push(Finding::new(DOCUMENT, row.line, what, fix));
        if !seen.contains_key(row.name.as_str()) {
            add(format!("no `fn code` returns `{}`", row.name), "remove the row, or return the code");
        }
        if documented[..index].iter().any(|earlier| earlier.name == row.name) {
            add(format!("`{}` has two rows", row.name), "keep one");
        }
    }
    findings
}

/// The string literals that functions named `code` return, outside tests.
fn returned_codes(tree: &Tree) -> Vec<Code> {
    let mut codes = Vec::new();
    for (file, source) in tree.rust() {
        for function in functions(&source.code).iter().filter(|function| function.name == "code") {
            if source.is_test(function.span.start) {
                continue;
            }
            for literal in source.literals.iter().filter(|literal| function.body.contains(&literal.start)) {
                if is_value(&source.code[function.body.start..literal.start]) {
                    let (name, line) = (file.text[literal.clone()].to_owned(), source.line_of(literal.start));
                    codes.push(Code { name, path: file.path.clone(), line });
                }
            }
        }
    }
    codes
}

/// Whether a literal after this code is a result: the value of an arm, of a block or of a `return`.
fn is_value(before: &str) -> bool {
    let before = before.trim_end_matches('"').trim_end();
    ["=>", "{", "return", "Some(", "Cow::Borrowed("].iter().any(|end| before.ends_with(end))
}

/// The codes in the first column of the document's tables.
fn documented_codes(file: &File) -> Vec<Code> {
    let code = |(line, text): (usize, &str)| {
        let (name, rest) = text.strip_prefix("| `")?.split_once('`')?;
        rest.trim_start().starts_with('|').then(|| Code { name: name.to_owned(), path: file.path.clone(), line })
    };
    file.lines().filter_map(code).collect()
}

fn is_snake_case(name: &str) -> bool {
    let letters = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    name.starts_with(|c: char| c.is_ascii_lowercase()) && name.split('_').all(letters)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUST: &str = r#"
impl E {
    pub fn code(&self) -> &'static str {
        match self {
            Self::A { .. } | Self::B => "a_b",
            Self::C if self.is("no_code") => {
                "c"
            }
            Self::Other(inner) => inner.code(),
        }
    }
    fn coded(&self) -> &str { "not_a_code" }
}
"#;

    fn found(rust: &str, document: &str) -> Vec<String> {
        let tree = Tree::of(&[("crates/core/src/e.rs", rust), (DOCUMENT, document)]);
        super::super::lines(&check(&tree))
    }

    #[test]
    fn documented_codes_pass() {
        let document = "| code | meaning |\n|---|---|\n| `a_b` | x |\n| `c` | y, unlike `a_b` |\n\nThe `d` is prose.\n";
        assert_eq!(found(RUST, document), Vec::<String>::new());
    }

    #[test]
    fn undocumented_and_unknown_codes_fail() {
        let lines = found(RUST, "| `a_b` | x |\n| `gone` | y |\n| `a_b` | z |\n");
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(lines[0].starts_with("crates/core/src/e.rs:7: error code `c` is not in docs/errors.md"), "{lines:?}");
        assert!(lines[1].starts_with("docs/errors.md:2: no `fn code` returns `gone`"), "{lines:?}");
        assert!(lines[2].starts_with("docs/errors.md:3: `a_b` has two rows"), "{lines:?}");
    }

    #[test]
    fn shared_and_misspelt_codes_fail() {
        let rust = "fn code(&self) -> &str { match self { A => \"x\", B => \"x\", C => \"No-Good\" } }";
        let lines = found(rust, "| `x` | a |\n| `No-Good` | b |\n");
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[0].contains("`x` is also returned at crates/core/src/e.rs:1"), "{lines:?}");
        assert!(lines[1].contains("not snake_case"), "{lines:?}");
    }

    #[test]
    fn test_code_and_a_single_value_are_told_apart() {
        assert_eq!(found("fn code() -> &'static str { \"alone\" }", "| `alone` | a |").len(), 0);
        assert_eq!(found("#[cfg(test)]\nmod t { fn code() -> &'static str { \"x\" } }", "").len(), 0);
    }

    #[test]
    fn snake_case_has_no_loose_underscores() {
        assert!(is_snake_case("a") && is_snake_case("a_b2_c"));
        assert!(!is_snake_case("") && !is_snake_case("_a") && !is_snake_case("a__b") && !is_snake_case("aB"));
    }
}
