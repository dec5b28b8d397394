//! The result of `app` on a terminal: the threads, who preempted them, the audit, the verdict last.

use std::fmt::Write as _;

use record::{AppRun, Record};
use summary::program::{ProgramSummary, summary, thread_words};
use summary::run::{SeriesSummary, series};
use units::format;

use crate::view::result::{conclusion, latency_cell, signed_cell, when};
use crate::view::{blocks, findings, load};
use terminal::table::Table;
use terminal::wrap;

/// Rows of worst samples, and of threads that preempted, that are printed; the record holds more.
const SHOWN: usize = 3;
/// Threads that are printed, those of the lowest numbers; the record holds more.
const SHOWN_THREADS: usize = 24;

/// The whole result.
pub(crate) fn app(record: &Record, color: bool) -> String {
    let (Some(app), Some(program)) = (record.app(), summary(record)) else { return conclusion(record, color) };
    let mut text = wrap::paragraph(&head(record, &program), "", wrap::width());
    text.push_str(&load::description(record));
    for latency in record.measurement.kind().latencies {
        let (name, title) = (latency.name, format!("{} ({}):", latency.words, latency.name));
        let mut table = Table::new(&["", "samples", "min", "mean", "p99.9", "max", "missed"]);
        let mut any = false;
        for one in series(record).iter().filter(|one| one.name == name).take(SHOWN_THREADS) {
            any = true;
            table.row(vec![
                label(app, one),
                format::count(one.figures.samples),
                signed_cell(one.figures.lowest_ns),
                signed_cell(one.figures.mean_whole_ns()),
                signed_cell(one.figures.quantile_ns(0.999)),
                signed_cell(one.figures.highest_ns),
                one.missed_periods.map_or_else(|| "-".to_owned(), format::count),
            ]);
        }
        if any {
            let _ = write!(text, "\n{}{}", wrap::paragraph(&title, "  ", wrap::width()), table.render());
        }
    }
    text.push_str(&threads(app, &program));
    text.push_str(&worst(record, app));
    text.push_str(&tracing(&program));
    text.push_str(&audit(app, color));
    text.push_str(&conclusion(record, color));
    text
}

fn head(record: &Record, program: &ProgramSummary) -> String {
    let parts: Vec<String> = [program.followed.clone()].into_iter().chain(load::under(record)).collect();
    parts.join(", ")
}

fn label(app: &AppRun, series: &SeriesSummary) -> String {
    let thread = app.threads.iter().find(|thread| Some(thread.thread) == series.thread);
    thread.map_or_else(|| series.lane.clone(), thread_words)
}

fn threads(app: &AppRun, program: &ProgramSummary) -> String {
    let mut table = Table::new(&["", "waits by", "period", "shortest", "longest", "preempted", "in all"]);
    for thread in program.threads.iter().take(SHOWN_THREADS) {
        table.row(vec![
            thread.thread.clone(),
            thread.waits_by.clone(),
            latency_cell(thread.period_ns),
            latency_cell(thread.shortest_ns),
            latency_cell(thread.longest_ns),
            format::count(thread.preempted),
            thread.preempted_for.clone(),
        ]);
    }
    let mut text = format!("\n  loops:\n{}", table.render());
    let unprinted = u64::try_from(program.threads.len().saturating_sub(SHOWN_THREADS)).unwrap_or(0);
    if unprinted > 0 {
        let _ = writeln!(text, "  and {} more threads in the record", format::count(unprinted));
    }
    if let Some(left_out) = &program.left_out {
        let why = "of another policy or name, or ended after a few wake-ups";
        text.push_str(&wrap::paragraph(&format!("{left_out}: {why}"), "  ", wrap::width()));
    }
    text.push_str(&periods(app));
    let mut by = Table::new(&["", "preempted by", "times", "in all", "longest"]);
    let mut any = false;
    for thread in program.threads.iter().take(SHOWN_THREADS) {
        for preemption in thread.preempted_by.iter().take(SHOWN) {
            any = true;
            by.row(vec![
                thread.thread.clone(),
                preemption.name.clone(),
                format::count(preemption.times),
                preemption.total.clone(),
                latency_cell(Some(preemption.longest_ns)),
            ]);
        }
    }
    if any {
        let _ = write!(text, "\n  preemptions:\n{}", by.render());
    }
    text
}

/// Columns of a picture of periods on each side, and the least.
const PICTURE_COLUMNS: usize = 20;
const LEAST_PICTURE_COLUMNS: usize = 8;

/// How far the activations of each thread were from its period.
fn periods(app: &AppRun) -> String {
    // Both sides, what stands between them, and what a row of a narrow terminal is indented by.
    let half = (wrap::row_width().saturating_sub(5) / 2).clamp(LEAST_PICTURE_COLUMNS, PICTURE_COLUMNS);
    let sides = format!("{:>half$}|{:<half$}", "sooner ", " later");
    let mut table = Table::new(&["", &sides, "half of them within"]).picture(1);
    let mut any = false;
    for thread in app.threads.iter().take(SHOWN_THREADS) {
        let Some(period_ns) = thread.period_ns.filter(|_| !thread.periods.is_empty()) else { continue };
        any = true;
        let bins: Vec<_> = thread.periods.bins().collect();
        let quartile = |share| thread.periods.quantile_ns(share).map(|ns| ns.abs_diff(period_ns));
        table.row(vec![
            thread_words(thread),
            blocks::about(&bins, period_ns, half),
            latency_cell(quartile(0.25).max(quartile(0.75))),
        ]);
    }
    if !any {
        return String::new();
    }
    let legend = "activations about the period, sooner to the left of |, later to the right, logarithmic; ×: late by half \
                  a period or more:";
    format!("\n{}{}", wrap::paragraph(legend, "  ", wrap::width()), table.render())
}

fn worst(record: &Record, app: &AppRun) -> String {
    if record.worst.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&["", "latency", "ran at"]);
    for sample in record.worst.iter().take(SHOWN) {
        let thread = app.threads.iter().find(|thread| Some(thread.thread) == sample.place.thread_number());
        table.row(vec![
            thread.map_or_else(|| sample.place.to_string(), thread_words),
            format::latency(sample.latency_ns),
            when(sample.to.at, record.manifest()),
        ]);
    }
    format!("\n  worst samples:\n{}", table.render())
}

/// What following cost, in a sentence.
fn tracing(program: &ProgramSummary) -> String {
    let line = format!("following cost: {}", program.cost.join(", "));
    format!("\n{}", wrap::paragraph(&line, "  ", wrap::width()))
}

/// The findings, and what was not looked for: without that, no finding reads as no fault.
fn audit(app: &AppRun, color: bool) -> String {
    let (found, width) = (&app.findings, wrap::width());
    let mut text = String::from("\n");
    if found.is_empty() {
        text.push_str("audit: nothing found\n");
    }
    for finding in found {
        findings::head(&mut text, finding, width, color);
        findings::labeled(&mut text, "seen", findings::readings(finding), width);
        findings::labeled(&mut text, "change", finding.remedy.iter().cloned(), width);
    }
    for sentence in app.looked_for() {
        text.push_str(&wrap::paragraph(&format!("audit: {sentence}"), "", width));
    }
    text
}
