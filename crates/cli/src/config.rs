//! `onward config`: what `onward serve` would be started with, and a file to begin with.

use crate::args::{ConfigArgs, ConfigCommand};
use crate::problem::{Exit, Problem};
use crate::settings::{ALL, Settings};
use crate::{output, shape};
use serde_json::{Map, Value, json};

pub(crate) fn run(args: ConfigArgs, store: Option<String>, verbose: u8, json: bool) -> Result<Exit, Problem> {
    match args.command {
        ConfigCommand::Check(args) => {
            let settings = Settings::read(&args.settings.given(store, verbose)?)?;
            output::print(&if json { object(&settings).to_string() } else { text(&settings) });
        }
        ConfigCommand::Example => {
            output::print(&if json { json!({ "example": example() }).to_string() } else { example() });
        }
    }
    Ok(Exit::Success)
}

fn object(settings: &Settings) -> Value {
    let rows = settings.rows.iter();
    let values: Map<String, Value> =
        rows.map(|row| (row.name.to_owned(), json!({ "value": row.json, "source": row.place.source() }))).collect();
    json!({ "file": settings.file, "settings": values })
}

fn text(settings: &Settings) -> String {
    let mut rows = vec![["SETTING", "VALUE", "FROM"].map(str::to_owned)];
    rows.extend(settings.rows.iter().map(|row| [row.name.to_owned(), row.text.clone(), row.place.described()]));
    shape::table(&rows)
}

/// A file with every setting, each with what it means and ready to be taken in.
pub(crate) fn example() -> String {
    let mut text = "# Settings of `onward serve`. What is typed counts most, then the environment, then this file.\n\
        # Look at the outcome with `onward config check --config FILE`.\n"
        .to_owned();
    for about in ALL {
        text.push_str(&format!("\n# {}\n# {} = {}\n", about.meaning, about.name, about.example));
    }
    text
}
