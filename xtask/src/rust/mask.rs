//! Tells code, comments and literals of a Rust file apart, byte by byte.

use std::ops::Range;

/// The parts of a file; `code` and `comments` are as long as the text.
#[derive(Debug)]
pub(super) struct Masked {
    pub(super) code: String,
    pub(super) comments: String,
    pub(super) literals: Vec<Range<usize>>,
}

/// Splits a text into its parts. A text that does not compile is split as well as it goes and never panics.
pub(super) fn mask(text: &str) -> Masked {
    let blank: Vec<u8> = text.bytes().map(|byte| if byte == b'\n' { b'\n' } else { b' ' }).collect();
    let mut masker =
        Masker { text: text.as_bytes(), at: 0, code: blank.clone(), comments: blank, literals: Vec::new() };
    while masker.at < masker.text.len() {
        masker.step();
    }
    Masked {
        code: String::from_utf8_lossy(&masker.code).into_owned(),
        comments: String::from_utf8_lossy(&masker.comments).into_owned(),
        literals: masker.literals,
    }
}

struct Masker<'a> {
    text: &'a [u8],
    at: usize,
    code: Vec<u8>,
    comments: Vec<u8>,
    literals: Vec<Range<usize>>,
}

impl Masker<'_> {
    fn step(&mut self) {
        let rest = &self.text[self.at..];
        if rest.starts_with(b"//") {
            let length = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
            self.comment(length);
        } else if rest.starts_with(b"/*") {
            self.comment(block_comment_length(rest));
        } else if let Some(hashes) = self.raw_string_hashes() {
            self.raw_string(hashes);
        } else if rest[0] == b'"' {
            self.string();
        } else if let Some(length) = char_literal_length(rest) {
            self.keep(1);
            self.at += length - 2;
            self.keep(1);
        } else {
            self.keep(1);
        }
    }

    /// The next bytes are code.
    fn keep(&mut self, length: usize) {
        let end = (self.at + length).min(self.text.len());
        self.code[self.at..end].copy_from_slice(&self.text[self.at..end]);
        self.at = end;
    }

    fn comment(&mut self, length: usize) {
        let range = self.at..self.at + length;
        self.comments[range.clone()].copy_from_slice(&self.text[range.clone()]);
        self.at = range.end;
    }

    fn string(&mut self) {
        self.keep(1);
        let start = self.at;
        while self.at < self.text.len() && self.text[self.at] != b'"' {
            self.at += if self.text[self.at] == b'\\' { 2 } else { 1 };
        }
        self.at = self.at.min(self.text.len());
        self.literals.push(start..self.at);
        self.keep(1);
    }

    /// The number of `#` when a raw string starts here, as in `r"`, `br#"` or `cr##"`.
    fn raw_string_hashes(&self) -> Option<usize> {
        let rest = self.text[self.at..].strip_prefix(b"r")?;
        let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80;
        let before = self.text[..self.at].iter().rev().take_while(|byte| is_name(byte)).count();
        let prefix = &self.text[self.at - before..self.at];
        let hashes = rest.iter().take_while(|byte| **byte == b'#').count();
        (matches!(prefix, b"" | b"b" | b"c") && rest.get(hashes) == Some(&b'"')).then_some(hashes)
    }

    fn raw_string(&mut self, hashes: usize) {
        self.keep(hashes + 2);
        let start = self.at;
        let mut close = vec![b'#'; hashes + 1];
        close[0] = b'"';
        while self.at < self.text.len() && !self.text[self.at..].starts_with(&close) {
            self.at += 1;
        }
        self.literals.push(start..self.at);
        self.keep(close.len());
    }
}

fn block_comment_length(rest: &[u8]) -> usize {
    let (mut at, mut depth) = (0, 0_u32);
    while at < rest.len() {
        if rest[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

/// The length of a character literal with its quotes, or `None` when the quote starts a lifetime or nothing at all.
fn char_literal_length(rest: &[u8]) -> Option<usize> {
    let content = rest.strip_prefix(b"'")?;
    if content.first() == Some(&b'\\') {
        // The byte after the backslash may itself be a quote.
        return Some(3 + content.get(2..)?.iter().position(|byte| *byte == b'\'')? + 1);
    }
    let length = match content.first()? {
        b'\'' | b'\n' => return None,
        0..0x80 => 1,
        0x80..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0.. => 4,
    };
    (content.get(length) == Some(&b'\'')).then_some(length + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> String {
        let masked = mask(text);
        assert_eq!((masked.code.len(), masked.comments.len()), (text.len(), text.len()), "{text}");
        masked.code
    }

    #[test]
    fn comments_leave_the_code() {
        assert_eq!(code("a // b\nc"), "a     \nc");
        assert_eq!(code("a /* b /* c */ d */ e"), "a                   e");
        assert_eq!(mask("a // b\nc").comments, "  // b\n ");
        assert_eq!(mask("a /* b\n */ c").comments, "  /* b\n */  ");
    }

    #[test]
    fn strings_keep_their_quotes_only() {
        assert_eq!(code(r#"f("a{b") + 1"#), r#"f("   ") + 1"#);
        assert_eq!(code(r#"f("a\"{") + b"}""#), r#"f("    ") + b" ""#);
        assert_eq!(code("\"// no comment\" x"), "\"             \" x");
    }

    #[test]
    fn raw_strings_end_at_their_own_mark() {
        assert_eq!(code(r###"r#"a"{"# + br"\" + r"b""###), r###"r#"   "# + br" " + r" ""###);
        assert_eq!(code("r#type + bar\"x\""), "r#type + bar\" \"");
    }

    #[test]
    fn characters_differ_from_lifetimes() {
        assert_eq!(code("'{' '\\'' '\\u{7b}' 'é' b'\"'"), "' ' '  ' '      ' '  ' b' '");
        assert_eq!(code("&'a str, 'static, <'a>"), "&'a str, 'static, <'a>");
    }

    #[test]
    fn literals_are_listed_with_their_place() {
        let text = r##"x("one", r#"two"#, 'c')"##;
        let found: Vec<_> = mask(text).literals.into_iter().map(|range| &text[range]).collect();
        assert_eq!(found, ["one", "two"]);
    }

    #[test]
    fn unfinished_text_is_no_reason_to_panic() {
        for text in ["\"", "\"\\", "r#\"", "/*", "'", "'\\", "'\\'", "/* /* */", "r", "'é", "b'"] {
            code(text);
        }
    }
}
