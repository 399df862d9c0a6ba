//! What can be wrong with the settings of a server, in one sentence that names the place.

use super::source::SettingSource;

/// What is wrong with the settings of a server.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Mistake {
    #[error("{place}: {path} cannot be read: {why}")]
    Unreadable { place: SettingSource, path: String, why: String },
    #[error("{path}, line {line}: this is not TOML: {why}")]
    Malformed { path: String, line: usize, why: String },
    #[error("{path}, line {line}: there is no setting {name:?}{}", or_nearest(.nearest))]
    Unknown { path: String, line: usize, name: String, nearest: Option<&'static str> },
    #[error("{place}: {found} is not {allowed}")]
    Value { place: SettingSource, found: String, allowed: String },
    #[error("{place}: {error}")]
    Store { place: SettingSource, error: onward::Error },
    #[error("{place}: this program was built without the feature {feature}")]
    NotBuilt { place: SettingSource, feature: &'static str },
    #[error("{place}: {why}")]
    Clash { place: SettingSource, why: String },
}

impl Mistake {
    /// The stable code.
    pub(crate) fn code(&self) -> &str {
        match self {
            Self::Unreadable { .. } => "config_unreadable",
            Self::Malformed { .. } => "config_malformed",
            Self::Unknown { .. } => "unknown_setting",
            Self::Value { .. } => "invalid_setting",
            Self::Store { error, .. } => error.code(),
            Self::NotBuilt { .. } => "setting_not_built",
            Self::Clash { .. } => "settings_clash",
        }
    }

    pub(crate) fn hint(&self) -> &str {
        match self {
            Self::Unreadable { .. } => "check the path and who may read the file",
            Self::Malformed { .. } => "write one setting in each line, as in bind = \"127.0.0.1:8700\"",
            Self::Unknown { .. } => "`onward config example` prints a file with every setting",
            Self::Value { .. } => "`onward config example` shows how each setting is written",
            Self::Store { error, .. } => error.hint(),
            Self::NotBuilt { .. } => {
                "build it with the feature, as in `cargo build --features otel`, or leave the setting out"
            }
            Self::Clash { .. } => "change one of the two; each may be typed, in the environment or in the file",
        }
    }
}

fn or_nearest(nearest: &Option<&'static str>) -> String {
    nearest.map_or_else(String::new, |name| format!("; did you mean {name:?}?"))
}
