//! `xtask lines`: lines of code by crate, now and at an earlier commit, without tests, comments and blank lines.

use crate::tree::{File, Tree};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// Lines of code by crate.
type Counts = BTreeMap<String, usize>;

/// A table of the working tree against the commit `before`.
///
/// # Errors
/// When the repository cannot be read or git does not know the commit.
pub fn table(root: &Path, before: &str) -> io::Result<String> {
    let (now, then) = (count(&Tree::read(root)?), count(&at_commit(root, before)?));
    let names: std::collections::BTreeSet<&String> = now.keys().chain(then.keys()).collect();
    let mut table = format!("{:<16} {before:>10} {:>10} {:>8}\n", "crate", "now", "change");
    let mut row = |name: &str, before: usize, now: usize| {
        let change = i64::try_from(now).unwrap_or(i64::MAX) - i64::try_from(before).unwrap_or(i64::MAX);
        table.push_str(&format!("{name:<16} {before:>10} {now:>10} {change:>+8}\n"));
    };
    for name in names {
        row(name, then.get(name).copied().unwrap_or(0), now.get(name).copied().unwrap_or(0));
    }
    row("total", then.values().sum(), now.values().sum());
    Ok(table)
}

fn count(tree: &Tree) -> Counts {
    let mut counts = Counts::new();
    for file in &tree.files {
        let lines = lines_of_code(file);
        if lines > 0 {
            *counts.entry(crate_of(&file.path).to_owned()).or_default() += lines;
        }
    }
    counts
}

/// The folder of the crate that a file belongs to.
fn crate_of(path: &str) -> &str {
    path.strip_prefix("crates/").unwrap_or(path).split('/').next().unwrap_or(path)
}

/// Lines inside string literals count as code: SQL and Lua are written by hand too.
fn lines_of_code(file: &File) -> usize {
    let Some(source) = &file.source else { return 0 };
    let lines = file.text.lines().zip(source.code_lines()).zip(source.comments.lines());
    lines
        .filter(|((text, (_, start, code)), comment)| {
            let only_comment = code.trim().is_empty() && !comment.trim().is_empty();
            !text.trim().is_empty() && !only_comment && !source.is_test(*start + text.len() - text.trim_start().len())
        })
        .count()
}

/// The Rust files of a commit.
fn at_commit(root: &Path, commit: &str) -> io::Result<Tree> {
    let listing = git(root, &["ls-tree", "-r", "--name-only", commit], "")?;
    let listing = String::from_utf8_lossy(&listing);
    let paths: Vec<&str> = listing.lines().filter(|path| path.ends_with(".rs")).collect();
    let wanted: String = paths.iter().map(|path| format!("{commit}:{path}\n")).collect();
    let mut bytes = git(root, &["cat-file", "--batch"], &wanted)?.into_iter();
    let mut files = Vec::new();
    for path in paths {
        // `<id> blob <size>`, the contents, a line break.
        let header: Vec<u8> = bytes.by_ref().take_while(|byte| *byte != b'\n').collect();
        let size = String::from_utf8_lossy(&header).rsplit(' ').next().and_then(|size| size.parse().ok());
        let size = size.ok_or_else(|| io::Error::other(format!("git has no {path} at {commit}")))?;
        let text: Vec<u8> = bytes.by_ref().take(size).collect();
        bytes.next();
        files.push(File::new(path, String::from_utf8_lossy(&text)));
    }
    Ok(Tree::new(root.to_path_buf(), files))
}

fn git(root: &Path, args: &[&str], input: &str) -> io::Result<Vec<u8>> {
    let mut command = Command::new("git");
    command.current_dir(root).args(args).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn()?;
    let (stdin, text) = (child.stdin.take(), input.to_owned());
    // Fed by a thread of its own: git answers before it has read everything.
    let feeding = std::thread::spawn(move || stdin.map_or(Ok(()), |mut stdin| stdin.write_all(text.as_bytes())));
    let output = child.wait_with_output()?;
    feeding.join().map_err(|_| io::Error::other("the thread that feeds git panicked"))??;
    if output.status.success() { Ok(output.stdout) } else { Err(io::Error::other(format!("git {} failed", args[0]))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_comments_and_blank_lines_do_not_count() {
        let text = "//! About.\n\nfn a() {} // why\n/* long\n   comment */\nconst S: &str = \"\n  two\n\";\n\
                    #[cfg(test)]\nmod tests {\n    fn b() {}\n}\n";
        let counts = count(&Tree::of(&[("crates/a/src/lib.rs", text), ("crates/a/tests/b.rs", "fn c() {}")]));
        assert_eq!(counts, Counts::from([("a".to_owned(), 4)]));
    }

    #[test]
    fn files_belong_to_their_crate() {
        assert_eq!(["crates/core/src/a.rs", "xtask/src/main.rs"].map(crate_of), ["core", "xtask"]);
    }

    #[test]
    fn a_commit_compared_with_itself_in_the_repository_has_both_columns() {
        let table = table(&crate::root(), "HEAD").unwrap();
        assert!(table.lines().any(|line| line.starts_with("core ")), "{table}");
        assert!(table.lines().last().unwrap().starts_with("total "), "{table}");
    }
}
