//! The repository works on any machine, so no file names a folder of one.

use crate::finding::Finding;
use crate::tree::Tree;

/// Folders that exist on somebody's machine; written in two parts so that this file passes its own check.
const FOLDERS: [&str; 4] =
    [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("/Us", "ers/")];

/// Absolute paths of one machine in any text file.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &tree.files {
        for (number, line) in file.lines() {
            for folder in FOLDERS.iter().filter(|folder| names_folder(line, folder)) {
                let what = format!("the path of one machine, `{folder}`");
                findings.push(Finding::new(&file.path, number, what, "write a path relative to the repository"));
            }
        }
    }
    findings
}

/// Whether the folder stands at the start of a path; inside a longer path or an address it means something else.
fn names_folder(line: &str, folder: &str) -> bool {
    let is_inside = |c: char| c.is_alphanumeric() || "_-./}>".contains(c);
    line.match_indices(folder).any(|(at, _)| !line[..at].ends_with(is_inside) || line[..at].ends_with("//"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absolute_paths_fail_in_any_text() {
        for folder in FOLDERS {
            let text = format!("one\nsee `{folder}x`, file://{folder}y\n");
            let findings = check(&Tree::of(&[("README.md", &text)]));
            assert_eq!(findings.iter().map(|finding| finding.line).collect::<Vec<_>>(), [2], "{folder}");
        }
    }

    #[test]
    fn relative_paths_and_addresses_pass() {
        for folder in FOLDERS {
            let text = format!("src{folder}a https://example.org{folder} $HOME/x ..{folder}b");
            assert!(check(&Tree::of(&[("README.md", &text)])).is_empty(), "{text}");
        }
    }
}
