//! The settings as options that can be typed, one for each.

use super::setting::{About, Shape};
use super::sources::{CONFIG_VARIABLE, Given};
use super::table::{ALL, LOG, STORE};
use crate::output;
use crate::problem::Problem;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use std::collections::BTreeMap;

const CONFIG: &str = "config";

/// The settings that were typed.
#[derive(Debug, Default, Clone)]
pub(crate) struct Typed {
    config: Option<String>,
    values: BTreeMap<&'static str, (&'static str, String)>,
}

impl Typed {
    /// What was given to the program, with the options that all commands share.
    pub(crate) fn given(self, store: Option<String>, verbose: u8) -> Result<Given<'static>, Problem> {
        let Self { config, values: mut typed } = self;
        if let Some(store) = store {
            typed.insert(STORE.about.name, (STORE.about.flag, store));
        }
        if let Some(level) = output::level(verbose)
            && typed.insert(LOG.about.name, ("verbose", level.to_owned())).is_some()
        {
            return Err(Problem::Usage("--verbose and --log both say what is logged; give one of them".to_owned()));
        }
        Ok(Given { typed, config, environment: &|name| std::env::var_os(name) })
    }
}

/// The settings with an option of their own here; that of the store is shared by all commands.
fn options() -> impl Iterator<Item = &'static About> {
    ALL.into_iter().filter(|about| about.name != STORE.about.name)
}

fn option(about: &'static About) -> Arg {
    let default = if about.default.is_empty() { String::new() } else { format!(" [default: {}]", about.default) };
    let help = format!("{} [env: {}]{default}", about.meaning, about.variable);
    let arg = Arg::new(about.name).long(about.flag).help(help).value_name(about.stands_for);
    let heading = if about.is_rare { "Limits" } else { "Settings" };
    let arg = arg.hide_short_help(about.is_rare).help_heading(heading);
    match about.shape {
        Shape::Value => arg,
        Shape::Switch => arg.num_args(0..=1).require_equals(true).default_missing_value("true"),
        Shape::List => arg.action(ArgAction::Append),
    }
}

impl Args for Typed {
    fn augment_args(command: Command) -> Command {
        let help = format!(
            "A file with settings, in TOML; what is typed or in the environment counts more. [env: {CONFIG_VARIABLE}]"
        );
        command
            .arg(Arg::new(CONFIG).long(CONFIG).help(help).value_name("FILE").help_heading("Settings"))
            .args(options().map(option))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Typed {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut typed = Self { config: matches.get_one::<String>(CONFIG).cloned(), values: BTreeMap::new() };
        for about in options() {
            if let Some(values) = matches.get_many::<String>(about.name) {
                let values: Vec<&str> = values.map(String::as_str).collect();
                typed.values.insert(about.name, (about.flag, values.join(",")));
            }
        }
        Ok(typed)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
