//! What can be typed about tokens.

use super::Target;
use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct TokenArgs {
    #[command(subcommand)]
    pub(crate) command: TokenCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a token or a link for a wait of an execution and print it once; it is not stored.
    Mint(TokenMintArgs),
    /// Check a token or a link, and show what it is about; nothing is changed.
    Verify(TokenTextArgs),
    /// Send the signal of a token's holder.
    Signal(TokenSignalArgs),
    /// Make a new key that signs tokens; those before it expire.
    Rotate(TokenRotateArgs),
    /// List the keys that sign tokens.
    Keys,
}

#[derive(Debug, Args)]
pub(crate) struct TokenMintArgs {
    #[command(flatten)]
    pub(crate) target: Target,
    /// Name of the wait, or name#2 for the second wait for it; by default the next wait for the name that is not over.
    pub(crate) wait: String,
    /// Person whose token it is; each person counts once.
    #[arg(long = "for", value_name = "PERSON")]
    pub(crate) person: String,
    /// Name of a signal that it allows; repeatable, any by default.
    #[arg(long = "name", value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// Time after which it expires, for example 2d.
    #[arg(long, value_name = "DURATION", default_value = "7d")]
    pub(crate) expires: String,
    /// Print a link to the page of this server instead of the token alone.
    #[arg(long, value_name = "URL")]
    pub(crate) link: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct TokenTextArgs {
    /// Token or link, or - for standard input.
    pub(crate) token: String,
}

#[derive(Debug, Args)]
pub(crate) struct TokenSignalArgs {
    #[command(flatten)]
    pub(crate) token: TokenTextArgs,
    /// Name of the signal, such as approved.
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// What it carries: JSON, or @FILE.
    #[arg(long, default_value = "null", hide_default_value = true, allow_hyphen_values = true)]
    pub(crate) payload: String,
}

#[derive(Debug, Args)]
pub(crate) struct TokenRotateArgs {
    /// How long tokens of the keys before it are good; with 0 all tokens end at once.
    #[arg(long, value_name = "DURATION", default_value = "7d")]
    pub(crate) grace: String,
}
