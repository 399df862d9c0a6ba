//! Settings in a file, each with the line where it stands.

use super::mistake::Mistake;
use super::raw::Raw;
use super::setting::About;
use super::source::SettingSource;
use super::table::ALL;
use std::collections::BTreeMap;
use std::io::Read;
use toml::de::{DeTable, DeValue};

/// No file of settings is near this; a device or a wrong file may be endless.
const BYTES_MAX: u64 = 1024 * 1024;

/// How alike a name must be to one that exists to be taken for a slip.
const LIKENESS_MIN: f64 = 0.8;

/// What a file holds.
#[derive(Debug, Default)]
pub(crate) struct File {
    pub(crate) path: String,
    entries: BTreeMap<&'static str, (usize, Raw)>,
}

impl File {
    /// Reads a file that was named somewhere.
    pub(crate) fn read(path: &str, named: &SettingSource) -> Result<Self, Mistake> {
        let unreadable = |why: String| Mistake::Unreadable { place: named.clone(), path: path.to_owned(), why };
        let file = std::fs::File::open(path).map_err(|error| unreadable(error.to_string()))?;
        let mut text = String::new();
        file.take(BYTES_MAX + 1).read_to_string(&mut text).map_err(|error| unreadable(error.to_string()))?;
        if text.len() as u64 > BYTES_MAX {
            return Err(unreadable(format!("it has more than {BYTES_MAX} bytes")));
        }
        Self::parse(path, &text)
    }

    /// Reads the text of a file. An error repeats no line of it, since one may hold a password.
    pub(crate) fn parse(path: &str, text: &str) -> Result<Self, Mistake> {
        let line = |at: usize| text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1;
        let table = DeTable::parse(text).map_err(|error| Mistake::Malformed {
            path: path.to_owned(),
            line: line(error.span().map_or(0, |span| span.start)),
            why: error.message().to_owned(),
        })?;
        let mut entries = BTreeMap::new();
        for (key, value) in table.into_inner() {
            let (line, name) = (line(key.span().start), key.into_inner());
            let Some(about) = ALL.iter().find(|about| about.name == name) else {
                let nearest = nearest(&name);
                return Err(Mistake::Unknown { path: path.to_owned(), line, name: name.into_owned(), nearest });
            };
            entries.insert(about.name, (line, raw(value.into_inner())));
        }
        Ok(Self { path: path.to_owned(), entries })
    }

    /// What it says about a setting.
    pub(crate) fn get(&self, about: &About) -> Option<(SettingSource, Raw)> {
        let (line, raw) = self.entries.get(about.name)?;
        Some((SettingSource::File { path: self.path.clone(), line: *line, name: about.name }, raw.clone()))
    }
}

fn raw(value: DeValue<'_>) -> Raw {
    match value {
        DeValue::String(text) => Raw::Text(text.into_owned()),
        DeValue::Integer(number) => {
            let read = i64::from_str_radix(number.as_str(), number.radix());
            read.map_or(Raw::Other("a number beyond all bounds"), Raw::Number)
        }
        DeValue::Boolean(is_on) => Raw::Switch(is_on),
        DeValue::Array(values) => {
            let texts: Option<Vec<String>> = values
                .into_iter()
                .map(|value| match value.into_inner() {
                    DeValue::String(text) => Some(text.into_owned()),
                    _ => None,
                })
                .collect();
            texts.map_or(Raw::Other("a list that holds more than texts"), Raw::List)
        }
        DeValue::Float(_) => Raw::Other("a number with a fraction"),
        DeValue::Datetime(_) => Raw::Other("a time"),
        DeValue::Table(_) => Raw::Other("a table"),
    }
}

/// The setting that was probably meant.
fn nearest(name: &str) -> Option<&'static str> {
    let likeness =
        |about: &&About| (strsim::jaro_winkler(&name.to_lowercase().replace('-', "_"), about.name), about.name);
    let best = ALL.iter().map(likeness).max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 >= LIKENESS_MIN).then_some(best.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> (String, String) {
        let mistake = File::parse("onward.toml", text).unwrap_err();
        (mistake.code().to_owned(), mistake.to_string())
    }

    #[test]
    fn unknown_names_are_refused_with_the_one_that_was_meant() {
        for (text, line, name, meant) in [
            ("conections = 5", 1, "conections", "; did you mean \"connections\"?"),
            ("\n\nrequire-keys = true", 3, "require-keys", "; did you mean \"require_keys\"?"),
            ("Bind = 1", 1, "Bind", "; did you mean \"bind\"?"),
            ("bind = \"x\"\nxyz = 1", 2, "xyz", ""),
            ("[limits]\nconnections = 5", 1, "limits", ""),
        ] {
            let expected = format!("onward.toml, line {line}: there is no setting {name:?}{meant}");
            assert_eq!(refused(text), ("unknown_setting".to_owned(), expected));
        }
    }

    #[test]
    fn what_is_not_toml_is_refused_with_its_line_and_without_its_content() {
        for (text, line) in [
            ("bind", 1),
            ("grace = \"1s\"\nstore = \"postgres://ada:secret@db", 2),
            ("grace = \"1s\"\ngrace = \"2s\"", 2),
            ("\nconnections = secret", 2),
        ] {
            let (code, sentence) = refused(text);
            assert_eq!(code, "config_malformed", "{sentence}");
            assert!(sentence.starts_with(&format!("onward.toml, line {line}: this is not TOML: ")), "{sentence}");
            assert!(!sentence.contains("secret"), "{sentence}");
        }
    }

    #[test]
    fn values_keep_their_shape_and_their_line() {
        let text = "# first\nbind = 'x'\nconnections = 0x10\nrequire_keys = true\ncors = [\n'a', 'b']\ngrace = 1.5\n";
        let file = File::parse("f", text).unwrap();
        for (name, line, raw) in [
            ("bind", 2, Raw::Text("x".to_owned())),
            ("connections", 3, Raw::Number(16)),
            ("require_keys", 4, Raw::Switch(true)),
            ("cors", 5, Raw::List(vec!["a".to_owned(), "b".to_owned()])),
            ("grace", 7, Raw::Other("a number with a fraction")),
        ] {
            assert_eq!(file.entries[name], (line, raw), "{name}");
        }
        assert_eq!(file.entries.len(), 5);
    }

    #[test]
    fn files_that_cannot_be_read_are_named_with_who_named_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        std::fs::write(path("bytes"), b"bind = '\xff'").unwrap();
        std::fs::write(path("large"), "#".repeat(1024 * 1024 + 1)).unwrap();
        for name in ["missing", "", "bytes", "large"] {
            let mistake = File::read(&path(name), &SettingSource::Environment("ONWARD_CONFIG")).unwrap_err();
            assert_eq!(mistake.code(), "config_unreadable");
            assert!(mistake.to_string().starts_with("ONWARD_CONFIG: "), "{mistake}");
        }
    }
}
