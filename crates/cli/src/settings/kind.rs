//! The kinds of values that settings have: what each allows, how it is read, and how it is shown.

use super::raw::Raw;
use serde::Serialize;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::path::PathBuf;

/// A kind of values.
pub(crate) trait Kind {
    type Value: Serialize;
    /// What is allowed; it follows "is not".
    fn allowed(&self) -> String;
    /// The value, if it is one that is allowed.
    fn read(&self, raw: &Raw) -> Option<Self::Value>;
    /// The value for programs.
    fn json(&self, value: &Self::Value) -> Value {
        json!(value)
    }
    /// The value for people.
    fn text(&self, value: &Self::Value) -> String {
        match self.json(value) {
            Value::String(text) => text,
            Value::Null => "none".to_owned(),
            Value::Array(values) if values.is_empty() => "none".to_owned(),
            Value::Array(values) => values.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "),
            other => other.to_string(),
        }
    }
}

/// Yes or no.
#[derive(Debug)]
pub(crate) struct Switch;

impl Kind for Switch {
    type Value = bool;

    fn allowed(&self) -> String {
        "true or false".to_owned()
    }

    fn read(&self, raw: &Raw) -> Option<bool> {
        match raw {
            Raw::Switch(is_on) => Some(*is_on),
            Raw::Plain(text) => text.parse().ok(),
            _ => None,
        }
    }
}

/// An address to listen at.
#[derive(Debug)]
pub(crate) struct Listen;

impl Kind for Listen {
    type Value = SocketAddr;

    fn allowed(&self) -> String {
        "an address and a port such as 127.0.0.1:8700 or [::1]:8700".to_owned()
    }

    fn read(&self, raw: &Raw) -> Option<SocketAddr> {
        let (Raw::Plain(text) | Raw::Text(text)) = raw else { return None };
        text.parse().ok()
    }
}

/// A file, or none.
#[derive(Debug)]
pub(crate) struct Path;

impl Kind for Path {
    type Value = Option<PathBuf>;

    fn allowed(&self) -> String {
        "the path of a file in quotes".to_owned()
    }

    fn read(&self, raw: &Raw) -> Option<Option<PathBuf>> {
        let (Raw::Plain(text) | Raw::Text(text)) = raw else { return None };
        Some((!text.is_empty()).then(|| text.into()))
    }
}

/// The address of a collector of traces, or none.
#[derive(Debug)]
pub(crate) struct Collector;

impl Kind for Collector {
    type Value = Option<String>;

    fn allowed(&self) -> String {
        "the address of a collector such as http://localhost:4318, without encryption".to_owned()
    }

    fn read(&self, raw: &Raw) -> Option<Option<String>> {
        let (Raw::Plain(text) | Raw::Text(text)) = raw else { return None };
        if text.is_empty() {
            return Some(None);
        }
        let place = text.strip_prefix("http://")?;
        // A path is appended to it, and a password would be sent in the clear.
        let is_plain = place.chars().all(|c| c.is_ascii_graphic() && !"?#@".contains(c));
        (is_plain && !place.is_empty() && !place.starts_with('/')).then(|| Some(text.trim_end_matches('/').to_owned()))
    }
}

/// Origins of web pages.
#[derive(Debug)]
pub(crate) struct Origins;

impl Kind for Origins {
    type Value = Vec<String>;

    fn allowed(&self) -> String {
        "a list of origins such as https://tools.example.com, in small letters and without a path".to_owned()
    }

    fn read(&self, raw: &Raw) -> Option<Vec<String>> {
        let origins: Vec<String> = match raw {
            Raw::List(origins) => origins.clone(),
            Raw::Plain(text) if text.is_empty() => Vec::new(),
            Raw::Plain(text) => text.split(',').map(|origin| origin.trim().to_owned()).collect(),
            _ => return None,
        };
        origins.iter().all(|origin| is_origin(origin)).then_some(origins)
    }
}

/// Whether a browser could send this; an origin that none sends would let nobody in and look right.
fn is_origin(text: &str) -> bool {
    let Some((scheme, host)) = text.split_once("://") else { return false };
    let is_plain = |c: char| c.is_ascii_graphic() && !c.is_ascii_uppercase() && !"/?#@*,".contains(c);
    !scheme.is_empty() && !host.is_empty() && text.replacen("://", "", 1).chars().all(is_plain)
}
