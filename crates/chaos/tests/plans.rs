//! Short forms of the plans: everything is really started, really broken, and judged by the checker as a program.

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

static CHECKER: OnceLock<()> = OnceLock::new();

/// Builds the checker beside the program under test. Cargo does so by itself only when all packages are tested.
fn build_checker() {
    CHECKER.get_or_init(|| {
        let directory = Path::new(env!("CARGO_BIN_EXE_onward-chaos")).parent().expect("programs are in a directory");
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "--locked", "-p", "onward-checker"]);
        cargo.arg("--target-dir").arg(directory.parent().expect("a profile is in the target directory"));
        if directory.ends_with("release") {
            cargo.arg("--release");
        }
        assert!(cargo.status().expect("cargo runs").success());
        assert!(directory.join("onward-checker").is_file());
    });
}

/// Runs a plan for some seconds, in which every promise must be kept.
fn run(plan: &str, seconds: u32) {
    build_checker();
    let mut command = Command::new(env!("CARGO_BIN_EXE_onward-chaos"));
    let output = command.args(["run", plan, "--seconds", &seconds.to_string()]).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{plan}");
    assert!(said.contains("submits acknowledged") && said.contains("success"), "{plan}");
}

#[test]
fn engines_on_postgres_are_killed() {
    run("kills-postgres", 10);
}

#[test]
fn engines_on_a_cluster_are_killed() {
    run("kills-cluster", 10);
}

#[test]
fn connections_of_postgres_are_ended() {
    run("postgres-terminations", 5);
}

#[test]
fn valkey_comes_back_with_its_file() {
    run("valkey-restarts", 5);
}

#[test]
fn valkey_is_killed() {
    run("valkey-kills", 5);
}

#[test]
fn executions_wait_for_signals() {
    run("waits-postgres", 6);
}

/// The machinery alone, with this build in both places; `make upgrade` runs it with an earlier one.
#[test]
fn builds_replace_each_other() {
    build_checker();
    let program = env!("CARGO_BIN_EXE_onward-chaos");
    let run = |more: &[&str]| Command::new(program).args(["run", "upgrades", "--seconds", "5"]).args(more).output();
    let alone = run(&[]).expect("it runs");
    assert!(String::from_utf8_lossy(&alone.stderr).contains("--previous"));
    let output = run(&["--previous", program]).expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.contains("the other build is alone"));
}

#[test]
fn an_unknown_plan_names_those_that_exist() {
    let output = Command::new(env!("CARGO_BIN_EXE_onward-chaos")).args(["run", "nothing"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("kills-postgres"));
}
