//! Keeps the repository tidy whenever its tests run.

#[test]
fn the_repository_is_tidy() {
    let report = xtask::tidy(&xtask::root()).unwrap();
    let lines: Vec<_> = report.findings.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "\n{}\n{}\n", lines.join("\n"), report.summary());
}
