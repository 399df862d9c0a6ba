//! How what was found is shown: fields, tables, and JSON as the HTTP API gives it.

use crate::time::show;
use onward::{Description, Millis, Payload};
use onward_core::{Json, What};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The longest value that is shown whole in text.
const VALUE_CHARS_MAX: usize = 400;

/// The fields of an execution by name.
pub(crate) type Fields = BTreeMap<String, Field>;

/// What a field holds.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Field {
    /// Something that this program says.
    Said(Value),
    /// JSON that somebody else wrote, shown exactly as it was written.
    Written(Json),
}

/// The fields of an execution for people: those of its JSON, with times that can be read.
pub(crate) fn fields(of: &Description) -> Fields {
    let Value::Object(fields) = json!(of) else { return Fields::new() };
    let shown = |(name, value): (String, Value)| match value.as_u64() {
        Some(at) if name.ends_with("_at") => (name, Field::Said(json!(show(Millis(at))))),
        _ => (name, Field::Said(value)),
    };
    fields.into_iter().map(shown).collect()
}

/// A payload: itself when it is JSON, else what it is and how long.
pub(crate) fn payload(payload: Payload) -> Field {
    match payload {
        Payload::Json(json) => Field::Written(json),
        other => Field::Said(json!({ "content_type": other.content_type(), "bytes": other.as_bytes().len() })),
    }
}

/// Anything as JSON text. It does not pass through a [`Value`], which would round long numbers and drop repeated names.
pub(crate) fn text<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// What an event holds beside its type, for people.
pub(crate) fn detail(what: &What) -> String {
    let mut value = json!(what);
    let fields = value.as_object_mut();
    match fields {
        Some(fields) if fields.len() > 1 => {
            fields.remove("type");
            json!(fields).to_string()
        }
        _ => String::new(),
    }
}

/// Rows as aligned columns; the first row holds their names.
pub(crate) fn table<const COLUMNS: usize>(rows: &[[String; COLUMNS]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; COLUMNS] = std::array::from_fn(width);
    let mut text = String::new();
    for row in rows {
        let cells: Vec<_> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// Fields as aligned lines; a long value is cut, since a person looks at it.
pub(crate) fn lines(fields: &Fields) -> String {
    let width = fields.keys().map(String::len).max().unwrap_or(0);
    fields.iter().map(|(name, value)| format!("{name:width$}  {}\n", short(value))).collect()
}

fn short(field: &Field) -> String {
    let text = match field {
        Field::Said(Value::String(text)) => text.clone(),
        Field::Said(other) => other.to_string(),
        Field::Written(json) => json.as_str().to_owned(),
    };
    match text.char_indices().nth(VALUE_CHARS_MAX) {
        Some((end, _)) => format!("{}... ({} bytes; see all with --json)", &text[..end], text.len()),
        None => text,
    }
}
