//! `onward doctor`: looks at everything in a store, says what is wrong, and sets it right if asked to.

use crate::args::DoctorArgs;
use crate::problem::{Exit, Problem};
use crate::progress::Progress;
use crate::{open, output, shape};
use onward::engine::{Examination, Report};
use serde_json::{Value, json};

pub(crate) async fn run(args: &DoctorArgs, store: &str, json: bool) -> Result<Exit, Problem> {
    let examination = Examination { repair: args.repair || args.after_restore, restored: args.after_restore };
    // Whose work it is does not matter: everything is looked at.
    let client = open::existing(store, "default").await?;
    let mut progress = Progress::new("doctor", None, json);
    let told = |report: &Report| {
        let (rows, found) = (report.rows, report.found());
        progress.at(report.records + rows, &format!("{} records, {rows} index rows, {found} faults", report.records));
    };
    let report = open::engine(&client)?.examine(examination, told).await;
    progress.end();
    client.shutdown().await?;
    let report = report.map_err(onward::Error::from)?;
    output::print(&if json { object(&report).to_string() } else { text(&report, examination) });
    Ok(if report.is_healthy() { Exit::Success } else { Exit::Refused })
}

fn object(report: &Report) -> Value {
    let tally = |(code, tally): (&&str, &onward::engine::Tally)| {
        ((*code).to_owned(), json!({ "found": tally.found, "repaired": tally.repaired }))
    };
    let examples: Vec<Value> = report
        .ailments
        .iter()
        .map(|one| json!({ "code": one.code, "key": one.key, "detail": one.detail, "repaired": one.repaired }))
        .collect();
    json!({
        "healthy": report.is_healthy(),
        "records": report.records,
        "index_rows": report.rows,
        "feeds_raised": report.feeds_raised,
        "lanes_told": report.lanes_told,
        "faults": report.tallies.iter().map(tally).collect::<serde_json::Map<_, _>>(),
        "examples": examples,
    })
}

fn text(report: &Report, examination: Examination) -> String {
    let mut text = format!("looked at {} records and {} index rows\n", report.records, report.rows);
    if examination.restored {
        text.push_str(&format!(
            "told the readers of {} feeds and the partitions of {} lanes that the store was restored\n",
            report.feeds_raised, report.lanes_told
        ));
    }
    if report.found() == 0 {
        text.push_str("everything agrees");
        return text;
    }
    let mut rows = vec![["FAULT", "FOUND", "REPAIRED"].map(str::to_owned)];
    rows.extend(
        report
            .tallies
            .iter()
            .map(|(code, tally)| [(*code).to_owned(), tally.found.to_string(), tally.repaired.to_string()]),
    );
    text.push_str(&shape::table(&rows));
    for one in &report.ailments {
        let done = if one.repaired { "repaired" } else { "left" };
        text.push_str(&format!("{}  {}: {} ({done})\n", one.code, one.key, one.detail));
    }
    if !report.is_healthy() {
        text.push_str(if examination.repair {
            "what is left cannot be set right here: see what each fault means in docs/operate/doctor.md"
        } else {
            "nothing was changed: run it again with --repair to set right what can be"
        });
    }
    text
}
