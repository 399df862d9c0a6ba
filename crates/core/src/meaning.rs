//! What JSON means: two texts of one value, with other spaces, escapes or another order of keys, have one meaning.

use crate::limits;

/// The meaning of JSON that was checked before: keys in order, strings without needless escapes, no spaces. A number is
/// compared by its text, so that `1` and `1.0` are different: programs may treat them differently. It reads the text itself
/// because a parsed value has lost the text of its numbers.
pub(crate) fn of(json: &str) -> Vec<u8> {
    let mut reader = Reader { rest: json.trim_start_matches(is_space), meaning: Vec::with_capacity(json.len()) };
    // What is nested too deep is refused before anybody compares it.
    match reader.value(limits::JSON_DEPTH_MAX + 1) {
        Some(()) => reader.meaning,
        None => json.as_bytes().to_vec(),
    }
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

struct Reader<'a> {
    /// What is not read yet; it never begins with a space.
    rest: &'a str,
    meaning: Vec<u8>,
}

impl<'a> Reader<'a> {
    fn value(&mut self, depth: usize) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        match self.rest.as_bytes().first()? {
            b'{' => self.object(depth),
            b'[' => self.array(depth),
            b'"' => {
                let text = self.string()?;
                self.meaning.extend_from_slice(&text);
                Some(())
            }
            _ => {
                let end = self.rest.find(|c| is_space(c) || matches!(c, ',' | ']' | '}')).unwrap_or(self.rest.len());
                let word = self.take(end).filter(|word| !word.is_empty())?;
                self.meaning.extend_from_slice(word.as_bytes());
                Some(())
            }
        }
    }

    fn array(&mut self, depth: usize) -> Option<()> {
        self.take(1)?;
        self.meaning.push(b'[');
        while !self.rest.starts_with(']') {
            self.value(depth)?;
            self.meaning.push(b',');
            self.skip(',');
        }
        self.take(1)?;
        self.meaning.push(b']');
        Some(())
    }

    fn object(&mut self, depth: usize) -> Option<()> {
        self.take(1)?;
        let (start, mut members) = (self.meaning.len(), Vec::new());
        while !self.rest.starts_with('}') {
            let key = self.string()?;
            self.skip(':');
            let from = self.meaning.len();
            self.value(depth)?;
            members.push((key, self.meaning.split_off(from)));
            self.skip(',');
        }
        self.take(1)?;
        // Keys that stand there twice keep their order.
        members.sort_by(|(one, _), (other, _)| one.cmp(other));
        debug_assert_eq!(start, self.meaning.len());
        self.meaning.push(b'{');
        for (key, value) in members {
            self.meaning.extend_from_slice(&key);
            self.meaning.push(b':');
            self.meaning.extend_from_slice(&value);
            self.meaning.push(b',');
        }
        self.meaning.push(b'}');
        Some(())
    }

    /// The next string, spelled in one way.
    fn string(&mut self) -> Option<Vec<u8>> {
        let mut escaped = false;
        let end = self.rest.char_indices().skip(1).find(|&(_, c)| {
            let is_end = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            is_end
        });
        let text = self.take(end?.0 + 1)?;
        let spelled = serde_json::from_str::<String>(text).and_then(|value| serde_json::to_vec(&value));
        Some(spelled.unwrap_or_else(|_| text.as_bytes().to_vec()))
    }

    fn skip(&mut self, c: char) {
        if let Some(rest) = self.rest.strip_prefix(c) {
            self.rest = rest.trim_start_matches(is_space);
        }
    }

    /// Takes this many bytes, and the spaces after them.
    fn take(&mut self, bytes: usize) -> Option<&'a str> {
        let (taken, rest) = self.rest.split_at_checked(bytes)?;
        self.rest = rest.trim_start_matches(is_space);
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_one_value_have_one_meaning() {
        for (one, other) in [
            (r#"{"a":1,"b":[1,2]}"#, " { \"b\" : [ 1 , 2 ] ,\n\"a\":1 } "),
            (r#""A\u00e9\/""#, "\"Aé/\""),
            (r#"{"x":{"b":null,"a":true}}"#, r#"{"x":{"a":true,"b":null}}"#),
            ("[]", "[ ]"),
            ("{}", "{\t}"),
            ("7", " 7 "),
        ] {
            assert_eq!(of(one), of(other), "{one} and {other}");
        }
    }

    #[test]
    fn other_values_have_other_meanings() {
        let texts = [
            "1",
            "1.0",
            "10e-1",
            "\"1\"",
            "[1]",
            "[[1]]",
            "[1,1]",
            "[11]",
            "{}",
            "[]",
            "null",
            "\"\"",
            r#"{"a":1}"#,
            r#"{"a":2}"#,
            r#"{"b":1}"#,
            r#"{"a":1,"a":2}"#,
            r#"{"a":2,"a":1}"#,
            r#"{"a":{"b":1}}"#,
            r#"{"a":"b"}"#,
            r#"["a","b"]"#,
            r#"["a,b"]"#,
            r#"["a\",\"b"]"#,
        ];
        for (at, one) in texts.iter().enumerate() {
            assert!(texts[at + 1..].iter().all(|other| of(one) != of(other)), "{one}");
        }
    }

    #[test]
    fn what_is_too_deep_is_its_text() {
        let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
        assert_eq!(of(&deep), deep.as_bytes());
    }
}
