//! Builds all test programs with cargo and finds out where they are.

use serde_json::Value;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A program full of tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Program {
    pub(super) package: String,
    /// The target's name: the library's, the binary's, or the test file's.
    pub(super) name: String,
    pub(super) path: PathBuf,
    /// The package's folder, in which cargo would run it.
    pub(super) folder: PathBuf,
}

/// The cargo that runs this program.
pub(super) fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Builds every test program, with everything that can be switched on, so that no later step builds it again. `None`
/// when it does not build; cargo has said why.
pub(super) fn test_programs(root: &Path) -> io::Result<Option<Vec<Program>>> {
    let mut command = Command::new(cargo());
    command.current_dir(root).args(["test", "--locked", "--workspace", "--all-features", "--no-run"]);
    // Binaries, which some tests start, are chosen together with the tests, so that they share one build.
    command.args(["--bins", "--lib", "--tests", "--message-format=json-render-diagnostics"]);
    let output = command.stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Ok(None);
    }
    Ok(Some(String::from_utf8_lossy(&output.stdout).lines().filter_map(program).collect()))
}

/// The program that a line of cargo's output tells of, if it does.
fn program(line: &str) -> Option<Program> {
    let message: Value = serde_json::from_str(line).ok()?;
    if message["reason"] != "compiler-artifact" || message["profile"]["test"] != true {
        return None;
    }
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?.to_path_buf();
    let package = message["package_id"].as_str()?;
    // `path+file:///somewhere#name@version`, or without the name where the folder has it.
    let named = package.rsplit(['#', '/']).next()?;
    let package = match named.split_once('@') {
        Some((name, _)) => name.to_owned(),
        None => package.split('#').next()?.rsplit('/').next()?.to_owned(),
    };
    let name = message["target"]["name"].as_str()?.to_owned();
    Some(Program { package, name, path: message["executable"].as_str()?.into(), folder })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_programs_are_told_from_other_output() {
        let line = |test: bool, id: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","package_id":"{id}","manifest_path":"/w/crates/a/Cargo.toml",
                "target":{{"name":"scenarios"}},"profile":{{"test":{test}}},"executable":"/w/target/scenarios-1"}}"#
            )
        };
        let found = program(&line(true, "path+file:///w/crates/a#onward-a@0.1.0")).unwrap();
        assert_eq!((found.package.as_str(), found.name.as_str()), ("onward-a", "scenarios"));
        assert_eq!((found.path, found.folder), ("/w/target/scenarios-1".into(), "/w/crates/a".into()));
        assert_eq!(program(&line(true, "path+file:///w/xtask#0.1.0")).unwrap().package, "xtask");
        assert_eq!(program(&line(false, "path+file:///w/xtask#0.1.0")), None);
        assert_eq!(program("Compiling"), None);
    }
}
