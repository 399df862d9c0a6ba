//! How a process of a run tells what happened: one line on standard output, written before anything else goes on.

use onward_checker::Line;
use std::io::Write;

/// Writes a line whole. Whoever cannot tell what was acknowledged must not go on.
pub(crate) fn tell(line: &Line) {
    let mut text = serde_json::to_vec(line).expect("a line is made of text and numbers");
    text.push(b'\n');
    if let Err(error) = std::io::stdout().lock().write_all(&text) {
        eprintln!("a line could not be written: {error}");
        std::process::exit(1);
    }
}

/// A call was answered by an error.
pub(crate) fn tell_failed(call: &str, code: &str) {
    tell(&Line::Failed { call: call.to_owned(), code: code.to_owned(), at: crate::clock::now() });
}
