//! The repository as text: every readable file below the root, read once.

use crate::rust::Source;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Folders that hold nothing written by hand.
const SKIPPED_FOLDERS: [&str; 3] = [".git", "target", "node_modules"];

/// A larger file is data, not text to be checked.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// All text files of the repository.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    pub(crate) root: PathBuf,
    pub(crate) files: Vec<File>,
}

/// One text file.
#[derive(Debug)]
pub(crate) struct File {
    /// Relative to the root, with `/` between the parts.
    pub(crate) path: String,
    pub(crate) text: String,
    /// Set for Rust files.
    pub(crate) source: Option<Source>,
}

impl Tree {
    /// Reads everything below `root` except build output and binary files.
    pub(crate) fn read(root: &Path) -> io::Result<Self> {
        let mut tree = Self { root: root.to_path_buf(), files: Vec::new() };
        let mut folders = vec![String::new()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(root.join(&folder))? {
                let entry = entry?;
                let Ok(name) = entry.file_name().into_string() else { continue };
                let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
                let kind = entry.file_type()?;
                if kind.is_dir() && !SKIPPED_FOLDERS.contains(&name.as_str()) {
                    folders.push(path);
                } else if kind.is_file() {
                    tree.files.extend(read_text(&entry.path())?.map(|text| File::new(path, text)));
                }
            }
        }
        tree.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Self::new(tree.root, tree.files))
    }

    /// A tree of these files.
    pub(crate) fn new(root: PathBuf, mut files: Vec<File>) -> Self {
        mark_test_modules(&mut files);
        Self { root, files }
    }

    /// The Rust files with their scanned source.
    pub(crate) fn rust(&self) -> impl Iterator<Item = (&File, &Source)> {
        self.files.iter().filter_map(|file| file.source.as_ref().map(|source| (file, source)))
    }

    /// The file at exactly this path.
    pub(crate) fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// A tree made of samples.
    #[cfg(test)]
    pub(crate) fn of(samples: &[(&str, &str)]) -> Self {
        Self::new(PathBuf::new(), samples.iter().map(|(path, text)| File::new(*path, *text)).collect())
    }
}

impl File {
    pub(crate) fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        let (path, text) = (path.into(), text.into());
        let source = path.ends_with(".rs").then(|| Source::scan(&text, is_test_path(&path)));
        Self { path, text, source }
    }

    /// The last part of the path.
    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// The lines with their numbers, counted from one.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }
}

/// The text of a file, or `None` when it is binary, too large, or gone since its folder was listed.
fn read_text(path: &Path) -> io::Result<Option<String>> {
    let read = || if fs::metadata(path)?.len() > FILE_BYTES_MAX { Ok(None) } else { fs::read(path).map(Some) };
    match read() {
        Ok(bytes) => Ok(bytes.and_then(|bytes| String::from_utf8(bytes).ok()).filter(|text| !text.contains('\0'))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether everything in the file is test code, judging by where it lies.
fn is_test_path(path: &str) -> bool {
    path.split('/').any(|part| part == "tests" || part == "tests.rs")
}

/// A file that its parent declares with `#[cfg(test)] mod name;` is test code, whatever it is called.
fn mark_test_modules(files: &mut [File]) {
    let mut prefixes = BTreeSet::new();
    for file in files.iter() {
        let Some(source) = &file.source else { continue };
        let folder = match file.path.strip_suffix(".rs") {
            Some(stem) if !["lib.rs", "main.rs", "mod.rs"].contains(&file.name()) => stem,
            _ => file.path.rsplit_once('/').map_or("", |(folder, _)| folder),
        };
        for module in &source.test_modules {
            prefixes.insert(format!("{folder}/{module}.rs"));
            prefixes.insert(format!("{folder}/{module}/"));
        }
    }
    for file in files.iter_mut() {
        let declared = prefixes.iter().any(|prefix| file.path.starts_with(prefix.as_str()));
        if let Some(source) = file.source.as_mut().filter(|_| declared) {
            source.all_test = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test_files(samples: &[(&str, &str)]) -> Vec<String> {
        let tree = Tree::of(samples);
        tree.rust().filter(|(_, source)| source.all_test).map(|(file, _)| file.path.clone()).collect()
    }

    #[test]
    fn test_code_is_known_by_its_place() {
        let samples = [("a/tests/x.rs", ""), ("a/src/b/tests.rs", ""), ("a/src/contests.rs", ""), ("a/src/c.rs", "")];
        assert_eq!(test_files(&samples), ["a/tests/x.rs", "a/src/b/tests.rs"]);
    }

    #[test]
    fn a_module_declared_for_tests_is_test_code() {
        let samples = [
            ("a/src/lib.rs", "#[cfg(test)]\nmod sample;\nmod other;\n"),
            ("a/src/sample.rs", ""),
            ("a/src/other.rs", "#[cfg(test)]\npub(crate) mod deep;"),
            ("a/src/other/deep.rs", ""),
            ("a/src/other/deep/er.rs", ""),
        ];
        assert_eq!(test_files(&samples), ["a/src/sample.rs", "a/src/other/deep.rs", "a/src/other/deep/er.rs"]);
    }

    #[test]
    fn the_repository_is_read_without_its_build_output() {
        let tree = Tree::read(&crate::root()).unwrap();
        assert!(tree.file("xtask/src/tree.rs").is_some());
        assert!(tree.files.iter().all(|file| !file.path.starts_with("target/") && !file.path.starts_with(".git/")));
    }
}
