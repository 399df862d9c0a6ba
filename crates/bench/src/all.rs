//! All scenarios one after the other: what one of them fails at does not cost the figures of the others.

use super::report::{self, Bar, Report};
use super::{Error, Scenario, Site, Size, measure, progress, show};
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// In the order in which they run.
const EACH: [Scenario; 19] = [
    // First, since a server goes on tidying up after the others.
    Scenario::Idle,
    Scenario::Lifecycle,
    Scenario::Submit,
    Scenario::Latency,
    Scenario::Suspend,
    Scenario::Drain,
    Scenario::Timers,
    Scenario::Midnight,
    Scenario::Messages,
    Scenario::Queues,
    Scenario::Recovery,
    Scenario::Processes,
    Scenario::Remote,
    Scenario::Crowd,
    Scenario::Leases,
    Scenario::Growth,
    Scenario::Retention,
    Scenario::Bytes,
    Scenario::Costs,
];

/// What came of every scenario.
#[derive(Debug)]
pub(crate) struct All {
    store: String,
    ended: Vec<(Scenario, Ended)>,
}

/// How one scenario ended.
#[derive(Debug)]
enum Ended {
    Measured(Report),
    Failed(Error),
    /// The store cannot do it.
    Skipped(&'static str),
}

impl All {
    /// Measures each; a person who waits is shown each result at once.
    pub(crate) async fn measure(site: &Site, size: &Size, json: bool) -> Self {
        let mut all = Self { store: site.url().to_owned(), ended: Vec::new() };
        for (at, scenario) in EACH.into_iter().enumerate() {
            progress(&format!("{} ({} of {})", scenario.name(), at + 1, EACH.len()));
            let ended = match site.lacks(scenario) {
                Some(why) => Ended::Skipped(why),
                None => measure(scenario, site, size).await.map_or_else(Ended::Failed, Ended::Measured),
            };
            match &ended {
                Ended::Measured(report) if !json => show(&report.text()),
                Ended::Measured(_) => {}
                other => show(&other.line(scenario)),
            }
            all.ended.push((scenario, ended));
        }
        all
    }

    pub(crate) fn reports(&self) -> impl Iterator<Item = &Report> {
        self.ended.iter().filter_map(|(_, ended)| match ended {
            Ended::Measured(report) => Some(report),
            Ended::Failed(_) | Ended::Skipped(_) => None,
        })
    }

    /// Whether all bars are met.
    ///
    /// # Errors
    /// The first error, unless a bar was missed: that is known, whatever else might have been.
    pub(crate) fn verdict(self) -> Result<bool, Error> {
        if !self.reports().all(Report::all_met) {
            return Ok(false);
        }
        let failed = self.ended.into_iter().find_map(|(_, ended)| match ended {
            Ended::Failed(error) => Some(error),
            Ended::Measured(_) | Ended::Skipped(_) => None,
        });
        failed.map_or(Ok(true), Err)
    }

    /// One line for each bar, and one for each scenario without bars.
    pub(crate) fn text(&self) -> String {
        let mut text = report::bars_table(self.reports());
        for (scenario, ended) in &self.ended {
            if !matches!(ended, Ended::Measured(_)) {
                let _ = writeln!(text, "  {}", ended.line(*scenario));
            }
        }
        text
    }

    /// The object that `--json` prints.
    pub(crate) fn json(&self) -> Value {
        let bars: Vec<Bar> = self.reports().flat_map(Report::named_bars).collect();
        let figures: Map<String, Value> =
            self.reports().map(|report| (report.scenario.to_owned(), report.figures_json())).collect();
        let (mut errors, mut skipped) = (Vec::new(), Vec::new());
        for (scenario, ended) in &self.ended {
            let scenario = scenario.name();
            match ended {
                Ended::Measured(_) => {}
                Ended::Failed(error) => {
                    let (code, message, hint) = (error.code(), error.to_string(), error.hint());
                    errors.push(json!({ "scenario": scenario, "code": code, "message": message, "hint": hint }));
                }
                Ended::Skipped(why) => skipped.push(json!({ "scenario": scenario, "why": why })),
            }
        }
        json!({
            "scenario": "all",
            "store": self.store,
            "figures": figures,
            "bars": bars,
            "success_ratio": self.reports().filter_map(Report::success_ratio).reduce(f64::min).map(report::round),
            "errors": errors,
            "skipped": skipped,
        })
    }
}

impl Ended {
    /// Why there are no figures.
    fn line(&self, scenario: Scenario) -> String {
        let scenario = scenario.name();
        match self {
            Self::Measured(_) => format!("{scenario}: measured"),
            Self::Failed(error) => format!("{scenario}: error[{}]: {error}", error.code()),
            Self::Skipped(why) => format!("{scenario}: skipped, {why}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Tally;

    fn report(scenario: &'static str, value: f64) -> Ended {
        let mut report = Report::new(scenario, "memory:");
        report.figure("engine", value, "/s");
        report.at_least("engine / raw", value, 0.7, "");
        report.count("engine", &Tally { tried: 100, done: 98, ..Tally::default() });
        Ended::Measured(report)
    }

    fn all(ended: Vec<(Scenario, Ended)>) -> All {
        All { store: "memory:".to_owned(), ended }
    }

    fn void() -> Ended {
        Ended::Failed(Error::Void { side: "raw".to_owned(), ratio: 0.5, first: "disk".to_owned() })
    }

    #[test]
    fn an_error_leaves_the_other_figures_and_is_told_beside_them() {
        let all = all(vec![
            (Scenario::Lifecycle, report("lifecycle", 0.8)),
            (Scenario::Latency, void()),
            (Scenario::Growth, Ended::Skipped("it needs files")),
            (Scenario::Idle, report("idle", 0.9)),
        ]);
        let json = all.json();
        assert_eq!(json["figures"]["idle"]["engine (/s)"], 0.9);
        assert_eq!(json["bars"].as_array().map(Vec::len), Some(2));
        assert_eq!(json["bars"][1]["name"], "idle: engine / raw");
        assert_eq!(json["success_ratio"], 0.98);
        assert_eq!(
            (&json["errors"][0]["scenario"], &json["errors"][0]["code"]),
            (&"latency".into(), &"bench_void".into())
        );
        assert_eq!(json["skipped"], json!([{ "scenario": "growth", "why": "it needs files" }]));
        let text = all.text();
        assert!(text.contains("idle") && text.contains("≥ 0.70"), "{text}");
        assert!(
            text.contains("latency: error[bench_void]: the run is void: in one round raw did only 50.0 %"),
            "{text}"
        );
        assert!(text.contains("growth: skipped, it needs files"), "{text}");
    }

    #[test]
    fn the_verdict_is_a_missed_bar_then_an_error_then_success() {
        let met = || (Scenario::Lifecycle, report("lifecycle", 0.8));
        let missed = || (Scenario::Submit, report("submit", 0.6));
        let skipped = || (Scenario::Growth, Ended::Skipped("it needs files"));
        assert!(matches!(all(vec![met(), skipped()]).verdict(), Ok(true)));
        assert!(matches!(all(vec![met(), missed()]).verdict(), Ok(false)));
        assert!(matches!(all(vec![met(), (Scenario::Latency, void()), skipped()]).verdict(), Err(Error::Void { .. })));
        assert!(matches!(all(vec![(Scenario::Latency, void()), missed()]).verdict(), Ok(false)));
    }
}
