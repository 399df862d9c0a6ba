//! A link in a document leads to a file that exists.

use crate::finding::Finding;
use crate::tree::{File, Tree};
use std::collections::BTreeSet;

/// Links of Markdown files to files of the repository that are not there.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let places = places(tree);
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|file| file.name().ends_with(".md")) {
        for (number, target) in links(file) {
            if resolve(&file.path, &target).is_none_or(|path| !places.contains(&path)) {
                let what = format!("the link to `{target}` leads nowhere");
                findings.push(Finding::new(&file.path, number, what, "correct the path, relative to this document"));
            }
        }
    }
    findings
}

/// Every file of the repository and every folder that holds one.
fn places(tree: &Tree) -> BTreeSet<String> {
    let mut places = BTreeSet::from([String::new()]);
    for file in &tree.files {
        let folders = file.path.match_indices('/').map(|(at, _)| file.path[..at].to_owned());
        places.extend(folders.chain([file.path.clone()]));
    }
    places
}

/// The targets of links outside code blocks that name a file, without their fragment.
fn links(file: &File) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut in_block = false;
    for (number, line) in file.lines() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        } else if !in_block {
            found.extend(targets(line).into_iter().map(|target| (number, target)));
        }
    }
    found
}

fn targets(line: &str) -> Vec<String> {
    // Every second part lies between backticks and is code.
    let prose: String = line.split('`').step_by(2).collect::<Vec<_>>().join("``");
    let inline = prose.match_indices("](").filter_map(|(at, mark)| prose[at + mark.len()..].split(')').next());
    let definition = prose.strip_prefix('[').and_then(|rest| rest.split_once("]: ")).map(|(_, target)| target);
    let bare = |target: &str| {
        let target = target.split_whitespace().next().unwrap_or_default().trim_matches(['<', '>']);
        target.split('#').next().unwrap_or_default().to_owned()
    };
    let is_file = |target: &String| !target.is_empty() && !target.contains("://") && !target.starts_with("mailto:");
    inline.chain(definition).map(bare).filter(is_file).collect()
}

/// The place a target names from the document `from`, or `None` when it leaves the repository.
fn resolve(from: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    if target.starts_with('/') {
        return None;
    }
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let tree = Tree::of(&[("docs/guide/a.md", text), ("docs/b.md", ""), ("README.md", "")]);
        super::super::lines(&check(&tree))
    }

    #[test]
    fn existing_files_and_foreign_addresses_pass() {
        let text = "[b](../b.md#part) [r](../../README.md \"title\") [d](../) [w](https://example.org) [h](#here)\n\
                    `[x](nowhere.md)`\n```\n[x](nowhere.md)\n```\n[b]: ../b.md\n[w]: https://example.org\n";
        assert_eq!(found(text), Vec::<String>::new());
    }

    #[test]
    fn missing_files_fail() {
        assert_eq!(found("one\n[x](b.md)").len(), 1);
        assert_eq!(found("[x]: gone.md\n![i](gone.png) and [r](../../README.md)").len(), 2);
        assert_eq!(found("[x](/README.md) [y](../../../outside.md)").len(), 2);
    }
}
