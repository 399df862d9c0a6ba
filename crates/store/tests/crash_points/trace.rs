//! How a run is recorded and read back: system calls as `strace` prints them, as events on files.

use std::collections::BTreeMap;
use std::process::Command;

/// The name of the database in the child's directory.
pub(crate) const DATABASE: &str = "crash.db";

const CALLS: &str = "openat,unlink,unlinkat,rename,renameat,renameat2,write,pwrite64,writev,pwritev,pwritev2,\
    truncate,ftruncate,fallocate,fsync,fdatasync,sync_file_range,copy_file_range,sendfile";

/// Something that happened to a file of the database, to its directory, or an acknowledgement.
pub(crate) enum Event {
    /// A file was created.
    Created { file: String },
    /// A file was removed.
    Removed { file: String },
    /// Bytes were written.
    Written { file: String, offset: usize, bytes: Vec<u8> },
    /// A file was cut or extended.
    Truncated { file: String, length: usize },
    /// A sync began: it covers what was written before. An empty name is the directory.
    SyncBegan { file: String, id: usize },
    /// That sync came back.
    SyncEnded { id: usize },
    /// The child told its caller that this operation is committed.
    Acknowledged(u64),
}

/// Runs the child under `strace` and returns what happened, in order.
pub(crate) fn record(synchronous: &str, operations: u64) -> Vec<Event> {
    let place = tempfile::tempdir().expect("a directory");
    let directory = place.path().canonicalize().expect("a real path");
    let (trace, database) = (directory.join("trace"), directory.join(DATABASE));
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-y", "-xx", "-s", "1000000", "-e", &format!("trace={CALLS}"), "-o"]).arg(&trace);
    command.arg(env!("CARGO_BIN_EXE_store-child")).arg("workload").arg(&database).arg(synchronous);
    let output = command.arg(operations.to_string()).output();
    let output = output.unwrap_or_else(|error| panic!("cannot run strace ({error}): install it with `make deps`"));
    assert!(output.status.success(), "the child failed: {}", String::from_utf8_lossy(&output.stderr));
    let text = std::fs::read(&trace).expect("strace wrote a trace");
    let text = String::from_utf8(text).expect("strace prints text");
    let mut parser = Parser { directory: directory.display().to_string(), ..Parser::default() };
    for line in text.lines() {
        parser.line(line);
    }
    parser.events
}

#[derive(Default)]
struct Parser {
    directory: String,
    events: Vec<Event>,
    /// Calls of each thread that have begun and not come back.
    begun: BTreeMap<String, Call>,
    syncs: usize,
}

/// One system call as it began.
struct Call {
    name: String,
    arguments: String,
    sync: Option<usize>,
}

impl Parser {
    fn line(&mut self, line: &str) {
        let Some((thread, rest)) = line.split_once(' ') else { return };
        let rest = rest.trim_start();
        if let Some(resumed) = rest.strip_prefix("<... ") {
            let result = resumed.rsplit_once(" = ").map_or("?", |(_, result)| result);
            if let Some(call) = self.begun.remove(thread) {
                self.end(&call, result);
            }
        } else if let Some((name, rest)) = rest.split_once('(') {
            match rest.strip_suffix(" <unfinished ...>") {
                Some(arguments) => {
                    let call = self.begin(name, arguments);
                    self.begun.insert(thread.to_owned(), call);
                }
                None => {
                    let Some((arguments, result)) = rest.rsplit_once(" = ") else { return };
                    let call = self.begin(name, arguments.trim_end().trim_end_matches(')'));
                    self.end(&call, result);
                }
            }
        }
    }

    fn begin(&mut self, name: &str, arguments: &str) -> Call {
        let mut sync = None;
        match name {
            "fsync" | "fdatasync" => {
                if let Some(file) = self.file_of(path_of_descriptor(arguments)) {
                    self.syncs += 1;
                    sync = Some(self.syncs);
                    self.events.push(Event::SyncBegan { file, id: self.syncs });
                }
            }
            "write" if arguments.starts_with("1<") => {
                let said = String::from_utf8(quoted(arguments)).expect("the child prints text");
                let number = said.strip_prefix("ack ").and_then(|rest| rest.trim_end().parse().ok());
                self.events.push(Event::Acknowledged(number.expect("the child acknowledges numbers")));
            }
            _ => {}
        }
        Call { name: name.to_owned(), arguments: arguments.to_owned(), sync }
    }

    fn end(&mut self, call: &Call, result: &str) {
        let result = result.split(['<', ' ']).next().unwrap_or_default();
        let Ok(result) = result.parse::<i64>() else { return };
        if result < 0 {
            return;
        }
        let Call { name, arguments, sync } = call;
        match name.as_str() {
            "openat" => {
                let path = String::from_utf8(quoted(arguments)).ok();
                if let Some(file) = self.file_of(path).filter(|file| !file.is_empty() && arguments.contains("O_CREAT"))
                {
                    self.events.push(Event::Created { file });
                }
            }
            "unlink" => {
                if let Some(file) = self.file_of(String::from_utf8(quoted(arguments)).ok()) {
                    self.events.push(Event::Removed { file });
                }
            }
            "fsync" | "fdatasync" => {
                if let Some(id) = *sync {
                    self.events.push(Event::SyncEnded { id });
                }
            }
            _ => self.change(name, arguments, result),
        }
    }

    fn change(&mut self, name: &str, arguments: &str, result: i64) {
        let Some(file) = self.file_of(path_of_descriptor(arguments)) else { return };
        match name {
            "pwrite64" => {
                let mut bytes = quoted(arguments);
                bytes.truncate(usize::try_from(result).expect("a length"));
                self.events.push(Event::Written { file, offset: last_number(arguments), bytes });
            }
            "ftruncate" => self.events.push(Event::Truncated { file, length: last_number(arguments) }),
            other => panic!("the disk model does not know how {other} changes {file}"),
        }
    }

    /// The name of a file that matters after a crash, or an empty one for the directory.
    fn file_of(&self, path: Option<String>) -> Option<String> {
        let inside = path?.strip_prefix(&self.directory)?.trim_start_matches('/').to_owned();
        let matters = ["", "-wal", "-journal"].iter().any(|suffix| inside == format!("{DATABASE}{suffix}"));
        (inside.is_empty() || matters).then_some(inside)
    }
}

/// The path that strace prints behind a descriptor: `7<\x2f...>`.
fn path_of_descriptor(arguments: &str) -> Option<String> {
    let (_, rest) = arguments.split_once('<')?;
    let (path, _) = rest.split_once('>')?;
    String::from_utf8(unhex(path)).ok()
}

/// The first quoted string, all of it.
fn quoted(arguments: &str) -> Vec<u8> {
    let inside = arguments.split('"').nth(1).unwrap_or_default();
    assert!(!arguments.contains("\"..."), "strace cut a string short");
    unhex(inside)
}

fn last_number(arguments: &str) -> usize {
    arguments.rsplit(", ").next().and_then(|number| number.parse().ok()).expect("a number")
}

/// Bytes from `\x2f\x61`.
fn unhex(text: &str) -> Vec<u8> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => byte - b'0',
        b'a'..=b'f' => byte - b'a' + 10,
        other => panic!("{other} is no hexadecimal digit"),
    };
    let mut bytes = Vec::with_capacity(text.len() / 4);
    for code in text.as_bytes().chunks_exact(4) {
        bytes.push(digit(code[2]) << 4 | digit(code[3]));
    }
    bytes
}
