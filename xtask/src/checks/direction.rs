//! Crates depend in one direction: `core` and `store` on nothing of ours, `engine` on both, the rest above it.

use crate::cargo::{self, Package};
use crate::finding::Finding;
use crate::tree::Tree;

/// For each package, the packages of ours it may name, in any kind of dependency. Itself is always allowed, since a
/// package may turn on its own features for its tests.
const ALLOWED: &[(&str, &[&str])] = &[
    ("onward-fuzz", &[]),
    ("onward-core", &["onward-fuzz"]),
    ("onward-servers", &[]),
    ("onward-store", &["onward-fuzz", "onward-servers"]),
    ("onward-engine", &["onward-core", "onward-fuzz", "onward-servers", "onward-store"]),
    // Its scenarios run over HTTP too, so that its tests need the server that stands above it.
    ("onward", &["onward-core", "onward-engine", "onward-fuzz", "onward-server", "onward-servers", "onward-store"]),
    ("onward-server", &["onward", "onward-core", "onward-engine", "onward-fuzz", "onward-servers", "onward-store"]),
    ("onward-sim", &["onward", "onward-core", "onward-engine", "onward-store"]),
    ("onward-scratch", &["onward"]),
    ("onward-bench", &["onward", "onward-core", "onward-engine", "onward-scratch", "onward-servers", "onward-store"]),
    (
        "onward-cli",
        &["onward", "onward-bench", "onward-core", "onward-fuzz", "onward-scratch", "onward-server", "onward-servers"],
    ),
    // It judges what the others did, so it shares nothing with them.
    ("onward-checker", &[]),
    ("onward-chaos", &["onward", "onward-checker", "onward-core", "onward-engine", "onward-servers", "onward-store"]),
    ("xtask", &[]),
];

/// Packages that name a package above or beside them.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    match cargo::packages(&tree.root) {
        Ok(packages) => wrong_directions(&packages),
        Err(error) => vec![Finding::new("Cargo.toml", 1, error, "make the workspace load and the lock file current")],
    }
}

fn wrong_directions(packages: &[Package]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in packages {
        let Some((_, allowed)) = ALLOWED.iter().find(|(name, _)| *name == package.name) else {
            let what = format!("package `{}` has no place in the dependency order", package.name);
            findings.push(Finding::new(&package.manifest, 1, what, "place it in xtask/src/checks/direction.rs"));
            continue;
        };
        let ours = package.dependencies.iter().filter(|name| packages.iter().any(|other| other.name == **name));
        for name in ours.filter(|name| **name != package.name && !allowed.contains(&name.as_str())) {
            let what = format!("`{}` must not depend on `{name}`", package.name);
            findings.push(Finding::new(&package.manifest, 1, what, "move the shared part down, or pass it in"));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(packages: &[(&str, &[&str])]) -> Vec<String> {
        let package = |(name, dependencies): &(&str, &[&str])| Package {
            name: (*name).to_owned(),
            manifest: "m".to_owned(),
            dependencies: dependencies.iter().map(|name| (*name).to_owned()).collect(),
        };
        let packages: Vec<_> = packages.iter().map(package).collect();
        wrong_directions(&packages).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn downward_and_foreign_dependencies_pass() {
        let good: &[(&str, &[&str])] = &[
            ("onward-core", &["serde"]),
            ("onward-store", &["tokio", "onward-store"]),
            ("onward-engine", &["onward-core", "onward-store", "tokio"]),
        ];
        assert!(found(good).is_empty());
    }

    #[test]
    fn upward_and_sideward_dependencies_fail() {
        let bad: &[(&str, &[&str])] =
            &[("onward-core", &["onward-store"]), ("onward-store", &[]), ("onward-engine", &["onward-cli"])];
        assert_eq!(found(bad), ["`onward-core` must not depend on `onward-store`"]);
        assert_eq!(found(&[("onward-store", &["onward-core"]), ("onward-core", &[])]).len(), 1);
        assert_eq!(found(&[("onward-engine", &["onward-cli"]), ("onward-cli", &[])]).len(), 1);
    }

    #[test]
    fn an_unplaced_package_fails() {
        assert_eq!(found(&[("onward-web", &[])]), ["package `onward-web` has no place in the dependency order"]);
    }
}
