//! The result of `app` on a terminal: the threads, who preempted them, the audit, the verdict last.

use std::fmt::Write as _;

use record::{AppRun, AppThread, Record, Series};
use units::{approx_f64, format};

use crate::view::result::{conclusion, latency_cell, when};
use crate::view::{blocks, findings, load};
use terminal::table::Table;
use terminal::wrap;

/// Rows of worst samples, and of threads that preempted, that are printed; the record holds more.
const SHOWN: usize = 3;
/// Threads that are printed, those of the lowest numbers; the record holds more.
const SHOWN_THREADS: usize = 24;

/// The whole result.
pub(crate) fn app(record: &Record, colour: bool) -> String {
    let Some(app) = record.app() else { return conclusion(record, colour) };
    let mut text = wrap::paragraph(&head(record, app), "", wrap::width());
    text.push_str(&load::description(record));
    for latency in record.measurement.kind().latencies {
        let (name, title) = (latency.name, format!("{} ({}):", latency.words, latency.name));
        let mut table = Table::new(&["", "samples", "min", "mean", "p99.9", "max", "missed"]);
        let mut any = false;
        for series in record.series.iter().filter(|series| series.name == name).take(SHOWN_THREADS) {
            any = true;
            let missed = series.interval_ns.map(|_| format::count(series.counters.missed_periods));
            table.row(vec![
                label(app, series),
                format::count(series.counters.samples),
                latency_cell(series.histogram.min_ns()),
                latency_cell(series.histogram.mean_ns().map(units::round_u64)),
                latency_cell(series.histogram.stated_quantile_ns(0.999)),
                latency_cell(series.histogram.max_ns()),
                missed.unwrap_or_else(|| "-".to_owned()),
            ]);
        }
        if any {
            let _ = write!(text, "\n{}{}", wrap::paragraph(&title, "  ", wrap::width()), table.render());
        }
    }
    text.push_str(&threads(app));
    text.push_str(&worst(record, app));
    text.push_str(&tracing(app));
    text.push_str(&audit(app, colour));
    text.push_str(&conclusion(record, colour));
    text
}

fn head(record: &Record, app: &AppRun) -> String {
    let what = app.command.as_ref().map_or_else(|| format!("process {}", app.pid), |command| format!("'{command}'"));
    let elapsed = record.manifest().ended.monotonic.as_ns() - record.manifest().started.monotonic.as_ns();
    let mut parts = vec![what, format!("followed for {}", format::span(elapsed))];
    if let Some(how) = &app.ended {
        parts.push(format!("until it ended ({how})"));
    }
    parts.extend(load::under(record));
    parts.join(", ")
}

fn label(app: &AppRun, series: &Series) -> String {
    app.threads
        .iter()
        .find(|thread| Some(thread.thread) == series.place.thread_number())
        .map_or_else(|| series.place.to_string(), named)
}

fn named(thread: &AppThread) -> String {
    match thread.priority {
        0 => format!("{} ({}, {})", thread.name, thread.tid, thread.policy),
        priority => format!("{} ({}, {} {priority})", thread.name, thread.tid, thread.policy),
    }
}

fn threads(app: &AppRun) -> String {
    let mut table = Table::new(&["", "waits by", "period", "shortest", "longest", "preempted", "in all"]);
    for thread in app.threads.iter().take(SHOWN_THREADS) {
        table.row(vec![
            named(thread),
            thread.waits_by.clone().unwrap_or_else(|| "no loop recognized".to_owned()),
            latency_cell(thread.period_ns),
            latency_cell(thread.periods.min_ns()),
            latency_cell(thread.periods.max_ns()),
            format::count(thread.preempted),
            format::span(thread.preempted_ns),
        ]);
    }
    let mut text = format!("\n  loops:\n{}", table.render());
    let unprinted = u64::try_from(app.threads.len().saturating_sub(SHOWN_THREADS)).unwrap_or(0);
    if unprinted > 0 {
        let _ = writeln!(text, "  and {} more threads in the record", format::count(unprinted));
    }
    if app.threads_left_out > 0 {
        let left_out = match app.threads_left_out {
            1 => "1 other thread was".to_owned(),
            many => format!("{} other threads were", format::count(many)),
        };
        let why = "of another policy or name, or ended after a few wake-ups";
        text.push_str(&wrap::paragraph(&format!("{left_out} seen and left out: {why}"), "  ", wrap::width()));
    }
    text.push_str(&periods(app));
    let mut by = Table::new(&["", "preempted by", "times", "in all", "longest"]);
    let mut any = false;
    for thread in app.threads.iter().take(SHOWN_THREADS) {
        for preemption in thread.preempted_by.iter().take(SHOWN) {
            any = true;
            by.row(vec![
                named(thread),
                preemption.name.clone(),
                format::count(preemption.times),
                format::span(preemption.total_ns),
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
            named(thread),
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
            thread.map_or_else(|| sample.place.to_string(), named),
            format::latency(sample.latency_ns),
            when(sample.to.at, record.manifest()),
        ]);
    }
    format!("\n  worst samples:\n{}", table.render())
}

/// What following cost, in a sentence.
fn tracing(app: &AppRun) -> String {
    let cost = &app.tracing;
    let mut parts = vec![format!("{} events", format::count(cost.events))];
    if let (Some(event_ns), Some(events)) = (cost.event_ns, cost.events_per_activation) {
        let each_ns = units::round_u64(approx_f64(event_ns) * events);
        parts.push(format!(
            "{events:.1} for each activation at {event_ns} ns, measured before: about {} each",
            latency_cell(Some(each_ns))
        ));
    }
    if let Some(return_ns) = cost.return_ns {
        parts.push(format!("{} of each return measured before and included", latency_cell(Some(return_ns))));
    }
    parts.push(format!("{:.1} % of one CPU for reading them", cost.own_cpu * 100.0));
    wrap::paragraph(&format!("following cost: {}", parts.join(", ")), "  ", wrap::width()).replacen("  ", "\n  ", 1)
}

/// The findings, and what was not looked for: without that, no finding reads as no fault.
fn audit(app: &AppRun, colour: bool) -> String {
    let (found, width) = (&app.findings, wrap::width());
    let mut text = String::from("\n");
    if found.is_empty() {
        text.push_str("audit: nothing found\n");
    }
    for finding in found {
        findings::head(&mut text, finding, width, colour);
        findings::labelled(&mut text, "seen", findings::readings(finding), width);
        findings::labelled(&mut text, "change", finding.remedy.iter().cloned(), width);
    }
    for sentence in app.looked_for() {
        text.push_str(&wrap::paragraph(&format!("audit: {sentence}"), "", width));
    }
    text
}
