//! The one order in which a value is looked for: typed, in the environment, in the file, and else the default.

use super::file::File;
use super::kind::Kind;
use super::mistake::Mistake;
use super::raw::Raw;
use super::setting::{About, Setting};
use super::source::SettingSource;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsString;

/// How the file is named.
pub(crate) const CONFIG_VARIABLE: &str = "ONWARD_CONFIG";

/// What was given to the program.
pub(crate) struct Given<'a> {
    /// The values that were typed, by the names of their settings, with their options.
    pub(crate) typed: BTreeMap<&'static str, (&'static str, String)>,
    /// The file that was typed.
    pub(crate) config: Option<String>,
    pub(crate) environment: &'a dyn Fn(&str) -> Option<OsString>,
}

/// A setting as it was found.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) place: SettingSource,
    pub(crate) json: Value,
    pub(crate) text: String,
}

/// All places, and what was taken from them so far.
pub(crate) struct Sources<'a> {
    given: &'a Given<'a>,
    file: Option<File>,
    pub(crate) rows: Vec<Row>,
}

impl<'a> Sources<'a> {
    /// Reads the file, if one is named.
    pub(crate) fn open(given: &'a Given<'a>) -> Result<Self, Mistake> {
        let named = match &given.config {
            Some(path) => Some((path.clone(), SettingSource::Flag("config"))),
            None => variable(given, CONFIG_VARIABLE)?.map(|path| (path, SettingSource::Environment(CONFIG_VARIABLE))),
        };
        let file = named.map(|(path, place)| File::read(&path, &place)).transpose()?;
        Ok(Self { given, file, rows: Vec::new() })
    }

    /// The file's path.
    pub(crate) fn file(&self) -> Option<&str> {
        self.file.as_ref().map(|file| file.path.as_str())
    }

    /// Takes a setting from where it counts most.
    pub(crate) fn take<K: Kind>(&mut self, setting: &Setting<K>) -> Result<K::Value, Mistake> {
        let (place, raw) = self.find(&setting.about)?;
        let Some(value) = setting.kind.read(&raw) else {
            return Err(Mistake::Value { place, found: raw.found(), allowed: setting.kind.allowed() });
        };
        let (json, text) = (setting.kind.json(&value), setting.kind.text(&value));
        self.rows.push(Row { name: setting.about.name, place, json, text });
        Ok(value)
    }

    /// Where a setting was taken from.
    pub(crate) fn place(&self, about: &About) -> SettingSource {
        self.rows.iter().find(|row| row.name == about.name).map_or(SettingSource::Default, |row| row.place.clone())
    }

    fn find(&self, about: &About) -> Result<(SettingSource, Raw), Mistake> {
        if let Some((flag, text)) = self.given.typed.get(about.name) {
            return Ok((SettingSource::Flag(flag), Raw::Plain(text.clone())));
        }
        if let Some(text) = variable(self.given, about.variable)? {
            return Ok((SettingSource::Environment(about.variable), Raw::Plain(text)));
        }
        let found = self.file.as_ref().and_then(|file| file.get(about));
        Ok(found.unwrap_or_else(|| (SettingSource::Default, Raw::Plain(about.default.to_owned()))))
    }
}

/// A variable of the environment. One that is empty counts as none, since many supervisors cannot take one away.
fn variable(given: &Given<'_>, name: &'static str) -> Result<Option<String>, Mistake> {
    let Some(value) = (given.environment)(name).filter(|value| !value.is_empty()) else { return Ok(None) };
    let not_text = |_| {
        let (found, allowed) = ("what it holds".to_owned(), "text in UTF-8".to_owned());
        Mistake::Value { place: SettingSource::Environment(name), found, allowed }
    };
    value.into_string().map(Some).map_err(not_text)
}
