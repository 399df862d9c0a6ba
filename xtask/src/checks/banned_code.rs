//! Code that only pretends to be finished: skipped tests, missing bodies, and panics where an error belongs.

use crate::finding::Finding;
use crate::tree::Tree;

/// Never allowed, in tests neither.
const ALWAYS: [(&str, &str); 3] = [
    ("#[ignore", "make the test pass or remove it"),
    ("todo!(", "write the missing part"),
    ("unimplemented!(", "write the missing part"),
];

/// Folders of programs that may panic like a test.
const SAMPLES: [&str; 2] = ["benches", "examples"];

/// Banned code in Rust files.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, source) in tree.rust() {
        let is_sample = file.path.split('/').any(|part| SAMPLES.contains(&part));
        for (number, start, line) in source.code_lines() {
            for (code, fix) in ALWAYS.iter().filter(|(code, _)| line.contains(code)) {
                findings.push(Finding::new(&file.path, number, format!("`{code}`"), *fix));
            }
            let unwraps = line.match_indices(".unwrap()").any(|(at, _)| !source.is_test(start + at));
            if unwraps && !is_sample {
                let fix = "answer an error, or `expect` with the reason why it holds";
                findings.push(Finding::new(&file.path, number, "`.unwrap()` outside tests", fix));
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
    fn unfinished_code_fails_everywhere() {
        for path in ["a/src/b.rs", "a/tests/b.rs", "examples/b.rs"] {
            assert_eq!(found(path, "#[ignore = \"slow\"]\nfn a() { todo!() }\nunimplemented!(\"x\")"), [1, 2, 3]);
        }
    }

    #[test]
    fn unwrap_is_for_tests() {
        let text = "#[cfg(test)]\nuse a;\nfn a() { b.unwrap() }\n#[cfg(test)]\nmod t {\n    fn c() { d.unwrap() }\n}";
        assert_eq!(found("a/src/b.rs", text), [3]);
        for path in ["a/tests/b.rs", "a/src/b/tests.rs", "a/benches/b.rs", "a/examples/b.rs"] {
            assert!(found(path, text).is_empty(), "{path}");
        }
    }

    #[test]
    fn comments_literals_and_relatives_of_unwrap_pass() {
        assert!(found("a/src/b.rs", "// .unwrap() todo!()\nf(\".unwrap()\", x.unwrap_or(1), #[test])").is_empty());
    }
}
