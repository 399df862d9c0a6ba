//! What `core` is built from, direct or not, is a short list of crates that do no input or output.

use crate::cargo;
use crate::finding::Finding;
use crate::tree::Tree;

const MANIFEST: &str = "crates/core/Cargo.toml";

/// Data structures, encodings, hashes and derive macros. None of them draws a number or opens a file, and of what reads a clock, in
/// `jiff`, clippy forbids the use.
const ALLOWED: &[&str] = &[
    "base64",
    "block-buffer",
    "bytes",
    "cfg-if",
    "cmov",
    "const-oid",
    "cpufeatures",
    "crypto-common",
    "ctutils",
    "darling",
    "darling_core",
    "darling_macro",
    "digest",
    "hmac",
    "hybrid-array",
    "ident_case",
    "itoa",
    "jiff",
    "jiff-core",
    "memchr",
    "onward-core",
    "proc-macro2",
    "quote",
    "ryu",
    "serde",
    "serde_core",
    "serde_derive",
    "serde_json",
    "serde_with",
    "serde_with_macros",
    "sha2",
    "strsim",
    "syn",
    "thiserror",
    "thiserror-impl",
    "typenum",
    "unicode-ident",
    "uuid",
    "zmij",
];

/// Dependencies of `core` that are not on the list.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    if tree.file(MANIFEST).is_none() {
        return Vec::new();
    }
    let printed = cargo::run(&tree.root, &["tree", "-p", "onward-core", "-e", "normal,build", "--prefix", "none"]);
    match printed {
        Ok(printed) => strangers(&printed).into_iter().map(|name| refuse(&name)).collect(),
        Err(error) => vec![Finding::new(MANIFEST, 1, error, "make the workspace load and the lock file current")],
    }
}

fn refuse(name: &str) -> Finding {
    let fix = "do without it, or allow it in xtask/src/checks/core_dependencies.rs when it is pure";
    Finding::new(MANIFEST, 1, format!("core depends on `{name}`"), fix)
}

/// The packages in the output of `cargo tree --prefix none` that are not allowed, each once.
fn strangers(printed: &str) -> Vec<String> {
    let names = printed.lines().filter_map(|line| line.split_whitespace().next());
    let mut names: Vec<_> = names.filter(|name| !ALLOWED.contains(name)).map(str::to_owned).collect();
    names.sort();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_crates_pass() {
        let good = "onward-core v0.1.0 (/x/crates/core)\nserde v1.0.228\nserde_derive v1.0.228 (proc-macro)\n";
        assert!(strangers(good).is_empty());
        let bad = format!("{good}tokio v1.54.0\nmio v1.0.0\ntokio v1.54.0 (*)\n");
        assert_eq!(strangers(&bad), ["mio", "tokio"]);
    }
}
