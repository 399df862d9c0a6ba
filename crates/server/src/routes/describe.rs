//! The OpenAPI description: that of each handler, and what all of them have in common.

use crate::access::{Access, call};
use crate::repeat::Repeat;
use onward_core::record::Role;
use serde_json::json;
use utoipa::openapi::extensions::ExtensionsBuilder;
use utoipa::openapi::link::Link;
use utoipa::openapi::path::{Operation, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::Components;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{Content, Info, OpenApi, Ref, RefOr, ResponseBuilder};

const ABOUT: &str = "Durable execution over HTTP: submit executions, run them with workers in any language, read and change them. \
An accepted execution ends exactly once; its handler runs at least once. A time is in milliseconds since 1970 and a duration \
in milliseconds; requests can also use text such as `2030-01-01T09:00:00Z` and `30s`. An error response is \
`application/problem+json` with a stable `code`.";

/// Error responses that any call can return.
const REFUSALS: [(&str, &str); 11] = [
    ("400", "The request is invalid; `field` names the invalid field"),
    ("401", "The request has no valid API key"),
    ("403", "The API key or the token does not allow this call"),
    ("404", "Not found in this namespace"),
    ("408", "The body took too long to arrive"),
    ("409", "The state of the execution does not allow this call"),
    ("410", "The execution is being removed"),
    ("413", "The body or a payload is too large"),
    ("415", "The body is not JSON"),
    ("429", "The server is overloaded; retry later"),
    ("503", "The store is unavailable or the server is stopping; retry"),
];

/// The complete description.
pub(crate) fn describe() -> OpenApi {
    let mut api = super::raw();
    api.info = Info::new("Onward", env!("CARGO_PKG_VERSION"));
    api.info.description = Some(ABOUT.to_owned());
    let components = api.components.get_or_insert_with(Components::new);
    let mut scheme = Http::new(HttpAuthScheme::Bearer);
    scheme.description = Some("An API key, as returned by `onward key create` and `POST /v1/keys`.".to_owned());
    components.add_security_scheme("key", SecurityScheme::Http(scheme));
    for item in api.paths.paths.values_mut() {
        let operations = [&mut item.get, &mut item.post, &mut item.patch, &mut item.delete];
        for operation in operations.into_iter().flatten() {
            name(operation);
            complete(operation);
        }
    }
    lead_on(&mut api);
    api
}

/// Makes the id of an operation unique: the function name alone is unique only within its tag.
fn name(operation: &mut Operation) {
    let tag = operation.tags.iter().flatten().next();
    if let (Some(tag), Some(id)) = (tag, &operation.operation_id) {
        operation.operation_id = Some(format!("{tag}_{id}"));
    }
}

/// Links the response of a submit to the operations on that execution.
fn lead_on(api: &mut OpenApi) {
    let paths = &mut api.paths.paths;
    let of_one = paths.iter().filter(|(path, _)| path.starts_with("/v1/executions/{id}"));
    let operations = of_one.flat_map(|(_, item)| [&item.get, &item.post, &item.delete]).flatten();
    let names: Vec<String> = operations.filter_map(|operation| operation.operation_id.clone()).collect();
    let Some(submit) = paths.get_mut("/v1/executions").and_then(|item| item.post.as_mut()) else { return };
    for status in ["200", "201"] {
        let Some(RefOr::T(response)) = submit.responses.responses.get_mut(status) else { continue };
        for name in &names {
            let link = Link::builder().operation_id(name.clone()).parameter("id", "$response.body#/id").build();
            response.links.insert(name.clone(), RefOr::T(link));
        }
    }
}

fn complete(operation: &mut Operation) {
    match Access::of(operation) {
        Some(Access::Roles(roles)) => guard(operation, &roles),
        Some(Access::Token) => {}
        Some(Access::Anybody) | None => return,
    }
    let repeat = call(operation).and_then(Repeat::of);
    if let (Some(repeat), Some(extensions)) = (repeat, &mut operation.extensions) {
        extensions.insert("x-repeat".to_owned(), json!(repeat.as_str()));
    }
    if repeat == Some(Repeat::Known) {
        let about = "Names the call: a repeat with the same key returns the first response.";
        let key = ParameterBuilder::new()
            .name("Idempotency-Key")
            .parameter_in(ParameterIn::Header)
            .description(Some(about))
            .schema(Some(Ref::from_schema_name("IdempotencyKey")))
            .build();
        operation.parameters.get_or_insert_with(Vec::new).push(RefOr::T(key));
    }
    for (status, about) in REFUSALS {
        let problem = Content::new(Some(Ref::from_schema_name("Problem")));
        let response = ResponseBuilder::new().description(about).content("application/problem+json", problem).build();
        operation.responses.responses.entry(status.to_owned()).or_insert(RefOr::T(response));
    }
}

/// What calls with an API key have in common.
fn guard(operation: &mut Operation, roles: &[Role]) {
    let roles: Vec<&str> = roles.iter().chain(&[Role::Admin]).map(|role| role.as_str()).collect();
    let extensions = operation.extensions.get_or_insert_with(|| ExtensionsBuilder::new().build());
    extensions.insert("x-roles".to_owned(), json!(roles));
    operation.security = Some(vec![SecurityRequirement::new("key", Vec::<String>::new())]);
    let about =
        "Namespace of the call; by default the namespace of the API key if it has exactly one, otherwise `default`.";
    let namespace = ParameterBuilder::new()
        .name("Onward-Namespace")
        .parameter_in(ParameterIn::Header)
        .description(Some(about))
        .schema(Some(Ref::from_schema_name("Namespace")))
        .build();
    operation.parameters.get_or_insert_with(Vec::new).push(RefOr::T(namespace));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::operations;
    use onward::call::Ask;
    use std::collections::BTreeSet;

    /// Every route names the roles that may call it and its client call, and every client call has a route.
    #[test]
    fn every_route_is_guarded_named_and_serves_a_call() {
        let api = super::super::raw();
        let (mut names, mut calls) = (BTreeSet::new(), BTreeSet::new());
        println!("{:6} {:36} {:14} {:28} description", "method", "route", "call", "roles");
        for (path, item) in &api.paths.paths {
            for (method, operation) in operations(item) {
                let Some(operation) = operation else { continue };
                let roles = match Access::of(operation) {
                    Some(Access::Roles(roles)) => roles.iter().map(|role| role.as_str()).collect::<Vec<_>>().join(" "),
                    Some(Access::Anybody) => "anybody".to_owned(),
                    Some(Access::Token) => "token".to_owned(),
                    None => panic!("{method} {path} does not say who may call it"),
                };
                let call = call(operation);
                let about = operation.summary.clone().unwrap_or_default();
                println!("{method:6} {path:36} {:14} {roles:28} {about}", call.unwrap_or("-"));
                assert!(!about.is_empty(), "{method} {path} is not described");
                assert!(call.is_some() == path.starts_with("/v1/"), "{method} {path} serves no call");
                calls.extend(call.map(str::to_owned));
            }
        }
        for item in describe().paths.paths.values() {
            for name in operations(item).into_iter().filter_map(|(_, operation)| operation?.operation_id.clone()) {
                assert!(names.insert(name.clone()), "{name} twice");
            }
        }
        assert_eq!(calls, Ask::NAMES.iter().map(|name| (*name).to_owned()).collect());
    }

    /// Every call says what a repeat of it does, and the manual says the same for each route that changes something.
    #[test]
    fn what_a_repeat_does_is_decided_and_written_down() {
        let manual = include_str!("../../../../docs/http.md");
        for (path, item) in &super::super::raw().paths.paths {
            for (method, operation) in operations(item) {
                let Some(call) = operation.and_then(call) else { continue };
                let repeat = Repeat::of(call).unwrap_or_else(|| panic!("{call}: what a repeat does is not decided"));
                let row = format!("| `{method} {path}` | {} |", repeat.as_str());
                assert!(method == "GET" || manual.contains(&row), "the manual lacks {row}");
                assert!(method != "GET" || repeat == Repeat::Harmless, "{path} reads");
            }
        }
    }

    /// Every referenced schema exists.
    #[test]
    fn every_shape_that_is_named_is_described() {
        let api = describe();
        let text = api.to_json().unwrap();
        let known = api.components.unwrap().schemas;
        for name in text.split("#/components/schemas/").skip(1).filter_map(|rest| rest.split('"').next()) {
            assert!(known.contains_key(name), "{name}");
        }
    }
}
