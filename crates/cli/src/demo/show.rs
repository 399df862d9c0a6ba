//! What the audience sees: headings, lines, and checks that either hold or do not.

use crate::output;
use serde_json::{Value, json};

/// The stage. With JSON it is dark, and only the checks are kept.
#[derive(Debug)]
pub(super) struct Show {
    json: bool,
    colour: bool,
    scenes: u32,
    checks: Vec<(bool, String)>,
}

impl Show {
    pub(super) fn new(json: bool) -> Self {
        Self { json, colour: output::in_colour(), scenes: 0, checks: Vec::new() }
    }

    /// Begins a scene.
    pub(super) fn scene(&mut self, title: &str) {
        self.scenes += 1;
        let heading = format!("{}. {title}", self.scenes);
        self.line(&format!("\n{}", self.paint("1", &heading)));
    }

    /// Says something.
    pub(super) fn say(&self, text: &str) {
        self.line(&format!("   {}  {text}", self.paint("2", "..")));
    }

    /// Shows something that must hold.
    pub(super) fn check(&mut self, holds: bool, text: &str) {
        let mark = if holds { self.paint("32", "ok") } else { self.paint("31", "NO") };
        self.line(&format!("   {mark}  {text}"));
        self.checks.push((holds, text.to_owned()));
    }

    /// Prints a plain line.
    pub(super) fn line(&self, text: &str) {
        if !self.json {
            output::print(text);
        }
    }

    /// How many checks held, and how many did not.
    pub(super) fn counts(&self) -> (usize, usize) {
        let held = self.checks.iter().filter(|(holds, _)| *holds).count();
        (held, self.checks.len() - held)
    }

    /// The checks, for programs.
    pub(super) fn checks(&self) -> Vec<Value> {
        self.checks.iter().map(|(holds, text)| json!({ "holds": holds, "what": text })).collect()
    }

    fn paint(&self, style: &str, text: &str) -> String {
        if self.colour { format!("\x1b[{style}m{text}\x1b[0m") } else { text.to_owned() }
    }
}
