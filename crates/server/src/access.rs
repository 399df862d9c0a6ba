//! Who may call what: the one table of routes and roles, and the check that stands before every route.

use crate::app::App;
use crate::problem::{Fault, Refusal};
use axum::extract::{FromRequestParts, MatchedPath, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, header};
use axum::middleware::Next;
use axum::response::Response;
use onward::Client;
use onward_core::record::{ApiKey, Role};
use onward_core::{Actor, CommandId, Namespace};
use std::net::IpAddr;
use std::sync::Arc;

/// Names a call, so that a repeat of it gets the first answer.
pub(crate) const IDEMPOTENCY_KEY: &str = "idempotency-key";
/// Names the namespace of a call.
pub(crate) const NAMESPACE: &str = "onward-namespace";

/// Who may call a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Everybody.
    Anybody,
    /// Holders of a key with one of these roles; those with the role admin always.
    Roles(&'static [Role]),
}

const SUBMIT: Access = Access::Roles(&[Role::Submit]);
const WORK: Access = Access::Roles(&[Role::Work]);
const OPERATE: Access = Access::Roles(&[Role::Operate]);
const LOOK: Access = Access::Roles(&[Role::Read, Role::Operate]);
const LOOK_AT_ONE: Access = Access::Roles(&[Role::Submit, Role::Work, Role::Read, Role::Operate]);
const ADMIN: Access = Access::Roles(&[]);

/// Every route with those who may call it. A route that is not here may be called by nobody.
pub(crate) const TABLE: &[(Method, &str, Access)] = &[
    (Method::POST, "/v1/executions", SUBMIT),
    (Method::POST, "/v1/executions/batch", SUBMIT),
    (Method::GET, "/v1/executions", LOOK),
    (Method::GET, "/v1/counts", LOOK),
    (Method::GET, "/v1/executions/{id}", LOOK_AT_ONE),
    (Method::GET, "/v1/executions/{id}/input", LOOK_AT_ONE),
    (Method::GET, "/v1/executions/{id}/result", LOOK_AT_ONE),
    (Method::GET, "/v1/executions/{id}/attempts", LOOK_AT_ONE),
    (Method::GET, "/v1/executions/{id}/history", LOOK_AT_ONE),
    (Method::GET, "/v1/executions/{id}/why", LOOK_AT_ONE),
    (Method::POST, "/v1/executions/{id}/cancel", OPERATE),
    (Method::POST, "/v1/executions/{id}/reschedule", OPERATE),
    (Method::POST, "/v1/executions/{id}/priority", OPERATE),
    (Method::POST, "/v1/executions/{id}/tags", OPERATE),
    (Method::POST, "/v1/executions/{id}/revoke", OPERATE),
    (Method::POST, "/v1/executions/{id}/replay", OPERATE),
    (Method::DELETE, "/v1/executions/{id}", OPERATE),
    (Method::POST, "/v1/bulk", OPERATE),
    (Method::POST, "/v1/work/claim", WORK),
    (Method::POST, "/v1/work/renew", WORK),
    (Method::POST, "/v1/work/complete", WORK),
    (Method::POST, "/v1/work/fail", WORK),
    (Method::POST, "/v1/work/delay", WORK),
    (Method::POST, "/v1/work/unclaim", WORK),
    (Method::POST, "/v1/work/cancel", WORK),
    (Method::POST, "/v1/work/progress", WORK),
    (Method::POST, "/v1/work/progress/batch", WORK),
    (Method::POST, "/v1/work/reports", WORK),
    (Method::GET, "/v1/lanes", LOOK),
    (Method::GET, "/v1/lanes/{lane}", LOOK),
    (Method::PATCH, "/v1/lanes/{lane}", OPERATE),
    (Method::GET, "/v1/events", LOOK),
    (Method::GET, "/v1/events/stream", LOOK),
    (Method::GET, "/v1/keys", ADMIN),
    (Method::POST, "/v1/keys", ADMIN),
    (Method::DELETE, "/v1/keys/{id}", ADMIN),
    (Method::GET, "/metrics", LOOK),
    (Method::GET, "/healthz", Access::Anybody),
    (Method::GET, "/readyz", Access::Anybody),
    (Method::GET, "/v1/openapi.json", Access::Anybody),
    (Method::GET, "/docs", Access::Anybody),
    (Method::GET, "/", Access::Anybody),
];

/// Who may call a route; nothing when nobody decided.
pub(crate) fn of(method: &Method, path: &str) -> Option<Access> {
    // Whoever may get something may also ask whether it is there.
    let method = if *method == Method::HEAD { &Method::GET } else { method };
    TABLE.iter().find(|(known, route, _)| known == method && *route == path).map(|(.., access)| *access)
}

impl Access {
    fn allows(self, key: &ApiKey) -> bool {
        match self {
            Self::Anybody => true,
            Self::Roles(roles) => key.roles.contains(&Role::Admin) || roles.iter().any(|role| key.roles.contains(role)),
        }
    }
}

/// Who calls, and in which namespace.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    /// The name of the caller's key; nothing when keys are not required.
    pub(crate) actor: Option<Actor>,
    /// The key itself.
    pub(crate) key: Option<Arc<ApiKey>>,
    /// A client of the caller's namespace.
    pub(crate) client: Client,
}

impl Caller {
    /// The name of a command: a repeat of the call with the same key is the same command.
    pub(crate) fn command(&self, headers: &HeaderMap, what: &str) -> Option<CommandId> {
        let (namespace, key) = (self.client.namespace(), headers.get(IDEMPOTENCY_KEY)?);
        Some(CommandId::of(&[namespace.as_str().as_bytes(), what.as_bytes(), key.as_bytes()]))
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
        parts.extensions.get::<Self>().cloned().ok_or_else(|| Refusal::unauthorized("nobody is known to call"))
    }
}

/// Lets a call through, or says why not.
pub(crate) async fn check(
    State(app): State<Arc<App>>,
    path: MatchedPath,
    mut request: Request,
    next: Next,
) -> Result<Response, Refusal> {
    let Some(access) = of(request.method(), path.as_str()) else { return Err(Refusal::no_method()) };
    if access != Access::Anybody {
        let key = key(&app, request.headers()).await?;
        if key.as_ref().is_some_and(|key| !access.allows(key)) {
            return Err(Refusal::new(Fault::Forbidden, "the key does not allow this"));
        }
        let namespace = namespace(&request, key.as_deref())?;
        #[cfg(feature = "otel")]
        crate::spans::note(&namespace);
        let (actor, client) = (key.as_ref().map(|key| key.name.clone()), app.client(&namespace));
        request.extensions_mut().insert(Caller { actor, key, client });
    }
    Ok(next.run(request).await)
}

/// The caller's key; nothing when none is needed.
async fn key(app: &App, headers: &HeaderMap) -> Result<Option<Arc<ApiKey>>, Refusal> {
    if !app.options.require_keys {
        return if is_local(headers) {
            Ok(None)
        } else {
            Err(Refusal::new(Fault::Host, "the call was meant for another host"))
        };
    }
    let Some(value) = headers.get(header::AUTHORIZATION) else {
        return Err(Refusal::unauthorized("the call has no key"));
    };
    let text = value.to_str().ok().and_then(|text| text.split_once(' '));
    let text = text.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")).map(|(_, key)| key.trim());
    let Some(text) = text else { return Err(Refusal::unauthorized("the key is not sent as a bearer token")) };
    match app.keyring.find(app.engine(), text).await? {
        Some(key) => Ok(Some(key)),
        None => Err(Refusal::unauthorized("the key is unknown, expired or revoked")),
    }
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
        let detail = format!("there is no namespace {namespace} for this key");
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
