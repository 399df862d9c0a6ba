//! What can be typed to serve, and about the settings of a server.

use crate::settings::Typed;
use clap::{Args, Subcommand};

pub(crate) const SERVE_EXAMPLES: &str = "\
Examples:
  onward serve
  onward serve --store postgres://localhost/mydb
  onward serve --bind 0.0.0.0:8700 --require-keys --tls-certificate cert.pem --tls-key key.pem
  onward serve --config onward.toml --log-format json";

pub(crate) const CONFIG_EXAMPLES: &str = "\
Exit code 2 and one sentence when a setting is wrong.

Examples:
  onward config example > onward.toml
  onward config check --config onward.toml
  onward --json config check --config onward.toml --bind 0.0.0.0:8700 --require-keys";

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
    /// Show each setting of `onward serve` and where it comes from, without opening a store.
    Check(ServeArgs),
    /// Print a configuration file with every setting and its meaning.
    Example,
}
