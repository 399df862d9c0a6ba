//! Names every schema in the description: client generators create a type for each named schema and drop the others.

use serde_json::{Map, Value, json};
use utoipa::openapi::OpenApi;

const PREFIX: &str = "#/components/schemas/";

/// The description as it is served. Each variant of a union is a schema of its own, named after the union and its `type`.
pub(crate) fn named(api: &OpenApi) -> Value {
    let mut api = serde_json::to_value(api).unwrap_or_default();
    if let Some(Value::Object(schemas)) = api.pointer_mut("/components/schemas") {
        let before = schemas.clone();
        for (name, schema) in &before {
            if let Some(variants) = union(schema, &before) {
                name_variants(name, schema, variants, schemas);
            } else if let Some(of) = name.strip_prefix("ItemAnswer_")
                && let Some(ok) = schemas.get_mut(name).and_then(|schema| schema.pointer_mut("/properties/ok"))
            {
                *ok = reference(of);
            }
        }
    }
    drop_unused(&mut api);
    api
}

/// The variants of a union, each as a complete schema; `None` for any other schema.
fn union(schema: &Value, all: &Map<String, Value>) -> Option<Vec<Value>> {
    if let Some(variants) = schema.get("oneOf").and_then(Value::as_array) {
        let variants: Vec<Value> = variants.iter().map(|variant| whole(variant, all)).collect();
        return variants.iter().all(|variant| word(variant).is_some()).then_some(variants);
    }
    // A union beside fields that all its variants share.
    let parts = schema.get("allOf")?.as_array()?;
    let union_at = parts.iter().position(|part| resolve(part, all).get("oneOf").is_some())?;
    let variants = union(resolve(&parts[union_at], all), all)?;
    let shared: Vec<Value> =
        parts.iter().enumerate().filter(|(at, _)| *at != union_at).map(|(_, part)| part.clone()).collect();
    let with_shared = |variant: Value| merge(shared.iter().cloned().chain([variant]), all);
    Some(variants.into_iter().map(with_shared).collect())
}

/// Merges the parts of a schema with `allOf` into one.
fn whole(schema: &Value, all: &Map<String, Value>) -> Value {
    match schema.get("allOf").and_then(Value::as_array) {
        Some(parts) => {
            let mut merged = merge(parts.iter().cloned(), all);
            if let (Some(about), Some(merged)) = (schema.get("description"), merged.as_object_mut()) {
                merged.insert("description".to_owned(), about.clone());
            }
            merged
        }
        None => schema.clone(),
    }
}

fn merge(parts: impl Iterator<Item = Value>, all: &Map<String, Value>) -> Value {
    let (mut merged, mut properties, mut required) = (Map::new(), Map::new(), Vec::new());
    for part in parts {
        let part = resolve(&part, all).clone();
        let Value::Object(part) = part else { continue };
        for (key, value) in part {
            match (key.as_str(), value) {
                ("properties", Value::Object(more)) => properties.extend(more),
                ("required", Value::Array(more)) => required.extend(more),
                (_, value) => drop(merged.insert(key, value)),
            }
        }
    }
    merged.insert("properties".to_owned(), Value::Object(properties));
    merged.insert("required".to_owned(), Value::Array(required));
    Value::Object(merged)
}

fn resolve<'a>(schema: &'a Value, all: &'a Map<String, Value>) -> &'a Value {
    let name = schema.get("$ref").and_then(Value::as_str).and_then(|name| name.strip_prefix(PREFIX));
    name.and_then(|name| all.get(name)).unwrap_or(schema)
}

/// The value of `type` in a variant.
fn word(variant: &Value) -> Option<&str> {
    match variant.pointer("/properties/type/enum")?.as_array()?.as_slice() {
        [word] => word.as_str(),
        _ => None,
    }
}

fn name_variants(name: &str, schema: &Value, variants: Vec<Value>, schemas: &mut Map<String, Value>) {
    let (mut names, mut mapping) = (Vec::new(), Map::new());
    for variant in variants {
        let Some(word) = word(&variant).map(str::to_owned) else { continue };
        let of_variant = format!("{name}{}", pascal(&word));
        mapping.insert(word, json!(format!("{PREFIX}{of_variant}")));
        names.push(reference(&of_variant));
        schemas.insert(of_variant, variant);
    }
    let discriminator = json!({ "propertyName": "type", "mapping": mapping });
    let mut union = json!({ "oneOf": names, "discriminator": discriminator });
    union["description"] = schema.get("description").cloned().unwrap_or_default();
    schemas.insert(name.to_owned(), union);
}

fn pascal(word: &str) -> String {
    let part = |part: &str| part.get(..1).unwrap_or_default().to_uppercase() + part.get(1..).unwrap_or_default();
    word.split('_').map(part).collect()
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("{PREFIX}{name}") })
}

/// Removes unreferenced schemas until every one is used.
fn drop_unused(api: &mut Value) {
    loop {
        let text = api.to_string();
        let Some(Value::Object(schemas)) = api.pointer_mut("/components/schemas") else { return };
        let before = schemas.len();
        schemas.retain(|name, _| text.contains(&format!("{PREFIX}{name}\"")));
        if schemas.len() == before {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routes::describe;

    /// Collects schemas for which a client generator would have to invent a name.
    fn nameless<'a>(value: &'a Value, at: &str, found: &mut Vec<String>) {
        let children: Vec<(String, &'a Value)> = match value {
            Value::Object(fields) => {
                for kind in ["oneOf", "anyOf", "allOf"] {
                    let variants = fields.get(kind).and_then(Value::as_array).into_iter().flatten();
                    found
                        .extend(variants.filter(|one| one.get("properties").is_some()).map(|_| format!("{at}/{kind}")));
                }
                fields.iter().map(|(name, value)| (format!("{at}/{name}"), value)).collect()
            }
            Value::Array(items) => items.iter().enumerate().map(|(n, item)| (format!("{at}/{n}"), item)).collect(),
            _ => Vec::new(),
        };
        children.iter().for_each(|(at, child)| nameless(child, at, found));
    }

    #[test]
    fn every_variant_of_a_union_has_a_name() {
        let api = named(&describe());
        let mut found = Vec::new();
        nameless(&api, "", &mut found);
        assert!(found.is_empty(), "{found:#?}");
        let schemas = api["components"]["schemas"].as_object().unwrap();
        for name in ["EventClaimed", "TransitionCancelled", "ActOutcomeStopRequested", "ActCancel", "AttemptEndFailed"]
        {
            assert!(schemas.contains_key(name), "{name}");
        }
        let text = api.to_string();
        for name in text.split(PREFIX).skip(1).filter_map(|rest| rest.split('"').next()) {
            assert!(schemas.contains_key(name), "{name} is named and not described");
        }
    }
}
