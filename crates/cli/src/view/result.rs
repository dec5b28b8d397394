//! The result of a run on a terminal: a table, what is known of the worst, the verdict last.

use std::fmt::Write as _;
use std::path::Path;

use record::{Figure, Manifest, Moment, Record, Series, ValidityState, VerdictState};
use summary::run::{ReasonSummary, SeriesSummary, bursts, coverage, series, stated_missed, validity, verdict};
use units::format;

use crate::view::load;
use terminal::output::{self, paint};
use terminal::table::Table;
use terminal::wrap;

/// Rows of worst samples that are printed; the record holds more.
const SHOWN_WORST: usize = 3;
/// Spoiled intervals that are printed; the record has them all.
const SHOWN_SPOILED: usize = 8;

/// A latency where there is one.
pub(crate) fn latency_cell(ns: Option<u64>) -> String {
    ns.map_or_else(|| "-".to_owned(), format::latency)
}

/// A latency with its sign where there is one.
pub(super) fn signed_cell(ns: Option<i64>) -> String {
    ns.map_or_else(|| "-".to_owned(), format::latency)
}

fn count_cell(count: Option<u64>) -> String {
    count.map_or_else(|| "-".to_owned(), format::count)
}

fn name_of(series: &SeriesSummary, all: &[SeriesSummary]) -> String {
    // An import can hold several latencies of a CPU.
    if all.iter().any(|other| other.name != series.name) { series.title.clone() } else { series.lane.clone() }
}

/// How long a run took, where that is known.
fn duration(record: &Record) -> Option<String> {
    coverage(record).map(|coverage| format!("for {}", coverage.measured))
}

/// The result of a run, as its kind is shown.
pub(crate) fn table(record: &Record, color: bool) -> String {
    table_of_file(record, None, color)
}

/// The same where the record is kept in a file, which further commands can name.
pub(crate) fn table_of_file(record: &Record, file: Option<&Path>, color: bool) -> String {
    let kind = record.measurement.kind();
    match kind.figure {
        Figure::Gaps if kind.sampling.counts_by_time() => gaps(record, color),
        Figure::Wakeups | Figure::Gaps => wakeups(record, file, color),
        Figure::Costs => costs(record, color),
        Figure::Offsets => super::sync::table(record, color),
        Figure::Delays => super::packet::table(record, color),
        Figure::Orders => super::pulse::table(record, color),
    }
}

/// Latencies of threads, with what made the worst of them late.
fn wakeups(record: &Record, file: Option<&Path>, color: bool) -> String {
    let mut table = Table::new(&["", "samples", "min", "mean", "p99.9", "max", "missed"]);
    let all = series(record);
    for one in &all {
        table.row(vec![
            name_of(one, &all),
            format::count(one.figures.samples),
            signed_cell(one.figures.lowest_ns),
            signed_cell(one.figures.mean_whole_ns()),
            signed_cell(one.figures.quantile_ns(0.999)),
            signed_cell(one.figures.highest_ns),
            count_cell(one.missed_periods),
        ]);
    }
    let head = wrap::paragraph(&head(record), "", wrap::width());
    let mut text = format!("{head}{}\n{}", load::description(record), table.render());
    if let Some(missed) = stated_missed(record) {
        let _ = write!(text, "\n{}", wrap::paragraph(&missed, "  ", wrap::width()));
    }
    if all.iter().any(|one| one.corrected.is_some()) {
        let title = "with one sample for each swallowed schedule (corrected for coordinated omission):";
        let _ = write!(text, "\n{}", wrap::paragraph(title, "  ", wrap::width()));
        let mut corrected = Table::new(&["", "samples", "mean", "p99.9", "max"]);
        for one in all.iter().filter(|one| one.judged) {
            let figures = one.corrected.as_ref().unwrap_or(&one.figures);
            corrected.row(vec![
                name_of(one, &all),
                format::count(figures.samples),
                signed_cell(figures.mean_whole_ns()),
                signed_cell(figures.quantile_ns(0.999)),
                signed_cell(figures.highest_ns),
            ]);
        }
        text.push_str(&corrected.render());
    }
    text.push_str(&super::answer::text(record));
    text.push_str(&worst(record, SHOWN_WORST));
    text.push_str(&super::explanation::text(record, file));
    text.push_str(&super::rhythm::text(record));
    text.push_str(&rows(record));
    text.push_str(&spoiled(record));
    text.push_str(&load::turns(record));
    text.push_str(&conclusion(record, color));
    text
}

/// What each repetition of a call took.
fn costs(record: &Record, color: bool) -> String {
    let cpu = &record.manifest().requested.cpus;
    let source = record.manifest().instrument.clocksource.as_deref().unwrap_or("unknown");
    let kind = record.measurement.kind();
    let about = kind.about.trim().trim_end_matches('.');
    let head = format!("{about}, on CPU {cpu}, clock source {source}");
    let mut text = wrap::paragraph(&head, "", wrap::width());
    let all = series(record);
    let has_blocks = all.iter().any(|one| one.mean_of_blocks.is_some());
    for latency in kind.latencies {
        let (name, title) = (latency.name, latency.words);
        let mut head = vec!["", kind.samples, "min", "mean", "sd", "p99.9", "max"];
        head.extend(has_blocks.then_some("mean of blocks"));
        let mut table = Table::new(&head);
        let mut any = false;
        for one in all.iter().filter(|one| one.name == name) {
            any = true;
            let figures = &one.figures;
            let mut row = vec![
                one.variant.clone(),
                format::count(figures.samples),
                signed_cell(figures.lowest_ns),
                signed_cell(figures.mean_whole_ns()),
                latency_cell(figures.sd_ns.map(units::round_u64)),
                signed_cell(figures.quantile_ns(0.999)),
                signed_cell(figures.highest_ns),
            ];
            row.extend(has_blocks.then(|| one.mean_of_blocks.clone().unwrap_or_else(|| "-".to_owned())));
            table.row(row);
        }
        if any {
            let title = wrap::paragraph(&format!("{title}:"), "  ", wrap::width());
            let _ = write!(text, "\n{title}{}", table.render());
        }
    }
    for clock in without_vdso(record) {
        let line =
            format!("reading {clock} costs as much by the C library as by a system call: no vDSO serves it here");
        let _ = write!(text, "\n{}", wrap::paragraph(&line, "  ", wrap::width()));
    }
    text.push_str(&conclusion(record, color));
    text
}

/// Clocks that the C library reads no faster than a system call does.
fn without_vdso(record: &Record) -> Vec<String> {
    // Each clock alone comes first in the table.
    let alone = record.measurement.kind().latencies.first().map(|latency| latency.name);
    let mean = |variant: String| {
        let is_it = |series: &&Series| Some(series.name.as_str()) == alone && series.variant == variant;
        record.series.iter().find(is_it)?.block_mean_median_ns()
    };
    record
        .series
        .iter()
        .filter_map(|series| series.variant.strip_suffix(" vdso"))
        .filter(|clock| match (mean(format!("{clock} vdso")), mean(format!("{clock} syscall"))) {
            (Some(library), Some(syscall)) => library > 0.8 * syscall,
            _ => false,
        })
        .map(str::to_owned)
        .collect()
}

/// Gaps, and what they took of each second.
fn gaps(record: &Record, color: bool) -> String {
    let mut table = Table::new(&["", "gaps", "a second", "mean", "p99.9", "max", "stolen"]);
    let all = series(record);
    for one in &all {
        let gaps = one.gaps.as_ref();
        table.row(vec![
            name_of(one, &all),
            format::count(one.figures.samples),
            gaps.and_then(|gaps| gaps.per_second.clone()).unwrap_or_else(|| "-".to_owned()),
            signed_cell(one.figures.mean_whole_ns()),
            signed_cell(one.figures.quantile_ns(0.999)),
            signed_cell(one.figures.highest_ns),
            gaps.and_then(|gaps| gaps.stolen.clone()).unwrap_or_else(|| "-".to_owned()),
        ]);
    }
    let mut parts = vec![match record.manifest().requested.threshold_ns {
        None => "gaps in a loop that never sleeps".to_owned(),
        threshold => format!("gaps of {} and more in a loop that never sleeps", latency_cell(threshold)),
    }];
    parts.extend(Some(record.manifest().requested.policy.clone()).filter(|policy| !policy.is_empty()));
    parts.extend(duration(record));
    parts.extend(load::under(record));
    let head = wrap::paragraph(&parts.join(", "), "", wrap::width());
    let mut text = format!("{head}{}\n{}", load::description(record), table.render());
    text.push_str(&worst(record, SHOWN_WORST));
    text.push_str(&spoiled(record));
    text.push_str(&conclusion(record, color));
    text
}

fn head(record: &Record) -> String {
    let requested = &record.manifest().requested;
    let mut parts = vec![format!("{} latency", record.measurement.name())];
    if let Some(interval) = requested.interval_ns {
        parts.push(format!("every {}", format::span(interval)));
    }
    let granted = record.manifest().effective.first().map(|e| (e.policy.as_str(), e.priority));
    match granted {
        Some((policy, 0)) => parts.push(policy.to_owned()),
        Some((policy, priority)) => parts.push(format!("{policy} {priority}")),
        None => {}
    }
    if let Some(clock) = requested.clock {
        parts.push(format!("on the {clock} clock"));
    }
    parts.extend(duration(record));
    parts.extend(load::under(record));
    parts.join(", ")
}

/// A moment in the time zone of the node; the time into the run where its source has no date.
pub(crate) fn when(at: Moment, manifest: &Manifest) -> String {
    if at.realtime.as_ns() == 0 {
        let into_ns = at.monotonic.as_ns().saturating_sub(manifest.started.monotonic.as_ns());
        return format!("{} into the run", format::span(into_ns.max(0)));
    }
    wall_time(at.realtime.as_ns(), manifest.time_zone.as_deref())
}

/// A wall-clock time in a time zone.
fn wall_time(realtime_ns: i64, zone: Option<&str>) -> String {
    let Ok(timestamp) = jiff::Timestamp::from_nanosecond(i128::from(realtime_ns)) else {
        return format!("{realtime_ns} ns of 1970");
    };
    let zone = zone.and_then(|name| jiff::tz::TimeZone::get(name).ok()).unwrap_or(jiff::tz::TimeZone::UTC);
    timestamp.to_zoned(zone).strftime("%Y-%m-%d %H:%M:%S%.6f %Z").to_string()
}

/// The worst samples, at most so many; where causes were looked for, each with its number and its cause.
pub(super) fn worst(record: &Record, most: usize) -> String {
    if record.worst.is_empty() {
        return String::new();
    }
    let at = record.worst.first().map_or("", |worst| record.measurement.kind().at(&worst.name));
    let mut table = match record.explanation() {
        Some(_) => Table::new(&["", "", "latency", at, "since boot", "cause"]).left(5),
        None => Table::new(&["", "latency", at, "since boot"]),
    };
    for sample in summary::run::worst(record).into_iter().take(most) {
        let mut cells = vec![
            sample.place.to_string(),
            format::latency(sample.latency_ns),
            when(sample.to, record.manifest()),
            seconds(sample.to.monotonic.as_ns()),
        ];
        if let Some(cause) = sample.cause {
            cells.insert(0, sample.number.to_string());
            cells.push(cause);
        }
        table.row(cells);
    }
    format!("\n  worst samples:\n{}", table.render())
}

fn seconds(ns: i64) -> String {
    format!("{}.{:06} s", ns / 1_000_000_000, ns % 1_000_000_000 / 1_000)
}

fn rows(record: &Record) -> String {
    let missed: Vec<_> = bursts(record).into_iter().filter(|row| row.missed_periods > 0).take(SHOWN_WORST).collect();
    if missed.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&["", "missed in a row", "worst", "recovered after", "from"]);
    for row in missed {
        table.row(vec![
            row.place.to_string(),
            format::count(row.missed_periods),
            format::latency(row.worst_ns),
            row.recovery.unwrap_or_else(|| "-".to_owned()),
            when(row.first_scheduled, record.manifest()),
        ]);
    }
    format!("\n  longest rows of missed periods:\n{}", table.render())
}

/// The intervals that something spoiled, with their figures; empty where there are none.
fn spoiled(record: &Record) -> String {
    let all = summary::run::spoiled(record);
    if all.intervals == 0 {
        return String::new();
    }
    let mut table = Table::new(&["", "from", "length", "samples", "worst", "missed", "why"]).left(6);
    for row in all.rows.iter().take(SHOWN_SPOILED) {
        table.row(vec![
            row.lane.clone(),
            format::span(row.start_offset_ns),
            format::span(row.length_ns),
            format::count(row.samples),
            row.worst.clone().unwrap_or_else(|| "-".to_owned()),
            format::count(row.missed_periods),
            row.why.clone(),
        ]);
    }
    let head = "spoiled intervals, which are in none of the numbers above:";
    let more = match all.rows.len().saturating_sub(SHOWN_SPOILED) {
        0 => String::new(),
        more => format!("  and {} more, in the record\n", format::count(more as u64)),
    };
    let not_kept = all.not_kept.map_or_else(String::new, |words| wrap::paragraph(&words, "  ", wrap::width()));
    format!("\n{}{}{more}{not_kept}", wrap::paragraph(head, "  ", wrap::width()), table.render())
}

/// Validity with its reasons, then the verdict: one paragraph each. What was seen for each caveat, and what cannot be observed
/// on this machine, is for who asks; why a run is invalid is always there.
pub(crate) fn conclusion(record: &Record, color: bool) -> String {
    conclusion_in(record, output::is_verbose(), color)
}

fn conclusion_in(record: &Record, is_verbose: bool, color: bool) -> String {
    let width = wrap::width();
    let validity = validity(record);
    let state = validity.state;
    let sgr = match state {
        ValidityState::Valid => "32",
        ValidityState::Degraded => "33",
        ValidityState::Invalid => "1;31",
    };
    let mut text = String::from("\n");
    let (reasons, hidden) = (&validity.reasons, &validity.not_observable);
    let is_short = |reason: &&ReasonSummary| !is_verbose && reason.state != ValidityState::Invalid;
    let (short, long): (Vec<_>, Vec<_>) = reasons.iter().partition(is_short);
    let mut caveats: Vec<&str> = short.iter().map(|reason| reason.caveat.as_str()).collect();
    caveats.dedup();
    let more = match (caveats.is_empty(), hidden.is_empty() || is_verbose) {
        (true, true) => String::new(),
        (false, true) => " (-v: what was seen)".to_owned(),
        (true, false) => format!(" ({} not observable here: -v)", format::count(hidden.len() as u64)),
        (false, false) => {
            format!(" (-v: what was seen, and {} not observable here)", format::count(hidden.len() as u64))
        }
    };
    if long.is_empty() {
        let between = if caveats.is_empty() { "" } else { ": " };
        let plain = wrap::paragraph(&format!("{}{between}{}{more}", state.word(), caveats.join("; ")), "", width);
        text.push_str(&plain.replacen(state.word(), &paint(color, sgr, state.word()), 1));
    } else {
        let _ = writeln!(text, "{}", paint(color, sgr, state.word()));
        for reason in long {
            let words = format!("{}: {}", reason.state.word(), reason.meaning);
            text.push_str(&wrap::paragraph(&words, "  ", width));
            text.push_str(&wrap::paragraph(&format!("seen: {}", reason.detail), "    ", width));
            if reason.state == ValidityState::Invalid {
                text.push_str(&wrap::paragraph(&format!("remedy: {}", reason.remedy), "    ", width));
            }
        }
        if !caveats.is_empty() || !more.is_empty() {
            let beside =
                if caveats.is_empty() { "beside".to_owned() } else { format!("degraded: {}", caveats.join("; ")) };
            text.push_str(&wrap::paragraph(&format!("{beside}{more}"), "  ", width));
        }
    }
    for not in hidden.iter().filter(|_| is_verbose) {
        text.push_str(&wrap::paragraph(&format!("not observable here: {not}"), "  ", width));
    }
    if let Some(verdict) = verdict(record) {
        let sgr = match verdict.state {
            VerdictState::Holds => "1;32",
            VerdictState::Broken => "1;31",
            VerdictState::CannotTell => "1;33",
        };
        // Painted after it was wrapped: escape codes have no width.
        let plain = wrap::paragraph(&verdict.sentence(), "", width);
        text.push_str(&plain.replacen(verdict.word, &paint(color, sgr, verdict.word), 1));
    }
    text
}

#[cfg(test)]
mod tests {
    use record::{Manifest, Measurement};

    use super::*;

    #[test]
    fn caveats_are_one_paragraph_and_what_was_seen_is_for_who_asks_but_why_a_run_is_invalid_is_always_there() {
        use record::REASONS;
        let mut record = Record::empty(String::new(), Measurement::Wakeup, Manifest::default());
        let said = |record: &Record, is_verbose| {
            conclusion_in(record, is_verbose, false).split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(said(&record, false), "valid");
        let of = |state| REASONS.iter().filter(move |info| info.state == state).map(|info| info.code);
        for (number, code) in of(ValidityState::Degraded).take(3).enumerate() {
            record.validity.add(code, format!("detail {number}"));
        }
        let short = said(&record, false);
        assert!(short.starts_with("degraded: ") && short.ends_with("(-v: what was seen)"), "{short}");
        for reason in &validity(&record).reasons {
            assert_eq!(short.matches(&reason.caveat).count(), 1, "each caveat once: {short}");
            assert!(!short.contains(&reason.detail) && said(&record, true).contains(&reason.detail), "{short}");
        }
        let invalid = of(ValidityState::Invalid).next().unwrap();
        record.validity.add(invalid, "the detail of the worst");
        let words = said(&record, false);
        assert!(words.starts_with("invalid invalid: ") && words.contains("the detail of the worst"), "{words}");
        assert!(words.contains("remedy: ") && words.contains("degraded: "), "{words}");
    }
}
