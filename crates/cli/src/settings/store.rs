//! The address of a store, which may hold a password that nobody else should see.

use super::kind::Kind;
use super::raw::Raw;
use serde_json::{Value, json};

/// The address of a store.
#[derive(Debug)]
pub(crate) struct Store;

impl Kind for Store {
    type Value = String;

    fn allowed(&self) -> String {
        "the address of a store in quotes, such as \"sqlite:onward.db\"".to_owned()
    }

    /// Any text; the sentence that explains a wrong address is the same for all commands.
    fn read(&self, raw: &Raw) -> Option<String> {
        let (Raw::Plain(text) | Raw::Text(text)) = raw else { return None };
        Some(text.clone())
    }

    fn json(&self, value: &String) -> Value {
        json!(shown(value))
    }
}

/// An address without whatever may be secret: names and passwords before the host, and options behind it.
fn shown(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else { return address.to_owned() };
    let (before, place) = rest.rsplit_once('@').map_or((None, rest), |(before, place)| (Some(before), place));
    // An @ behind a ? is part of an option or of a password, and nothing tells which.
    if before.is_some_and(|before| before.contains(['?', '#'])) {
        return format!("{scheme}://…");
    }
    let hidden = if before.is_some() { "…@" } else { "" };
    match place.split_once(['?', '#']) {
        Some((place, _)) => format!("{scheme}://{hidden}{place}?…"),
        None => format!("{scheme}://{hidden}{place}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_secret_is_shown() {
        for (address, expected) in [
            ("sqlite:onward.db", "sqlite:onward.db"),
            ("memory:", "memory:"),
            ("postgres://db.example.com/onward", "postgres://db.example.com/onward"),
            ("postgres://ada:secret@db:5432/onward", "postgres://…@db:5432/onward"),
            ("postgres://ada:sec/ret@db/onward", "postgres://…@db/onward"),
            ("postgres://ada:sec@ret@db/onward", "postgres://…@db/onward"),
            ("postgres://ada:sec?ret@db/onward", "postgres://…"),
            ("postgres://db/onward?password=secret", "postgres://db/onward?…"),
            ("postgres://db/onward?password=a@secret", "postgres://…"),
            ("valkey://:secret@a:1,b:2", "valkey://…@a:1,b:2"),
            ("redis://secret@a", "redis://…@a"),
        ] {
            assert_eq!(shown(address), expected, "{address}");
        }
    }
}
