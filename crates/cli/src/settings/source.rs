//! Where a value was found, which is also how much it counts.

use std::fmt;

/// Where a value was found; what counts more stands first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SettingSource {
    /// It was typed; the option, without its dashes.
    Flag(&'static str),
    /// A variable of the environment.
    Environment(&'static str),
    /// A line of the file.
    File { path: String, line: usize, name: &'static str },
    /// Nowhere.
    Default,
}

impl SettingSource {
    /// The kind of place, in one word.
    pub(crate) fn source(&self) -> &'static str {
        match self {
            Self::Flag(_) => "flag",
            Self::Environment(_) => "environment",
            Self::File { .. } => "file",
            Self::Default => "default",
        }
    }

    /// The kind of place, and which.
    pub(crate) fn described(&self) -> String {
        match self {
            Self::Default => self.source().to_owned(),
            Self::File { path, line, .. } => format!("file ({path}, line {line})"),
            _ => format!("{} ({self})", self.source()),
        }
    }
}

impl fmt::Display for SettingSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => write!(f, "--{flag}"),
            Self::Environment(variable) => f.write_str(variable),
            Self::File { path, line, name } => write!(f, "{path}, line {line}, {name}"),
            Self::Default => f.write_str("default"),
        }
    }
}
