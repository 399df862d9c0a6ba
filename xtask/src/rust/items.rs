//! Functions and test-only items of masked Rust code, found by counting brackets.

use crate::words::find_word;
use std::ops::Range;

/// A function with a body.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    /// From the word `fn` to the closing brace.
    pub(crate) span: Range<usize>,
    /// From the opening brace to the closing one.
    pub(crate) body: Range<usize>,
}

/// Every function with a body, nested ones included.
pub(crate) fn functions(code: &str) -> Vec<Function> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = find_word(&code[at..], "fn").map(|offset| at + offset) {
        at = start + 2;
        let rest = code[at..].trim_start();
        // `fn(` is a type; a name may also be a macro's `$name`.
        let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || "_$#".contains(*c)).collect();
        if name.is_empty() {
            continue;
        }
        if let Some(open) = item_end(code, at).filter(|end| code.as_bytes()[*end] == b'{') {
            let end = close_of(code, open);
            found.push(Function { name, span: start..end, body: open..end });
        }
    }
    found
}

/// The byte after the bracket that closes the one at `open`, or the end of the code.
pub(crate) fn close_of(code: &str, open: usize) -> usize {
    let mut depth = 0_usize;
    for (offset, byte) in code.bytes().enumerate().skip(open) {
        match byte {
            b'{' | b'(' | b'[' => depth += 1,
            b'}' | b')' | b']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return offset + 1;
                }
            }
            _ => {}
        }
    }
    code.len()
}

/// Where an item's head ends: its opening brace, its semicolon or the end of its parent, outside other brackets.
fn item_end(code: &str, from: usize) -> Option<usize> {
    let mut at = from;
    while at < code.len() {
        match code.as_bytes()[at] {
            b'{' | b';' | b'}' => return Some(at),
            b'(' | b'[' => at = close_of(code, at),
            _ => at += 1,
        }
    }
    None
}

/// The items behind `#[cfg(test)]` and `#[cfg(all(test, …))]`, attribute included.
pub(super) fn test_items(code: &str) -> Vec<Range<usize>> {
    let starts = ["#[cfg(test)]", "#[cfg(all(test,"].into_iter().flat_map(|mark| code.match_indices(mark));
    let item = |(start, _): (usize, &str)| {
        // Further attributes are bracketed and thus skipped.
        let end = item_end(code, start).unwrap_or(code.len().saturating_sub(1));
        let is_block = code.as_bytes().get(end) == Some(&b'{');
        start..if is_block { close_of(code, end) } else { end + 1 }
    };
    starts.map(item).collect()
}

/// The name in an item such as `pub(crate) mod name;`.
pub(super) fn declared_module(item: &str) -> Option<String> {
    let head = item.strip_suffix(';')?;
    let name = &head[find_word(head, "mod")? + 3..];
    Some(name.trim().trim_start_matches("r#").to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(code: &str) -> Vec<String> {
        functions(code).into_iter().map(|function| function.name).collect()
    }

    #[test]
    fn functions_with_bodies_are_found() {
        assert_eq!(names("pub async fn a<T>() -> [u8; 4] { fn b() {} }\nfn $name() {}"), ["a", "b", "$name"]);
        assert_eq!(names("trait T { fn a(&self); fn b(x: [u8; 2]) {} }"), ["b"]);
        assert!(names("type F = fn(u8) -> u8; struct Fn { fnord: u8 }").is_empty());
    }

    #[test]
    fn a_function_reaches_from_its_keyword_to_its_brace() {
        let code = "  fn a() { if x { y(|z| { z }) } } fn b() {}";
        let function = &functions(code)[0];
        assert_eq!(&code[function.span.clone()], "fn a() { if x { y(|z| { z }) } }");
        assert_eq!(&code[function.body.clone()], "{ if x { y(|z| { z }) } }");
    }

    #[test]
    fn unbalanced_code_ends_with_the_file() {
        assert_eq!(functions("fn a() { (").len(), 1);
        assert_eq!(close_of("))", 0), 1);
    }

    #[test]
    fn test_items_end_with_their_item() {
        let code = "#[cfg(test)] use a::{b}; fn c() {} #[cfg(test)] #[x(y)] mod t { fn d() {} } fn e() {}";
        let items: Vec<_> = test_items(code).into_iter().map(|range| &code[range]).collect();
        assert_eq!(items[1], "#[cfg(test)] #[x(y)] mod t { fn d() {} }");
        assert!(!items[0].contains("fn c"), "{items:?}");
        assert!(test_items("#[cfg(any(test, feature = \" \"))] mod c {}").is_empty());
    }

    #[test]
    fn declared_modules_have_names() {
        assert_eq!(declared_module("#[cfg(test)]\npub(crate) mod sample;").as_deref(), Some("sample"));
        assert_eq!(declared_module("#[cfg(test)] use a;"), None);
        assert_eq!(declared_module("#[cfg(test)] mod tests { }"), None);
    }
}
