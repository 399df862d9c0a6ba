//! The changelog keeps the shape of "Keep a Changelog", so that people and tools find what changed.

use crate::finding::Finding;
use crate::tree::{File, Tree};

const PATH: &str = "CHANGELOG.md";
const SECTIONS: [&str; 6] = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"];

/// Headings and entries of the changelog that are out of shape.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    match tree.file(PATH) {
        Some(file) => shape(file),
        None => vec![Finding::new(PATH, 1, "there is no changelog", "start one with an Unreleased part")],
    }
}

fn shape(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut add = |line, what: String, fix: &str| findings.push(Finding::new(PATH, line, what, fix));
    if !file.text.starts_with("# Changelog\n") {
        add(1, "the title is missing".to_owned(), "begin with `# Changelog`");
    }
    let (mut releases, mut in_section) = (0, false);
    for (number, line) in file.lines() {
        if let Some(release) = line.strip_prefix("## ") {
            releases += 1;
            in_section = false;
            if releases == 1 && release != "[Unreleased]" {
                add(number, "the first part is not Unreleased".to_owned(), "put `## [Unreleased]` first");
            } else if releases > 1 && !is_release(release) {
                add(number, format!("`{release}` is no release"), "write `## [1.2.3] - 2030-12-31`");
            }
        } else if let Some(section) = line.strip_prefix("### ") {
            in_section = true;
            if !SECTIONS.contains(&section) {
                add(number, format!("`{section}` is no kind of change"), "use Added, Changed, Fixed and their like");
            }
        } else if line.starts_with("- ") && !in_section {
            add(number, "an entry outside a section".to_owned(), "put it below `### Added` or its like");
        }
    }
    if releases == 0 {
        add(1, "there is no Unreleased part".to_owned(), "add `## [Unreleased]`");
    }
    findings
}

/// Whether the heading reads `[1.2.3] - 2030-12-31`.
fn is_release(heading: &str) -> bool {
    let Some((version, date)) = heading.strip_prefix('[').and_then(|rest| rest.split_once("] - ")) else {
        return false;
    };
    let number = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit());
    let core: Vec<_> = version.split(['-', '+']).next().unwrap_or_default().split('.').collect();
    let days: Vec<_> = date.split('-').collect();
    let lengths: Vec<_> = days.iter().map(|part| part.len()).collect();
    core.len() == 3 && core.into_iter().all(number) && lengths == [4, 2, 2] && days.into_iter().all(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> usize {
        check(&Tree::of(&[(PATH, text)])).len()
    }

    #[test]
    fn a_kept_changelog_passes() {
        let text = "# Changelog\n\nProse.\n\n## [Unreleased]\n\n### Added\n\n- One.\n  More of it.\n\n\
                    ## [0.2.0-rc.1] - 2030-01-02\n\n### Fixed\n\n- Two.\n";
        assert_eq!(found(text), 0);
    }

    #[test]
    fn each_fault_is_found() {
        assert_eq!(found("## [Unreleased]\n"), 1, "title");
        assert_eq!(found("# Changelog\n"), 1, "no part");
        assert_eq!(found("# Changelog\n## [0.1.0] - 2030-01-02\n"), 1, "no Unreleased");
        assert_eq!(found("# Changelog\n## [Unreleased]\n## 0.1.0\n"), 1, "release heading");
        assert_eq!(found("# Changelog\n## [Unreleased]\n### News\n"), 1, "section");
        assert_eq!(found("# Changelog\n## [Unreleased]\n- One.\n"), 1, "loose entry");
        assert_eq!(check(&Tree::default()).len(), 1, "no file");
    }

    #[test]
    fn releases_have_version_and_date() {
        assert!(is_release("[1.2.3] - 2030-12-31") && is_release("[1.2.3-beta.1] - 2030-12-31"));
        assert!(!is_release("[1.2] - 2030-12-31") && !is_release("[1.2.3] - 30-12-31") && !is_release("1.2.3"));
    }
}
