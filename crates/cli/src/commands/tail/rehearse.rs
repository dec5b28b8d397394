//! `punctual tail rehearse`: what is foretold, held against what comes.

use std::fmt::Write as _;
use std::path::PathBuf;

use analyse::tail::{Rehearsal, RehearsalOptions, RehearsalRow, rehearse, rehearse_records};
use anyhow::Context as _;
use record::Record;
use units::{approx_f64, format};

use crate::exit::Exit;
use crate::view::result::Table;
use crate::view::wrap;
use crate::{output, records};

/// Tell how often what is foretold comes true: on simulated processes whose tail is known, or on recorded runs
///
/// Foretells the worst case of the rest from the first tenth, nine times as long, and looks at what came. Prints for each kind
/// of process how many were answered, how many of the answers held, and why the others were refused.
#[derive(clap::Args)]
pub(super) struct RehearseArgs {
    /// Records that are cut into a first tenth and the rest, instead of simulated processes
    #[arg(value_name = "RECORD")]
    records: Vec<PathBuf>,
    /// Simulated processes, over all kinds
    #[arg(long, value_name = "N", default_value_t = 900, value_parser = clap::value_parser!(u64).range(9..=100_000))]
    processes: u64,
    /// How often to resample each
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u32).range(200..=100_000))]
    resamples: u32,
    /// Where the random numbers begin; the same seed gives the same output
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Print it as JSON (schema punctual/tail-rehearsal)
    #[arg(long)]
    json: bool,
}

impl RehearseArgs {
    pub(super) fn run(self) -> anyhow::Result<Exit> {
        let options = RehearsalOptions {
            processes: self.processes,
            resamples: self.resamples,
            seed: self.seed,
            ..RehearsalOptions::default()
        };
        let rehearsal = if self.records.is_empty() {
            rehearse(&options)
        } else {
            let runs: Vec<Record> =
                self.records.iter().map(|path| records::record(path)).collect::<anyhow::Result<_>>()?;
            rehearse_records(&runs.iter().collect::<Vec<_>>(), &options)
        };
        let text = if self.json {
            serde_json::to_string_pretty(&rehearsal).context("cannot write the rehearsal as JSON")? + "\n"
        } else {
            show(&rehearsal, wrap::width())
        };
        output::data(&text);
        Ok(Exit::Holds)
    }
}

fn show(rehearsal: &Rehearsal, width: usize) -> String {
    let about = format!(
        "Foretold from the first part: the worst case of the rest, {} times as long, in intervals that shall hold {:.0} % of \
         the outcomes ({} resamples, seed {}).",
        rehearsal.times,
        rehearsal.stated * 100.0,
        format::count(rehearsal.resamples.into()),
        rehearsal.seed
    );
    let mut text = wrap::paragraph(&about, "", width);
    text.push('\n');
    let mut table = Table::new(&["", "runs", "answered", "held", "", "beyond", "beyond 99 %", "reach"]);
    rehearsal.rows.iter().for_each(|row| table.row(cells(&row.name, row)));
    let sum = |name: &str, keep: &dyn Fn(&RehearsalRow) -> bool| {
        let mut all = RehearsalRow::default();
        for row in rehearsal.rows.iter().filter(|row| keep(row)) {
            all.processes += row.processes;
            all.answered += row.answered;
            all.covered += row.covered;
            all.above += row.above;
            all.above_99 += row.above_99;
        }
        cells(name, &all)
    };
    if rehearsal.rows.iter().any(|row| row.sound.is_some()) {
        table.row(sum("all that can be told", &|row| row.sound == Some(true)));
        table.row(sum("all that should be refused", &|row| row.sound == Some(false)));
    }
    text.push_str(&table.render());
    text.push_str("\nRefused, by the first reason:\n");
    for row in &rehearsal.rows {
        let reasons: Vec<String> =
            row.refused.iter().map(|refused| format!("{} {}", refused.count, refused.code.word())).collect();
        let reasons = if reasons.is_empty() { "none".to_owned() } else { reasons.join(", ") };
        text.push_str(&wrap::paragraph(&format!("{}: {reasons}.", row.name), "  ", width));
        for told in row.told.iter().filter(|told| !told.is_empty()) {
            text.push_str(&wrap::paragraph(told, "    ", width));
        }
    }
    if rehearsal.rows.iter().any(|row| row.sound.is_none() && row.told.is_empty()) {
        let _ = writeln!(
            text,
            "\nA second regime that the first part never saw cannot be foreseen by anything; its row tells what that costs."
        );
    }
    text
}

fn cells(name: &str, row: &RehearsalRow) -> Vec<String> {
    let share = if row.answered == 0 {
        String::new()
    } else {
        format!("{:.1} %", approx_f64(row.covered) / approx_f64(row.answered) * 100.0)
    };
    let count = |count: u64| format::count(count);
    vec![
        name.to_owned(),
        count(row.processes),
        count(row.answered),
        count(row.covered),
        share,
        count(row.above),
        count(row.above_99),
        if row.reach > 0.0 { format!("{:.2}", row.reach) } else { String::new() },
    ]
}
