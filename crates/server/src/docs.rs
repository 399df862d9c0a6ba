//! The page that shows the API to people, made from its own description.

use utoipa::openapi::path::Operation;
use utoipa::openapi::{OpenApi, RefOr};

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1c1c1c}\
code,pre{font-family:ui-monospace,monospace;font-size:.9em;background:#f4f4f2;padding:.1em .3em;border-radius:3px}\
h2{margin-top:2.5rem;border-bottom:1px solid #ddd}h3{margin:1.5rem 0 .2rem}p{margin:.3rem 0}\
.verb{font-weight:700}.roles{color:#666;font-size:.9em}\
@media(prefers-color-scheme:dark){body{background:#161616;color:#e6e6e6}code,pre{background:#262626}h2{border-color:#333}}";

/// A page without scripts or anything from elsewhere.
pub(crate) fn page(api: &OpenApi) -> String {
    let mut html = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>{title}</title><style>{STYLE}</style><h1>{title}</h1><p>{about}</p>\
         <p>The same for programs: <a href=\"/v1/openapi.json\">/v1/openapi.json</a> (OpenAPI 3.1).</p>",
        title = escape(&api.info.title),
        about = escape(api.info.description.as_deref().unwrap_or_default()),
    );
    let mut tag = String::new();
    for (path, item) in &api.paths.paths {
        let operations = [("GET", &item.get), ("POST", &item.post), ("PATCH", &item.patch), ("DELETE", &item.delete)];
        for (verb, operation) in operations {
            let Some(operation) = operation else { continue };
            let of = operation.tags.iter().flatten().next().cloned().unwrap_or_default();
            if of != tag {
                html.push_str(&format!("<h2>{}</h2>", escape(&of)));
                tag = of;
            }
            html.push_str(&one(verb, path, operation));
        }
    }
    html.push_str("</html>");
    html
}

fn one(verb: &str, path: &str, operation: &Operation) -> String {
    let mut html = format!("<h3><span class=\"verb\">{verb}</span> <code>{}</code></h3>", escape(path));
    for text in [&operation.summary, &operation.description].into_iter().flatten() {
        html.push_str(&format!("<p>{}</p>", escape(text)));
    }
    let roles = operation.extensions.as_ref().and_then(|all| all.get("x-roles"));
    if let Some(roles) = roles.and_then(|roles| roles.as_array()) {
        let roles: Vec<_> = roles.iter().filter_map(|role| role.as_str()).collect();
        html.push_str(&format!(
            "<p class=\"roles\">Requires an API key with the role {}.</p>",
            escape(&roles.join(", or "))
        ));
    }
    if roles.is_some_and(|roles| roles == "token") {
        html.push_str("<p class=\"roles\">Requires a token in the body, and no API key.</p>");
    }
    let answers = operation.responses.responses.iter().map(|(status, response)| {
        let about = match response {
            RefOr::T(response) => response.description.as_str(),
            RefOr::Ref(_) => "",
        };
        format!("<code>{status}</code> {}", escape(about))
    });
    html.push_str(&format!("<p>{}</p>", answers.collect::<Vec<_>>().join("; ")));
    html
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
