//! Files that are no store of ours, or may not be written: refused by name, and left as they are.

use crate::program::{Ran, Workdir, bytes};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// Every command that opens a store.
const EACH: [&[&str]; 3] = [&["submit", "k"], &["ls"], &["get", "x-0192f0c8-0000-7000-8000-000000000001-17"]];

#[test]
fn a_newer_store_is_refused() {
    let place = Workdir::new();
    place.submit(&["k"]);
    let shell = rusqlite::Connection::open(place.db()).unwrap();
    shell.execute_batch("PRAGMA user_version = 99; PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    drop(shell);
    refused_unchanged(&place, "store_newer");
}

#[test]
fn another_programs_database_is_refused() {
    let place = Workdir::new();
    let shell = rusqlite::Connection::open(place.db()).unwrap();
    shell.execute_batch("CREATE TABLE notes(text); INSERT INTO notes VALUES ('mine')").unwrap();
    drop(shell);
    refused_unchanged(&place, "store_foreign");
}

#[test]
fn a_file_that_is_no_database_is_refused() {
    let place = Workdir::new();
    std::fs::write(place.db(), "Dear diary, today I wrote a text file. ".repeat(50)).unwrap();
    refused_unchanged(&place, "store_foreign");
}

fn refused_unchanged(place: &Workdir, code: &str) {
    let before = bytes(&place.db());
    for args in EACH {
        place.run(args).refused(code, 5);
        assert!(bytes(&place.db()) == before, "{args:?} changed the file");
    }
}

#[test]
fn a_store_that_may_only_be_read_is_refused() {
    let place = Workdir::new();
    place.submit(&["k"]);
    let mode = |path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    // The superuser may write everywhere, so the program is run by somebody else, from a place where that one may.
    let program = place.path("onward-program");
    std::fs::copy(env!("CARGO_BIN_EXE_onward"), &program).unwrap();
    mode(program.clone(), 0o755);
    mode(place.db(), 0o444);
    mode(place.path(""), 0o555);
    let before = bytes(&place.db());
    for args in EACH {
        let mut command = Command::new(&program);
        command.args(args).arg("--store").arg(format!("sqlite:{}", place.db().display()));
        if is_superuser() {
            command.uid(65_534).gid(65_534);
        }
        let ran = Ran::of(&command.stdin(Stdio::null()).output().unwrap());
        ran.refused("store_read_only", 5);
        assert!(bytes(&place.db()) == before, "{args:?} changed the file");
    }
    mode(place.path(""), 0o755);
}

fn is_superuser() -> bool {
    let whoami = Command::new("id").arg("-u").output().unwrap();
    whoami.stdout.trim_ascii() == b"0"
}
