//! The description of the API: what the handlers say, and what holds for all of them.

use crate::access::Access;
use onward_core::record::Role;
use serde_json::json;
use utoipa::openapi::extensions::ExtensionsBuilder;
use utoipa::openapi::link::Link;
use utoipa::openapi::path::{Operation, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::Components;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{Content, Info, OpenApi, Ref, RefOr, ResponseBuilder};

const ABOUT: &str = "Durable execution over HTTP. Submit work, run it with workers in any language, look at it, steer it. \
An accepted execution reaches exactly one end; handlers run at least once. Times are milliseconds since 1970 and lengths of \
time milliseconds; a caller may also write `2030-01-01T09:00:00Z` and `30s`. A refusal is `application/problem+json` with a \
stable `code`.";

/// What any call may be answered instead of what it asked for.
const REFUSALS: [(&str, &str); 11] = [
    ("400", "The call is wrong; `field` says where"),
    ("401", "The call has no key that is good"),
    ("403", "The key does not allow this"),
    ("404", "There is no such thing in this namespace"),
    ("408", "The body took too long to arrive"),
    ("409", "The execution's state does not allow this"),
    ("410", "The execution was removed"),
    ("413", "The body or a payload is too large"),
    ("415", "The body is not JSON"),
    ("429", "Too much is going on; try again later"),
    ("503", "The store is away or the server is stopping; try again"),
];

/// The whole description.
pub(crate) fn describe() -> OpenApi {
    let mut api = super::raw();
    api.info = Info::new("Onward", env!("CARGO_PKG_VERSION"));
    api.info.description = Some(ABOUT.to_owned());
    let components = api.components.get_or_insert_with(Components::new);
    let mut scheme = Http::new(HttpAuthScheme::Bearer);
    scheme.description = Some("A key, as `onward key create` and `POST /v1/keys` give it.".to_owned());
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

/// Gives an operation a name of its own: its function's is unique among those of its tag only.
fn name(operation: &mut Operation) {
    let tag = operation.tags.iter().flatten().next();
    if let (Some(tag), Some(id)) = (tag, &operation.operation_id) {
        operation.operation_id = Some(format!("{tag}_{id}"));
    }
}

/// Says what can be done with an execution that was just submitted.
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
    let Some(Access::Roles(roles)) = Access::of(operation) else { return };
    let roles: Vec<&str> = roles.iter().chain(&[Role::Admin]).map(|role| role.as_str()).collect();
    let extensions = operation.extensions.get_or_insert_with(|| ExtensionsBuilder::new().build());
    extensions.insert("x-roles".to_owned(), json!(roles));
    operation.security = Some(vec![SecurityRequirement::new("key", Vec::<String>::new())]);
    let about = "Whose work; the only namespace of the key, or `default`, when absent.";
    let namespace = ParameterBuilder::new()
        .name("Onward-Namespace")
        .parameter_in(ParameterIn::Header)
        .description(Some(about))
        .schema(Some(Ref::from_schema_name("Namespace")))
        .build();
    operation.parameters.get_or_insert_with(Vec::new).push(RefOr::T(namespace));
    for (status, about) in REFUSALS {
        let problem = Content::new(Some(Ref::from_schema_name("Problem")));
        let response = ResponseBuilder::new().description(about).content("application/problem+json", problem).build();
        operation.responses.responses.entry(status.to_owned()).or_insert(RefOr::T(response));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::operations;
    use onward::call::Ask;
    use std::collections::BTreeSet;

    /// Every route says who may call it and which call of the client it serves, and every call has a route.
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
                    None => panic!("{method} {path} does not say who may call it"),
                };
                let call = operation.extensions.as_ref().and_then(|all| all.get("x-call")?.as_str());
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

    /// Nothing refers to a shape that is not there.
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
