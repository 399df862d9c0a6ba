//! Asking cargo about the workspace, so that the checks see what is really built.

use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Runs `cargo` in `root` without touching the network or the lock file.
pub(crate) fn run(root: &Path, arguments: &[&str]) -> Result<String, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo).args(arguments).args(["--offline", "--locked"]).current_dir(root).output();
    let output = output.map_err(|error| format!("cargo does not start: {error}"))?;
    if output.status.success() {
        return String::from_utf8(output.stdout).map_err(|error| error.to_string());
    }
    let message = String::from_utf8_lossy(&output.stderr);
    let first = message.lines().find(|line| line.starts_with("error")).unwrap_or("no reason given");
    Err(format!("`cargo {}` failed: {first}", arguments.join(" ")))
}

/// A package of the workspace and the packages it names.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Package {
    pub(crate) name: String,
    /// The manifest, relative to the root of the repository.
    pub(crate) manifest: String,
    /// Normal, build and development dependencies alike.
    pub(crate) dependencies: Vec<String>,
}

/// The packages of the workspace.
pub(crate) fn packages(root: &Path) -> Result<Vec<Package>, String> {
    parse_metadata(&run(root, &["metadata", "--no-deps", "--format-version", "1"])?)
}

fn parse_metadata(json: &str) -> Result<Vec<Package>, String> {
    let metadata: Value = serde_json::from_str(json).map_err(|error| error.to_string())?;
    let root = metadata["workspace_root"].as_str().unwrap_or_default();
    let packages = metadata["packages"].as_array().ok_or("cargo metadata names no packages")?;
    let package = |value: &Value| {
        let manifest = value["manifest_path"].as_str().unwrap_or_default();
        let named = value["dependencies"].as_array().into_iter().flatten();
        Package {
            name: value["name"].as_str().unwrap_or_default().to_owned(),
            manifest: manifest.strip_prefix(root).unwrap_or(manifest).trim_start_matches('/').to_owned(),
            dependencies: named.filter_map(|named| named["name"].as_str()).map(str::to_owned).collect(),
        }
    };
    Ok(packages.iter().map(package).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_gives_names_manifests_and_dependencies() {
        let json = r#"{"workspace_root":"/r","packages":[{"name":"a","manifest_path":"/r/crates/a/Cargo.toml",
            "dependencies":[{"name":"b","kind":null},{"name":"c","kind":"dev"}]}]}"#;
        let expected = Package {
            name: "a".into(),
            manifest: "crates/a/Cargo.toml".into(),
            dependencies: vec!["b".into(), "c".into()],
        };
        assert_eq!(parse_metadata(json), Ok(vec![expected]));
        assert!(parse_metadata("{}").is_err());
    }

    #[test]
    fn a_failing_cargo_is_reported_with_its_first_error() {
        let error = run(&crate::root(), &["metadata", "--no-such-option"]).unwrap_err();
        assert!(error.contains("error"), "{error}");
    }
}
