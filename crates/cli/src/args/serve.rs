//! What can be typed to serve, and about keys.

use clap::{Args, Subcommand};
use onward_core::record::Role;
use std::net::SocketAddr;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Where to listen. Anything but this machine needs --require-keys.
    #[arg(long, env = "ONWARD_BIND", value_name = "ADDRESS", default_value = "127.0.0.1:8700")]
    pub(crate) bind: SocketAddr,
    /// Serve only callers with a key; make one with `onward key create`.
    #[arg(long, env = "ONWARD_REQUIRE_KEYS")]
    pub(crate) require_keys: bool,
    /// The certificate of an encrypted server, in PEM; read again when it changes.
    #[arg(long, env = "ONWARD_TLS_CERTIFICATE", value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_certificate: Option<PathBuf>,
    /// The certificate's private key, in PEM.
    #[arg(long, env = "ONWARD_TLS_KEY", value_name = "FILE", requires = "tls_certificate")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Let web pages of this origin call, as in https://tools.example.com; may be given several times.
    #[arg(long, env = "ONWARD_CORS", value_name = "ORIGIN", value_delimiter = ',')]
    pub(crate) cors: Vec<String>,
    /// The longest that a call may wait for work, results or events.
    #[arg(long, env = "ONWARD_LONGEST_WAIT", value_name = "PAUSE", default_value = "60s")]
    pub(crate) longest_wait: String,
    /// How long calls that run may take to end after SIGTERM or ctrl-c.
    #[arg(long, env = "ONWARD_GRACE", value_name = "PAUSE", default_value = "30s")]
    pub(crate) grace: String,
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
