//! The rules in `core` see no clock, no chance and no outside world, so that equal input gives equal output.

use crate::finding::Finding;
use crate::tree::Tree;
use crate::words::find_word;

const FOLDER: &str = "crates/core/src/";

/// Words that have no place in pure code.
const WORDS: [&str; 8] = ["async", "await", "SystemTime", "UNIX_EPOCH", "Instant", "rand", "tokio", "futures_util"];

/// Macros that print. A test may: what it shows decides nothing.
const PRINTS: [&str; 5] = ["println!", "eprintln!", "print!", "eprint!", "dbg!"];

/// Modules of the standard library that reach outside.
const MODULES: [&str; 7] = ["fs", "io", "net", "os", "thread", "process", "env"];

/// Impure words and modules in `core`.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, source) in tree.rust().filter(|(file, _)| file.path.starts_with(FOLDER)) {
        let fix = "let the command bring it in; only the engine touches the world";
        for (number, start, line) in source.code_lines() {
            let words = WORDS.iter().filter(|word| find_word(line, word).is_some());
            let is_print = |word: &&&str| find_word(line, word).is_some_and(|at| !source.is_test(start + at));
            for word in words.chain(PRINTS.iter().filter(is_print)) {
                findings.push(Finding::new(&file.path, number, format!("`{word}` in core"), fix));
            }
        }
        for (at, module) in impure_modules(&source.code) {
            let what = format!("`std::{module}` in core");
            findings.push(Finding::new(&file.path, source.line_of(at), what, fix));
        }
    }
    findings
}

/// Uses of impure modules, as `std::fs` or inside `std::{…}`.
fn impure_modules(code: &str) -> Vec<(usize, &'static str)> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("std::") {
        let rest = &code[at + "std::".len()..];
        let named: Vec<&str> = match rest.strip_prefix('{') {
            Some(group) => top_level_names(group),
            None => vec![leading_name(rest)],
        };
        found.extend(MODULES.into_iter().filter(|module| named.contains(module)).map(|module| (at, module)));
    }
    found
}

/// The first name of each part of a `use` group, up to its closing brace.
fn top_level_names(group: &str) -> Vec<&str> {
    let (mut names, mut depth, mut start) = (Vec::new(), 0_u32, 0);
    for (at, byte) in group.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' if depth > 0 => depth -= 1,
            b'}' => {
                names.push(leading_name(&group[start..at]));
                break;
            }
            b',' if depth == 0 => {
                names.push(leading_name(&group[start..at]));
                start = at + 1;
            }
            _ => {}
        }
    }
    names
}

fn leading_name(text: &str) -> &str {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let tree = Tree::of(&[("crates/core/src/a.rs", text), ("crates/engine/src/a.rs", text)]);
        check(&tree).into_iter().map(|finding| format!("{}:{}", finding.line, finding.what)).collect()
    }

    #[test]
    fn impure_words_are_found_in_core_only() {
        assert_eq!(found("\nasync fn a() {}"), ["2:`async` in core"]);
        assert_eq!(found("use std::time::Instant;"), ["1:`Instant` in core"]);
        assert_eq!(found("rand::random()"), ["1:`rand` in core"]);
        assert_eq!(found("use std::time::UNIX_EPOCH;"), ["1:`UNIX_EPOCH` in core"]);
    }

    #[test]
    fn only_tests_print() {
        assert_eq!(found("fn a() { println!(\"x\") }\nfn b() { eprintln!() }").len(), 2);
        assert_eq!(found("fn a() { eprintln!(\"x\") }"), ["1:`eprintln!` in core"]);
        assert!(found("#[cfg(test)]\nmod tests {\n    fn a() { println!(\"x\") }\n}").is_empty());
    }

    #[test]
    fn modules_are_found_alone_and_in_groups() {
        assert_eq!(found("use std::fs::File;"), ["1:`std::fs` in core"]);
        assert_eq!(found("fn a() -> std::io::Result<()> {}"), ["1:`std::io` in core"]);
        assert_eq!(found("use std::{fmt, collections::{BTreeMap}, env};"), ["1:`std::env` in core"]);
        assert_eq!(found("use std::{\n    thread,\n    process::id,\n};").len(), 2);
    }

    #[test]
    fn pure_code_comments_and_strings_pass() {
        let text = "// async Instant std::fs\nuse std::{fmt, collections::BTreeMap};\n\
                    fn operand(environment: &str) { f(\"tokio\", std::cmp::min(1, 2), std::iter::once(net)) }";
        assert!(found(text).is_empty(), "{:?}", found(text));
    }
}
