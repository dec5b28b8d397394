//! `punctual tail rehearse`: predictions compared with what comes.

use std::fmt::Write as _;
use std::path::PathBuf;

use analysis::tail::{DecisionRow, Rehearsal, RehearsalOptions, RehearsalRow, TOGETHER, rehearse, rehearse_records};
use anyhow::Context as _;
use record::Record;
use units::{approx_f64, format};

use crate::exit::Exit;
use crate::records::{self, RecordArgs};
use terminal::output;
use terminal::table::Table;
use terminal::wrap;

/// Measure how often predictions come true: on simulated processes whose tail is known, or on recorded runs
///
/// Predicts the worst case of the rest from the first tenth, nine times as long, and compares it with what came. Prints for each kind
/// of process how many were answered, how many of the answers held, and why the others were refused.
#[derive(clap::Args)]
pub(super) struct RehearseArgs {
    /// Records, or folders of them, that are cut into a first tenth and the rest, instead of simulated processes
    #[arg(value_name = "RECORD")]
    records: Vec<PathBuf>,
    #[command(flatten)]
    read: RecordArgs,
    /// Simulated processes, over all kinds
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(10..=100_000))]
    processes: u64,
    /// Simulated runs whose claims are looked at repeatedly, as with --until-sure, over all kinds
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = clap::value_parser!(u64).range(0..=100_000))]
    watched: u64,
    /// How often to resample each
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u32).range(200..=100_000))]
    resamples: u32,
    /// Where the random numbers begin; the same seed gives the same output
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Print the result as JSON (schema punctual/tail-rehearsal)
    #[arg(long)]
    json: bool,
}

impl RehearseArgs {
    pub(super) fn run(self) -> anyhow::Result<Exit> {
        let options = RehearsalOptions {
            processes: self.processes,
            watched: self.watched,
            resamples: self.resamples,
            seed: self.seed,
            ..RehearsalOptions::default()
        };
        let rehearsal = if self.records.is_empty() {
            rehearse(&options)
        } else {
            let is_predicted = |run: &Record| !run.measurement.kind().predicted.is_empty();
            let runs = records::by_start(self.read.read(&self.records, |_, run| is_predicted(run))?);
            rehearse_records(&runs.iter().collect::<Vec<_>>(), &options)
        };
        let text = if self.json {
            serde_json::to_string_pretty(&rehearsal).context("cannot write the rehearsal as JSON")? + "\n"
        } else {
            show(&rehearsal, wrap::width())
        };
        output::data(&text);
        let is_empty = rehearsal.rows.iter().all(|row| row.processes == 0);
        Ok(if is_empty { Exit::Invalid } else { Exit::Holds })
    }
}

fn show(rehearsal: &Rehearsal, width: usize) -> String {
    let about = format!(
        "Predicted from the first part: the worst case of the rest, {} times as long, in intervals that should hold {:.0} % of \
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
        table.row(sum("all that can be answered", &|row| row.sound == Some(true)));
        table.row(sum("all that should be refused", &|row| row.sound == Some(false)));
    } else if rehearsal.rows.len() > 1 {
        table.row(sum("each by itself", &|row| row.name != TOGETHER));
    }
    text.push_str(&table.render());
    text.push_str("\nRefused, by the first reason:\n");
    for row in &rehearsal.rows {
        let reasons: Vec<String> =
            row.refused.iter().map(|refused| format!("{} {}", refused.count, refused.code.word())).collect();
        let reasons = match reasons.as_slice() {
            [] if row.processes == 0 => {
                "nothing could be predicted: the order in time is missing, or too short to be cut".to_owned()
            }
            [] => "none".to_owned(),
            _ => reasons.join(", "),
        };
        text.push_str(&wrap::paragraph(&format!("{}: {reasons}.", row.name), "  ", width));
        for line in row.told.iter().filter(|line| !line.is_empty()) {
            text.push_str(&wrap::paragraph(line, "    ", width));
        }
    }
    text.push_str(&decisions(&rehearsal.decisions, width));
    if rehearsal.rows.iter().any(|row| row.sound.is_none() && row.told.is_empty()) {
        let _ = writeln!(
            text,
            "\nNothing can predict a second regime that the first part never saw; its row shows the effect."
        );
    }
    text
}

/// How claims were decided that were looked at repeatedly: of each claim and true chance one row over all processes
/// that can be answered, and beside it those that should be refused.
fn decisions(rows: &[DecisionRow], width: usize) -> String {
    if rows.iter().all(|row| row.runs == 0) {
        return String::new();
    }
    let about = "Measured until sure: claims that are looked at repeatedly, by how likely the time to come really \
                 exceeds the limit. A claim is true where that is no more than it allows.";
    let mut text = format!("\n{}\n", wrap::paragraph(about, "", width).trim_end());
    let head =
        ["claimed", "for", "exceeded", "claim", "runs", "shown", "broken", "undecided", "unsound", "shown", "broken"];
    let mut table = Table::new(&head);
    let key = |row: &DecisionRow| [row.confidence, row.horizon, row.chance].map(f64::to_bits);
    let is_alike = |a: &DecisionRow, b: &DecisionRow| key(a) == key(b);
    for (at, claim) in rows.iter().enumerate() {
        if rows.iter().take(at).any(|before| is_alike(before, claim)) {
            continue;
        }
        let sum = |sound: bool, of: fn(&DecisionRow) -> u64| {
            let alike = rows.iter().filter(|row| row.sound == Some(sound) && is_alike(row, claim));
            units::total(alike.map(of))
        };
        let (runs, shown) = (sum(true, |row| row.runs), sum(true, |row| row.shown));
        let broken = sum(true, |row| row.broken);
        table.row(vec![
            format!("{:.0} %", claim.confidence * 100.0),
            format!("{:.3} runs", claim.horizon),
            format!("{:.1} %", claim.chance * 100.0),
            if is_true(claim) { "true".to_owned() } else { "false".to_owned() },
            format::count(runs),
            format::count(shown),
            format::count(broken),
            format::count(runs - shown - broken),
            format::count(sum(false, |row| row.runs)),
            format::count(sum(false, |row| row.shown)),
            format::count(sum(false, |row| row.broken)),
        ]);
    }
    text.push_str(&table.render());
    let all = |truth: bool, of: fn(&DecisionRow) -> u64| {
        let rows = rows.iter().filter(|row| row.sound == Some(true) && is_true(row) == truth);
        units::total(rows.map(of))
    };
    let share = |part: u64, all: u64| approx_f64(part) / approx_f64(all.max(1)) * 100.0;
    let (false_shown, false_runs) = (all(false, |row| row.shown), all(false, |row| row.runs));
    let (true_broken, true_runs) = (all(true, |row| row.broken), all(true, |row| row.runs));
    let errors = format!(
        "Of what can be decided: {} of {} false claims ended as shown ({:.2} %), {} of {} true ones as broken ({:.2} %); at most \
         1 % is stated for each.",
        format::count(false_shown),
        format::count(false_runs),
        share(false_shown, false_runs),
        format::count(true_broken),
        format::count(true_runs),
        share(true_broken, true_runs)
    );
    text.push_str(&wrap::paragraph(&errors, "", width));
    text
}

/// Whether the time to come exceeds the limit no more often than the claim allows.
fn is_true(row: &DecisionRow) -> bool {
    row.chance <= (1.0 - row.confidence) * 1.001
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
