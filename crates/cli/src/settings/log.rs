//! What a server logs and how.

use super::kind::Kind;
use super::raw::Raw;
use serde::Serialize;
use tracing_subscriber::EnvFilter;

const LEVELS: [&str; 6] = ["error", "warn", "info", "debug", "trace", "off"];

/// What is logged.
#[derive(Debug)]
pub(crate) struct Filter;

impl Kind for Filter {
    type Value = String;

    fn allowed(&self) -> String {
        format!("one of {}, or such as info,onward_engine=debug", LEVELS.join(", "))
    }

    fn read(&self, raw: &Raw) -> Option<String> {
        let (Raw::Plain(text) | Raw::Text(text)) = raw else { return None };
        // A bare word that is no level would be taken for a part of the program, and a misspelt level silence the rest.
        let is_clear = |part: &str| part.contains('=') || LEVELS.contains(&part);
        (text.split(',').all(is_clear) && EnvFilter::try_new(text).is_ok()).then(|| text.clone())
    }
}

/// How it is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogFormat {
    /// Lines for people.
    Text,
    /// One object in each line.
    Json,
}

impl LogFormat {
    const ALL: [(&'static str, Self); 2] = [("text", Self::Text), ("json", Self::Json)];
}

/// How it is logged, as a setting.
#[derive(Debug)]
pub(crate) struct Format;

impl Kind for Format {
    type Value = LogFormat;

    fn allowed(&self) -> String {
        LogFormat::ALL.map(|(name, _)| name).join(" or ")
    }

    fn read(&self, raw: &Raw) -> Option<LogFormat> {
        let (Raw::Plain(text) | Raw::Text(text)) = raw else { return None };
        LogFormat::ALL.iter().find(|(name, _)| name == text).map(|(_, format)| *format)
    }
}
