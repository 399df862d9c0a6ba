//! Who may call what: the check that stands before every route.

use crate::app::App;
use crate::problem::{Fault, Refusal};
use crate::repeat::Repeat;
use axum::extract::{FromRequestParts, MatchedPath, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, header};
use axum::middleware::Next;
use axum::response::Response;
use onward::Client;
use onward_core::record::{ApiKey, Role};
use onward_core::{CommandId, IdempotencyKey, Namespace};
use serde_json::Value;
use std::net::IpAddr;
use std::sync::Arc;
use utoipa::openapi::OpenApi;
use utoipa::openapi::path::{Operation, PathItem};

/// Names a call, so that a repeat of it gets the first answer.
pub(crate) const IDEMPOTENCY_KEY: &str = "idempotency-key";
/// Names the namespace of a call.
pub(crate) const NAMESPACE: &str = "onward-namespace";

/// Who may call a route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Access {
    /// Everybody.
    Anybody,
    /// Holders of a key with one of these roles; those with the role admin always.
    Roles(Vec<Role>),
    /// Whoever has a token for a wait, which is part of the request and checked there; no key is needed.
    Token,
}

/// Who may call which route, as the routes themselves say in their descriptions. A route that does not say may be called
/// by nobody.
#[derive(Debug)]
pub(crate) struct AccessTable(Vec<(Method, String, Access, Option<Repeat>)>);

/// The pages for people, and the description for programs; they are not part of the API.
pub(crate) const PAGES: [&str; 5] = ["/", "/docs", "/v1/openapi.json", "/approve", "/approve.js"];

impl AccessTable {
    pub(crate) fn of(api: &OpenApi) -> Self {
        let mut table: Vec<_> =
            PAGES.iter().map(|page| (Method::GET, (*page).to_owned(), Access::Anybody, None)).collect();
        for (path, item) in &api.paths.paths {
            for (method, operation) in operations(item) {
                if let Some((operation, access)) = operation.and_then(|all| Some((all, Access::of(all)?))) {
                    table.push((method, path.clone(), access, call(operation).and_then(Repeat::of)));
                }
            }
        }
        Self(table)
    }

    /// Who may call a route, and what a repeat does; nothing when the route does not say.
    pub(crate) fn find(&self, method: &Method, path: &str) -> Option<(&Access, Option<Repeat>)> {
        // Whoever may get something may also ask whether it is there.
        let method = if *method == Method::HEAD { &Method::GET } else { method };
        let mut rows = self.0.iter();
        let row = rows.find(|(known, route, ..)| known == method && route == path);
        row.map(|(_, _, access, repeat)| (access, *repeat))
    }
}

/// The operations of one path, each with its method.
pub(crate) fn operations(item: &PathItem) -> [(Method, Option<&Operation>); 4] {
    [
        (Method::GET, item.get.as_ref()),
        (Method::POST, item.post.as_ref()),
        (Method::PATCH, item.patch.as_ref()),
        (Method::DELETE, item.delete.as_ref()),
    ]
}

/// The client call that a route serves, as its description says.
pub(crate) fn call(operation: &Operation) -> Option<&str> {
    operation.extensions.as_ref()?.get("x-call")?.as_str()
}

impl Access {
    /// What the description of a route says.
    pub(crate) fn of(operation: &Operation) -> Option<Self> {
        match operation.extensions.as_ref()?.get("x-roles")? {
            Value::Array(words) => {
                words.iter().map(|word| Role::named(word.as_str()?)).collect::<Option<_>>().map(Self::Roles)
            }
            Value::String(word) if word == "token" => Some(Self::Token),
            word => (word == "anybody").then_some(Self::Anybody),
        }
    }

    fn allows(&self, key: &ApiKey) -> bool {
        match self {
            Self::Anybody | Self::Token => true,
            Self::Roles(roles) => key.roles.contains(&Role::Admin) || roles.iter().any(|role| key.roles.contains(role)),
        }
    }
}

/// Who calls, and in which namespace.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    /// The caller's key; nothing when keys are not required.
    pub(crate) key: Option<Arc<ApiKey>>,
    /// A client of the caller's namespace, in the name of its key.
    pub(crate) client: Client,
}

/// The header that names a call, if the request has it.
pub(crate) fn idempotency_key(headers: &HeaderMap) -> Result<Option<IdempotencyKey>, Refusal> {
    let Some(value) = headers.get(IDEMPOTENCY_KEY) else { return Ok(None) };
    let key = value.to_str().unwrap_or("\u{0}").parse::<IdempotencyKey>();
    Ok(Some(key.map_err(|error| Refusal::from(error).about("Idempotency-Key"))?))
}

impl Caller {
    /// The name of a command: a repeat of the call with the same key is the same command.
    pub(crate) fn command(&self, headers: &HeaderMap, what: &str) -> CommandId {
        let namespace = self.client.namespace().as_str().as_bytes();
        match headers.get(IDEMPOTENCY_KEY) {
            Some(key) => CommandId::of(&[namespace, what.as_bytes(), key.as_bytes()]),
            None => CommandId(self.client.chance().id()),
        }
    }

    /// Whether the caller may know of keys.
    pub(crate) fn sees_keys(&self) -> bool {
        self.key.as_ref().is_none_or(|key| key.roles.contains(&Role::Admin))
    }

    /// Whether the caller may know of a namespace.
    pub(crate) fn sees(&self, namespace: &Namespace) -> bool {
        self.key.as_ref().is_none_or(|key| key.reaches(namespace))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        parts.extensions.get::<Self>().cloned().ok_or_else(|| Refusal::unauthorized("the caller is unknown"))
    }
}

/// Lets a call through, or says why not.
pub(crate) async fn check(
    State(app): State<Arc<App>>,
    path: MatchedPath,
    mut request: Request,
    next: Next,
) -> Result<Response, Refusal> {
    let found = app.access.find(request.method(), path.as_str());
    let Some((access, repeat)) = found else { return Err(Refusal::no_method()) };
    if repeat == Some(Repeat::Unknown) && request.headers().contains_key(IDEMPOTENCY_KEY) {
        let detail = "this call cannot be named by an idempotency key";
        return Err(Refusal::new(Fault::NotRepeatable, detail).about("Idempotency-Key"));
    }
    if repeat == Some(Repeat::Known) {
        idempotency_key(request.headers())?;
    }
    if *access == Access::Token {
        check_host(&app, request.headers())?;
    } else if *access != Access::Anybody {
        let key = key(&app, request.headers()).await?;
        if key.as_ref().is_some_and(|key| !access.allows(key)) {
            return Err(Refusal::new(Fault::Forbidden, "the roles of the API key do not allow this call"));
        }
        let namespace = namespace(&request, key.as_deref())?;
        #[cfg(feature = "otel")]
        crate::spans::note(&namespace);
        let client = app.client(&namespace).acting_as(key.as_ref().map(|key| key.name.clone()));
        request.extensions_mut().insert(Caller { key, client });
    }
    Ok(next.run(request).await)
}

/// The caller's key; nothing when none is needed.
async fn key(app: &App, headers: &HeaderMap) -> Result<Option<Arc<ApiKey>>, Refusal> {
    check_host(app, headers)?;
    if !app.options.require_keys {
        return Ok(None);
    }
    let Some(value) = headers.get(header::AUTHORIZATION) else {
        return Err(Refusal::unauthorized("the call has no API key"));
    };
    let text = value.to_str().ok().and_then(|text| text.split_once(' '));
    let text = text.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")).map(|(_, key)| key.trim());
    let Some(text) = text else { return Err(Refusal::unauthorized("the API key is not sent as a bearer token")) };
    match app.keyring.find(app.engine(), text).await? {
        Some(key) => Ok(Some(key)),
        None => Err(Refusal::unauthorized("the API key is unknown, expired or revoked")),
    }
}

/// Without keys, a call must be meant for this machine.
fn check_host(app: &App, headers: &HeaderMap) -> Result<(), Refusal> {
    if app.options.require_keys || is_local(headers) {
        return Ok(());
    }
    Err(Refusal::new(Fault::Host, "the header Host is not localhost or a loopback address"))
}

/// Whether a call was meant for this machine. A web page whose name was made to lead here says its own name, and must not
/// use what every program on the machine may.
fn is_local(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(header::HOST).and_then(|host| host.to_str().ok()) else { return false };
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    // An address of version 6 stands in brackets, since it has colons itself.
    let address = match name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
        Some(inside) => inside.parse().map(IpAddr::V6),
        None => name.parse().map(IpAddr::V4),
    };
    name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

/// The namespace that a call names, or the only one of its key, or the default one. One that a key does not reach does not
/// exist for its holder.
fn namespace(request: &Request, key: Option<&ApiKey>) -> Result<Namespace, Refusal> {
    let in_header = request.headers().get(NAMESPACE).map(|value| value.to_str().unwrap_or("\u{fffd}").to_owned());
    let namespace = match in_header.or_else(|| in_query(request.uri().query()?)) {
        Some(text) => text.parse::<Namespace>().map_err(|error| Refusal::from(error).about("namespace"))?,
        None => match key.map(|key| &key.namespaces) {
            Some(only) if only.len() == 1 => only.iter().next().cloned().unwrap_or_default(),
            _ => Namespace::default(),
        },
    };
    if key.is_some_and(|key| !key.reaches(&namespace)) {
        let detail = format!("namespace {namespace} does not exist for this API key");
        return Err(Refusal::new(Fault::NoNamespace, detail));
    }
    Ok(namespace)
}

fn in_query(query: &str) -> Option<String> {
    query.split('&').find_map(|pair| pair.strip_prefix("namespace=")).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;
    use onward_fuzz::proptest::prelude::*;
    use onward_fuzz::{fuzz, near};

    fn is_local_host(host: &str) -> bool {
        HeaderValue::from_str(host).is_ok_and(|value| is_local(&HeaderMap::from_iter([(header::HOST, value)])))
    }

    #[test]
    fn names_of_this_machine_are_known() {
        for host in ["localhost", "LOCALHOST:8700", "127.0.0.1", "127.1.2.3:1", "[::1]", "[::1]:8700"] {
            assert!(is_local_host(host), "{host}");
        }
        for host in
            ["", "::1", "::1]", "[::1", "[[::1]]", "[127.0.0.1]", "127.0.0.1.evil", "localhost.", "evil:127.0.0.1"]
        {
            assert!(!is_local_host(host), "{host}");
        }
    }

    /// Without keys, only calls that were meant for this machine are let through.
    #[test]
    fn fuzz_hosts_of_this_machine() {
        let hosts =
            near("(localhost|LocalHost|127\\.0\\.0\\.1|127\\.1\\.2\\.3|\\[::1\\]|evil\\.example)(:[0-9]{1,5})?");
        fuzz(hosts, |host| {
            if !is_local_host(&host) {
                return Ok(false);
            }
            let name = host.trim_end_matches(|c: char| c.is_ascii_digit());
            let name = name.strip_suffix(':').unwrap_or(&host).to_ascii_lowercase();
            let is_numeric = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit() || b".:".contains(&byte));
            let inside = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
            let is_loopback = name.starts_with("127.") && is_numeric(&name) || inside.is_some_and(is_numeric);
            prop_assert!(name == "localhost" || is_loopback, "{host:?}");
            Ok(true)
        });
    }
}
