//! What a setting is: its names, its default, its meaning, and how its values are read.

use super::kind::Kind;

/// A setting, and how its values are read.
#[derive(Debug)]
pub(crate) struct Setting<K: Kind> {
    pub(crate) about: About,
    pub(crate) kind: K,
}

/// What people see of a setting.
#[derive(Debug)]
pub(crate) struct About {
    /// Its name in a file.
    pub(crate) name: &'static str,
    /// The variable of the environment.
    pub(crate) variable: &'static str,
    /// The option that is typed, without its dashes.
    pub(crate) flag: &'static str,
    /// What stands for the value in the help.
    pub(crate) stands_for: &'static str,
    pub(crate) shape: Shape,
    /// What it is unless chosen, as it would be typed; empty for nothing.
    pub(crate) default: &'static str,
    /// A value as a file would hold it.
    pub(crate) example: &'static str,
    pub(crate) meaning: &'static str,
    /// Whether hardly anybody changes it, so that the short help leaves it out.
    pub(crate) is_rare: bool,
}

/// How an option is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// With a value.
    Value,
    /// Alone, or with `=true` or `=false`.
    Switch,
    /// With a value, any number of times.
    List,
}
