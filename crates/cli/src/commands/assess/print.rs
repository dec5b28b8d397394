//! The conclusion of `assess` on a terminal.

use std::fmt::Write as _;

use analyse::{Answer, Assessment};
use record::{Measurement, Record};
use units::format;

use super::folder::Written;
use crate::output::paint;
use crate::view::result::{Table, latency};
use crate::view::wrap;

/// A table of the runs, what to change, where everything is, and the verdict last, where the eye rests.
pub(crate) fn conclusion(assessment: &Assessment, runs: &[Record], written: &Written, colour: bool) -> String {
    let mut table = Table::new(&["wake-ups", "samples", "min", "mean", "p99.9", "max", "missed", ""]);
    for run in runs.iter().filter(|run| run.measurement == Measurement::Wakeup) {
        for series in &run.series {
            let place = series.cpu.map_or_else(|| format!("thread {}", series.thread), |cpu| format!("CPU {cpu}"));
            table.row(vec![
                format!("{}, {place}", run.label),
                format::count(series.counters.samples),
                latency(series.histogram.min_ns()),
                latency(series.histogram.mean_ns().map(units::round_u64)),
                latency(series.histogram.quantile_ns(0.999)),
                latency(series.histogram.max_ns()),
                format::count(series.counters.missed_periods),
                run.validity.state().word().to_owned(),
            ]);
        }
    }
    let width = wrap::width();
    let mut text = format!("\n{}", table.render());
    if !assessment.changes.is_empty() {
        let _ = writeln!(text, "\n{}:", assessment.changes_heading());
        for (number, change) in (1..).zip(&assessment.changes) {
            let explain = change.finding.as_ref().map_or_else(String::new, |id| format!("  [punctual explain {id}]"));
            let _ = writeln!(text, "  {number}. {}{explain}", paint(colour, "1", &change.title));
            text.push_str(&wrap::paragraph(&change.why, "     ", width));
            for how in change.how.iter().take(2) {
                for (number, line) in wrap::lines(how, width.saturating_sub(7)).iter().enumerate() {
                    let lead = if number == 0 { "     > " } else { "       " };
                    let _ = writeln!(text, "{lead}{line}");
                }
            }
        }
    }
    let _ = writeln!(text, "\nReport:  {}", written.report.display());
    let _ = writeln!(text, "Records: {}", written.folder.display());
    let (mark, sgr) = match assessment.answer {
        Answer::Holds => ("HOLDS", "1;32"),
        Answer::DoesNotHold => ("DOES NOT HOLD", "1;31"),
        Answer::CannotBeTold => ("CANNOT BE TOLD", "1;33"),
    };
    let _ = writeln!(text, "\n{}", paint(colour, sgr, mark));
    text.push_str(&wrap::paragraph(&assessment.sentence, "", width));
    for line in &assessment.lines {
        text.push_str(&wrap::paragraph(line, "", width));
    }
    text
}
