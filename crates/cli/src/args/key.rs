//! What can be typed about API keys.

use clap::{Args, Subcommand};
use onward_core::record::Role;

#[derive(Debug, Args)]
pub(crate) struct KeyArgs {
    #[command(subcommand)]
    pub(crate) command: KeyCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Issue an API key and print it once; it is not stored.
    Create(KeyCreateArgs),
    /// List API keys, including revoked ones.
    Ls,
    /// Revoke an API key.
    Revoke(KeyRevokeArgs),
}

#[derive(Debug, Args)]
pub(crate) struct KeyCreateArgs {
    /// Name of the holder, recorded with what it does.
    #[arg(long)]
    pub(crate) name: String,
    /// Role: submit, work, operate, read or admin; repeatable.
    #[arg(long = "role", value_name = "ROLE", required = true, value_parser = role)]
    pub(crate) roles: Vec<Role>,
    /// Namespace it is valid in, by default all; repeatable.
    #[arg(long = "namespace", value_name = "NAMESPACE")]
    pub(crate) namespaces: Vec<String>,
    /// Lifetime, for example 90d; unlimited by default.
    #[arg(long, value_name = "DURATION")]
    pub(crate) expires: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct KeyRevokeArgs {
    /// Id of the key, as shown by `onward key ls`.
    pub(crate) id: String,
}

fn role(text: &str) -> Result<Role, String> {
    let known = Role::ALL.iter().map(|role| role.as_str()).collect::<Vec<_>>().join(", ");
    Role::named(text).ok_or_else(|| format!("it is one of {known}"))
}
