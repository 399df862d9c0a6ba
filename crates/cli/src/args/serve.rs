//! What can be typed to serve, about settings, and about keys.

use crate::settings::Typed;
use clap::{Args, Subcommand};
use onward_core::record::Role;

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    pub(crate) settings: Typed,
}

#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub(crate) command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Read what `onward serve` would, and show each setting and where it came from; no store is opened.
    Check(ServeArgs),
    /// Print a file with every setting, each with what it means.
    Example,
}

#[derive(Debug, Args)]
pub(crate) struct KeyArgs {
    #[command(subcommand)]
    pub(crate) command: KeyCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Issue a key and print it. It is shown this once and kept nowhere.
    Create(KeyCreateArgs),
    /// List keys, revoked ones too.
    Ls,
    /// Make a key good for nothing.
    Revoke(KeyRevokeArgs),
}

#[derive(Debug, Args)]
pub(crate) struct KeyCreateArgs {
    /// Who will hold it; the name appears beside what its holder does.
    #[arg(long)]
    pub(crate) name: String,
    /// What it allows: submit, work, operate, read or admin; may be given several times.
    #[arg(long = "role", value_name = "ROLE", required = true, value_parser = role)]
    pub(crate) roles: Vec<Role>,
    /// Where it is good, everywhere unless given; may be given several times.
    #[arg(long = "namespace", value_name = "NAMESPACE")]
    pub(crate) namespaces: Vec<String>,
    /// For how long it is good, as in 90d; without an end unless given.
    #[arg(long, value_name = "PAUSE")]
    pub(crate) expires: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct KeyRevokeArgs {
    /// The key's id, as `onward key ls` shows it.
    pub(crate) id: String,
}

fn role(text: &str) -> Result<Role, String> {
    let known = Role::ALL.map(Role::as_str).join(", ");
    Role::named(text).ok_or_else(|| format!("it is one of {known}"))
}
