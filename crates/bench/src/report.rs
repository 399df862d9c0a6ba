//! What a scenario found, as one JSON object or as a table for people.

use super::Error;
use super::measure::{Spread, Tally};
use serde::Serialize;
use serde_json::{Value, json};
use std::fmt::Write;

/// When a side of a round succeeds with less than this part of its work, the figures mean nothing.
const SUCCESS_MIN: f64 = 0.95;
const SUCCESS: &str = "lowest success";

/// What one scenario found.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) scenario: &'static str,
    pub(crate) store: String,
    figures: Vec<(String, Value, &'static str)>,
    bars: Vec<Bar>,
    /// What a reader of the figures must know.
    notes: Vec<String>,
    /// A table that says it better than a list of figures.
    table: Option<String>,
    /// The side of a round that succeeded least; nothing where a failure ends the scenario.
    worst: Option<Success>,
}

/// How much of its work one side of one round did.
#[derive(Debug)]
struct Success {
    side: String,
    ratio: f64,
    failure: Option<String>,
}

/// One promise and whether it is kept.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Bar {
    pub(crate) name: String,
    pub(crate) value: f64,
    pub(crate) limit: f64,
    pub(crate) ok: bool,
    #[serde(skip)]
    at_least: bool,
    #[serde(skip)]
    unit: &'static str,
}

impl Report {
    pub(crate) fn new(scenario: &'static str, store: &str) -> Self {
        Self { scenario, store: store.to_owned(), ..Self::default() }
    }

    /// A number.
    pub(crate) fn figure(&mut self, name: &str, value: f64, unit: &'static str) {
        self.figures.push((name.to_owned(), json!(round(value)), unit));
    }

    /// A number that was measured in several rounds.
    pub(crate) fn spread(&mut self, name: &str, values: &[f64], unit: &'static str) -> f64 {
        let Spread { median, low, high } = Spread::of(values);
        let value = json!({ "median": round(median), "low": round(low), "high": round(high) });
        self.figures.push((name.to_owned(), value, unit));
        median
    }

    /// All of several numbers.
    pub(crate) fn list(&mut self, name: &str, values: &[f64], unit: &'static str) {
        let values: Vec<f64> = values.iter().copied().map(round).collect();
        self.figures.push((name.to_owned(), json!(values), unit));
    }

    /// Something that a reader of the figures must know, in a sentence.
    pub(crate) fn note(&mut self, sentence: &str) {
        self.notes.push(sentence.to_owned());
    }

    /// People are shown this table; programs get the figures.
    pub(crate) fn tabulate(&mut self, table: String) {
        self.table = Some(table);
    }

    /// Promises that a value is at least as high as a limit.
    pub(crate) fn at_least(&mut self, name: &str, value: f64, limit: f64, unit: &'static str) {
        self.bar(name, value, limit, unit, true, value >= limit);
    }

    /// Promises that a value is at most as high as a limit.
    pub(crate) fn at_most(&mut self, name: &str, value: f64, limit: f64, unit: &'static str) {
        self.bar(name, value, limit, unit, false, value <= limit);
    }

    fn bar(&mut self, name: &str, value: f64, limit: f64, unit: &'static str, at_least: bool, ok: bool) {
        let (value, limit) = (round(value), round(limit));
        self.bars.push(Bar { name: name.to_owned(), value, limit, ok, at_least, unit });
    }

    /// Takes note of what one side did in one round. Each is judged by itself, since the work of the other sides and
    /// rounds would hide its failures.
    pub(crate) fn count(&mut self, side: &str, tally: &Tally) {
        let ratio = tally.success();
        if self.worst.as_ref().is_none_or(|worst| ratio < worst.ratio) {
            self.worst = Some(Success { side: side.to_owned(), ratio, failure: tally.failure.clone() });
        }
    }

    /// The part of its work that the worst side of the worst round did; nothing where a failure ends the scenario.
    pub(crate) fn success_ratio(&self) -> Option<f64> {
        self.worst.as_ref().map(|worst| worst.ratio)
    }

    /// Declares a run void in which too much failed.
    pub(crate) fn finish(self) -> Result<Self, Error> {
        match self.worst {
            Some(Success { side, ratio, failure }) if ratio < SUCCESS_MIN => {
                let first = failure.unwrap_or_else(|| "work was left undone".to_owned());
                Err(Error::Void { side, ratio, first })
            }
            worst => Ok(Self { worst, ..self }),
        }
    }

    /// The bars under names that tell them from those of other scenarios.
    pub(crate) fn named_bars(&self) -> impl Iterator<Item = Bar> {
        self.bars.iter().map(|bar| Bar { name: format!("{}: {}", self.scenario, bar.name), ..bar.clone() })
    }

    pub(crate) fn all_met(&self) -> bool {
        self.bars.iter().all(|bar| bar.ok)
    }

    /// The object that `--json` prints.
    pub(crate) fn json(&self) -> Value {
        json!({
            "scenario": self.scenario,
            "store": self.store,
            "figures": self.figures_json(),
            "bars": self.bars,
            "notes": self.notes,
            "success_ratio": self.success_ratio().map(round),
        })
    }

    pub(crate) fn figures_json(&self) -> Value {
        let with_unit = |(name, value, unit): &(String, Value, &str)| {
            let name = if unit.is_empty() { name.clone() } else { format!("{name} ({unit})") };
            (name, value.clone())
        };
        Value::Object(self.figures.iter().map(with_unit).collect())
    }

    /// The table for people.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("{} on {}\n", self.scenario, self.store);
        let names = self.figures.iter().map(|(name, ..)| name.chars().count());
        let width = names.chain([SUCCESS.len()]).max().unwrap_or(0);
        match &self.table {
            Some(table) => text.push_str(&format!("\n{table}")),
            None => {
                for (name, value, unit) in &self.figures {
                    let _ = writeln!(text, "  {name:width$}  {} {unit}", readable(value));
                }
            }
        }
        if let Some(ratio) = self.success_ratio() {
            let _ = writeln!(text, "  {SUCCESS:width$}  {:.2} %", ratio * 100.0);
        }
        for note in &self.notes {
            let _ = writeln!(text, "  {note}");
        }
        if !self.bars.is_empty() {
            text.push('\n');
            text.push_str(&bars_table([self]));
        }
        text
    }
}

/// One line for each bar.
pub(crate) fn bars_table<'a>(reports: impl IntoIterator<Item = &'a Report>) -> String {
    let mut rows = vec![["scenario", "bar", "value", "limit", "ok"].map(str::to_owned)];
    for report in reports {
        rows.extend(report.bars.iter().map(|bar| {
            let (sign, ok) = (if bar.at_least { "≥" } else { "≤" }, if bar.ok { "yes" } else { "NO" });
            let value = format!("{} {}", number(bar.value), bar.unit);
            let limit = format!("{sign} {} {}", number(bar.limit), bar.unit);
            [
                report.scenario.to_owned(),
                bar.name.clone(),
                value.trim_end().to_owned(),
                limit.trim_end().to_owned(),
                ok.to_owned(),
            ]
        }));
    }
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths = [0, 1, 2, 3].map(width);
    let mut text = String::new();
    for [scenario, bar, value, limit, ok] in &rows {
        let [a, b, c, d] = widths;
        let _ = writeln!(text, "  {scenario:a$}  {bar:b$}  {value:>c$}  {limit:>d$}  {ok}");
    }
    text
}

fn readable(value: &Value) -> String {
    let part = |name: &str| number(value[name].as_f64().unwrap_or(0.0));
    match value {
        Value::Number(n) => number(n.as_f64().unwrap_or(0.0)),
        Value::Array(many) => many.iter().map(readable).collect::<Vec<_>>().join(" "),
        _ => format!("{} ({} to {})", part("median"), part("low"), part("high")),
    }
}

/// Three digits that mean something.
fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        small if small < 10.0 => format!("{value:.2}"),
        middle if middle < 100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// Keeps JSON readable: more than four digits behind the point is noise.
pub(crate) fn round(value: f64) -> f64 {
    (value * 10_000.0).round() / 10_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let mut report = Report::new("lifecycle", "memory:");
        report.spread("engine", &[100.0, 120.0, 90.0], "/s");
        report.at_least("engine / raw", 0.65, 0.7, "");
        report.at_most("rows of a submit", 4.0, 4.0, "");
        report.count("engine", &Tally { tried: 100, done: 96, ..Tally::default() });
        report.count("raw", &Tally { tried: 100, done: 100, ..Tally::default() });
        report
    }

    #[test]
    fn the_object_has_the_promised_shape() {
        let json = report().json();
        assert_eq!(json["scenario"], "lifecycle");
        assert_eq!(json["figures"]["engine (/s)"]["median"], 100.0);
        assert_eq!(json["bars"][0], json!({"name": "engine / raw", "value": 0.65, "limit": 0.7, "ok": false}));
        assert_eq!(json["success_ratio"], 0.96);
        assert!(!report().all_met());
        assert_eq!(Report::new("recovery", "memory:").json()["success_ratio"], Value::Null);
    }

    #[test]
    fn the_table_names_every_bar() {
        let text = report().text();
        assert!(text.contains("engine          100 (90.0 to 120) /s"), "{text}");
        assert!(text.contains("lowest success  96.00 %"), "{text}");
        assert!(text.contains("engine / raw") && text.contains("≥ 0.70") && text.contains("NO"), "{text}");
    }

    #[test]
    fn notes_are_told_and_a_table_stands_for_the_figures() {
        let mut report = Report::new("costs", "memory:");
        report.figure("rows", 4.0, "");
        report.note("Nothing is promised here.");
        assert_eq!(report.json()["notes"], json!(["Nothing is promised here."]));
        assert!(report.text().contains("rows            4.00") && report.text().ends_with("promised here.\n"));
        report.tabulate("| a table |\n".to_owned());
        assert_eq!(report.text(), "costs on memory:\n\n| a table |\n  Nothing is promised here.\n");
        assert_eq!(report.json()["figures"]["rows"], 4.0);
    }

    #[test]
    fn one_failing_side_makes_the_run_void_however_much_the_others_did() {
        assert_eq!(report().finish().unwrap().success_ratio(), Some(0.96));
        let mut failing = report();
        failing.count("raw", &Tally { tried: 10, done: 9, failure: Some("disk".into()), ..Tally::default() });
        failing.count("engine", &Tally { tried: 1_000_000, done: 1_000_000, ..Tally::default() });
        assert_eq!(failing.success_ratio(), Some(0.9));
        let Err(Error::Void { side, first, .. }) = failing.finish() else { panic!("90 % are too few") };
        assert_eq!((side.as_str(), first.as_str()), ("raw", "disk"));
    }

    #[test]
    fn where_a_failure_ends_the_scenario_there_is_no_ratio() {
        let strict = Report::new("recovery", "memory:").finish().unwrap();
        assert!(strict.success_ratio().is_none() && !strict.text().contains(SUCCESS));
    }
}
