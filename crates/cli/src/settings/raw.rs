//! A value as it was found, before anybody knows whether it is allowed.

/// The longest text that an error repeats.
const CHARS_MAX: usize = 60;

/// A value as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Raw {
    /// Typed or in the environment, where everything is text.
    Plain(String),
    /// A text in a file.
    Text(String),
    /// A whole number in a file.
    Number(i64),
    /// `true` or `false` in a file.
    Switch(bool),
    /// A list of texts in a file.
    List(Vec<String>),
    /// Something in a file that no setting is made of.
    Other(&'static str),
}

impl Raw {
    /// What was found, to name it in an error.
    pub(crate) fn found(&self) -> String {
        match self {
            Self::Plain(text) | Self::Text(text) => quoted(text),
            Self::Number(number) => number.to_string(),
            Self::Switch(is_on) => is_on.to_string(),
            Self::List(texts) => format!("[{}]", texts.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(", ")),
            Self::Other(what) => (*what).to_owned(),
        }
    }
}

fn quoted(text: &str) -> String {
    match text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}
