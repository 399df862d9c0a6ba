//! Whether the store says the truth when the disk fails, and whether other processes take over from one that dies.
//!
//! Disk faults are injected into the system calls of a child process with `strace`.

#![cfg(all(feature = "sqlite", target_os = "linux"))]

use onward_store::sqlite::{self, Options};
use onward_store::{Home, Key, Partition, Store};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const CHILD: &str = env!("CARGO_BIN_EXE_store-child");

/// Runs the child's sequence of commits with a fault injected and returns the lines it said.
fn with_fault(fault: &str, database: &Path, operations: usize) -> Vec<String> {
    let calls = fault.split(':').next().expect("calls come first");
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o", "/dev/null", "-e", &format!("trace={calls}"), "-e", &format!("inject={fault}")]);
    let output = command.arg(CHILD).arg("sequence").arg(database).arg(operations.to_string()).output();
    let output = output.unwrap_or_else(|error| panic!("cannot run strace ({error}): install it with `make deps`"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("the child prints text").lines().map(str::to_owned).collect()
}

/// Which of the child's operations the database holds.
async fn present(database: &Path, operations: usize) -> Vec<bool> {
    let store = sqlite::open(database, Options::default()).await.expect("the store opens again");
    let keys: Vec<Key> = (0..operations).map(|operation| Key::new(format!("operation/{operation:06}"))).collect();
    let found = store.load(Partition(0), &keys).await.expect("the store loads");
    store.close().await.expect("the store closes");
    found.iter().map(Option::is_some).collect()
}

#[tokio::test]
async fn a_failed_sync_closes_the_store_for_good() {
    let place = tempfile::tempdir().expect("a directory");
    let database = place.path().join("fault.db");
    let lines = with_fault("fsync,fdatasync:error=EIO:when=20+", &database, 40);
    let failed = lines.iter().position(|line| !line.starts_with("ok ")).expect("the fault was injected");
    assert!(failed > 5, "{lines:?}");
    assert!(lines[failed].starts_with(&format!("error {failed} Closed unknown ")), "{}", lines[failed]);
    assert!(lines[failed].contains("disk failed"), "{}", lines[failed]);
    for (operation, line) in lines.iter().enumerate().take(40).skip(failed + 1) {
        assert!(line.starts_with(&format!("error {operation} Closed unwritten ")), "{line}");
    }
    assert!(lines[40].starts_with("load Closed "), "{}", lines[40]);
    let present = present(&database, 40).await;
    assert!(present[..failed].iter().all(|present| *present), "an acknowledged commit is lost");
    assert!(!present[failed + 1..].iter().any(|present| *present), "a refused commit was written");
}

#[tokio::test]
async fn a_full_disk_refuses_commits_and_heals() {
    let place = tempfile::tempdir().expect("a directory");
    let database = place.path().join("fault.db");
    let lines = with_fault("pwrite64:error=ENOSPC:when=100..119", &database, 60);
    let present = present(&database, 60).await;
    let mut refused = 0;
    for (operation, line) in lines.iter().enumerate().take(60) {
        if line.starts_with("ok ") {
            assert!(present[operation], "operation {operation} was acknowledged");
        } else {
            assert!(line.starts_with(&format!("error {operation} Full unwritten ")), "{line}");
            assert!(!present[operation], "operation {operation} was said to be unwritten");
            refused += 1;
        }
    }
    assert!(refused > 5, "{lines:?}");
    assert!(lines[59].starts_with("ok "), "it heals: {lines:?}");
    assert_eq!(lines[60], "load 1");
}

#[tokio::test]
async fn a_place_that_may_only_be_read_is_refused() {
    let place = tempfile::tempdir().expect("a directory");
    let database = place.path().join("made.db");
    let made = sqlite::open(&database, Options::default()).await.expect("the store opens");
    made.close().await.expect("the store closes");
    let child = place.path().join("store-child");
    std::fs::copy(CHILD, &child).expect("the child is copied to where anybody can run it");
    let set_mode = |path: &Path, mode: u32| {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("a mode is set");
    };
    set_mode(&database, 0o444);
    set_mode(place.path(), 0o555);
    let before = listing(place.path());
    for name in ["made.db", "new.db"] {
        let mut command = Command::new(&child);
        command.arg("open").arg(place.path().join(name));
        if rustix::process::geteuid().is_root() {
            // The superuser may write anywhere.
            use std::os::unix::process::CommandExt as _;
            command.uid(65534).gid(65534);
        }
        let output = command.output().expect("the child runs");
        let said = String::from_utf8(output.stdout).expect("the child prints text");
        assert!(said.starts_with("ReadOnly ") && said.contains("writable"), "{name}: {said}");
    }
    assert_eq!(listing(place.path()), before);
    set_mode(place.path(), 0o755);
}

fn listing(place: &Path) -> Vec<(std::ffi::OsString, u64)> {
    let files = std::fs::read_dir(place).expect("the directory is there").map(|file| file.expect("a file"));
    let mut files: Vec<_> = files.map(|file| (file.file_name(), file.metadata().expect("its length").len())).collect();
    files.sort();
    files
}

/// A process that holds a store open.
struct Holder {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Holder {
    fn start(database: &Path) -> Self {
        let mut command = Command::new(CHILD);
        let mut child = command
            .arg("hold")
            .arg(database)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the child runs");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        Self { child, lines }
    }

    fn line(&mut self) -> String {
        self.lines.next().expect("the child says something").expect("text")
    }

    fn commit(&mut self, key: &str) {
        writeln!(self.child.stdin.as_mut().expect("piped"), "{key}").expect("the child listens");
        assert_eq!(self.line(), "committed true");
    }

    /// Processor time used so far, in ticks of ten milliseconds.
    fn ticks(&self) -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).expect("the child is there");
        let (_, behind) = stat.rsplit_once(')').expect("a name in brackets");
        let field =
            |at: usize| -> u64 { behind.split_whitespace().nth(at).expect("a field").parse().expect("a number") };
        field(11) + field(12)
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn within_seconds<F: Future>(seconds: u64, future: F) -> F::Output {
    #[allow(clippy::disallowed_methods)] // Another process moves in real time only.
    let waited = tokio::time::timeout(Duration::from_secs(seconds), future).await;
    waited.expect("it happens in time")
}

#[tokio::test]
async fn ownership_moves_when_the_owner_is_killed() {
    let place = tempfile::tempdir().expect("a directory");
    let database = place.path().join("shared.db");
    let mut holder = Holder::start(&database);
    assert_eq!(holder.line(), "home Everywhere");
    let store = sqlite::open(&database, Options::default()).await.expect("a second process may open it");
    let mut home = store.home();
    assert_eq!(*home.borrow(), Home::Nowhere);

    let mut hints = store.watch();
    holder.commit("from/child");
    let hint = futures_util::StreamExt::next(&mut hints);
    within_seconds(20, hint).await.expect("a hint from another process");
    let found = store.load(Partition(0), &[Key::new("from/child")]).await.expect("the store loads");
    assert!(found[0].is_some());

    holder.child.kill().expect("the owner is killed");
    holder.child.wait().expect("the owner is gone");
    within_seconds(20, home.wait_for(|home| *home == Home::Everywhere)).await.expect("ownership moves");
    let found = store.load(Partition(0), &[Key::new("from/child")]).await.expect("the store loads");
    assert!(found[0].is_some(), "what the dead owner committed stays");
}

#[tokio::test]
#[allow(clippy::disallowed_methods)]
async fn an_idle_store_costs_no_processor_time() {
    let place = tempfile::tempdir().expect("a directory");
    let mut holder = Holder::start(&place.path().join("idle.db"));
    assert_eq!(holder.line(), "home Everywhere");
    holder.commit("one");
    // not synchronisation: the looks that follow a commit end within this time, and idling takes real time.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let before = holder.ticks();
    // not synchronisation: this is the span that is measured.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let used = holder.ticks() - before;
    assert!(used <= 1, "an idle store used {used} ticks in three seconds");
}
