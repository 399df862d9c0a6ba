//! Every package takes the lints of the workspace; one that forgets would escape them silently.

use crate::finding::Finding;
use crate::tree::Tree;

/// Manifests of packages without `[lints] workspace = true`.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let manifests = tree.files.iter().filter(|file| file.name() == "Cargo.toml");
    let packages = manifests.filter(|file| file.text.lines().any(|line| line.trim() == "[package]"));
    let without = packages.filter(|file| !takes_lints(&file.text));
    let finding = |path| Finding::new(path, 1, "the workspace lints are off", "add `[lints]` with `workspace = true`");
    without.map(|file| finding(&file.path)).collect()
}

fn takes_lints(manifest: &str) -> bool {
    let section = manifest.lines().map(str::trim).skip_while(|line| *line != "[lints]").skip(1);
    let setting = |line: &str| line.split('#').next().unwrap_or_default().replace(' ', "");
    section.take_while(|line| !line.starts_with('[')).any(|line| setting(line) == "workspace=true")
        || manifest.lines().any(|line| setting(line) == "lints.workspace=true")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(manifest: &str) -> usize {
        check(&Tree::of(&[("crates/a/Cargo.toml", manifest)])).len()
    }

    #[test]
    fn packages_must_take_the_lints() {
        assert_eq!(found("[package]\nname = \"a\"\n[lints]\nworkspace = true\n"), 0);
        assert_eq!(found("[package]\nname = \"a\"\n[lints]\n\n[dependencies]\nworkspace = true\n"), 1);
        assert_eq!(found("[package]\nname = \"a\"\n"), 1);
    }

    #[test]
    fn the_workspace_itself_is_no_package() {
        assert_eq!(found("[workspace]\nmembers = []\n"), 0);
    }
}
