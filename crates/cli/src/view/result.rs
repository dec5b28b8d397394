//! The result of a run on a terminal: a table, what is known of the worst, the verdict last.

use std::fmt::Write as _;
use std::path::Path;

use record::{Figure, Manifest, Moment, Record, Series, ValidityState, VerdictState};
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

fn mean(series: &Series) -> String {
    latency_cell(series.histogram.mean_ns().map(units::round_u64))
}

fn name_of(series: &Series, all: &[Series]) -> String {
    // Several latencies of a CPU stand beside each other, and one can have been measured by several means.
    let name = if all.iter().any(|other| other.name != series.name) { series.name.as_str() } else { "" };
    let parts = [name, series.variant.as_str(), &series.place.to_string()];
    parts.iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join(", ")
}

/// Whether another program measured, which did not record what is absent.
fn is_imported(record: &Record) -> bool {
    record.manifest().is_imported()
}

/// How long a run took, where that is known.
fn duration(record: &Record) -> Option<String> {
    let elapsed = record.measured_ns();
    (elapsed != 0 || !is_imported(record)).then(|| format!("for {}", format::span(elapsed)))
}

/// The result of a run, as its kind is shown.
pub(crate) fn table(record: &Record, colour: bool) -> String {
    table_of_file(record, None, colour)
}

/// The same where the record is kept in a file, which further commands can name.
pub(crate) fn table_of_file(record: &Record, file: Option<&Path>, colour: bool) -> String {
    let kind = record.measurement.kind();
    match kind.figure {
        Figure::Gaps if kind.sampling.counts_by_time() => gaps(record, colour),
        Figure::Wakeups | Figure::Gaps => wakeups(record, file, colour),
        Figure::Costs => costs(record, colour),
        Figure::Offsets => super::sync::table(record, colour),
        Figure::Delays => super::packet::table(record, colour),
    }
}

/// Latencies of threads, with what made the worst of them late.
fn wakeups(record: &Record, file: Option<&Path>, colour: bool) -> String {
    let mut table = Table::new(&["", "samples", "min", "mean", "p99.9", "max", "missed"]);
    for series in &record.series {
        table.row(vec![
            name_of(series, &record.series),
            format::count(series.counters.samples),
            latency_cell(series.histogram.min_ns()),
            mean(series),
            latency_cell(series.histogram.stated_quantile_ns(0.999)),
            latency_cell(series.histogram.max_ns()),
            if is_imported(record) { "-".to_owned() } else { format::count(series.counters.missed_periods) },
        ]);
    }
    let head = wrap::paragraph(&head(record), "", wrap::width());
    let mut text = format!("{head}{}\n{}", load::description(record), table.render());
    text.push_str(&missed(record));
    if record.series.iter().any(|series| series.corrected.is_some()) {
        let title = "with one sample for each swallowed schedule (corrected for coordinated omission):";
        let _ = write!(text, "\n{}", wrap::paragraph(title, "  ", wrap::width()));
        let mut corrected = Table::new(&["", "samples", "mean", "p99.9", "max"]);
        for series in record.series.iter().filter(|series| series.judged) {
            let histogram = series.corrected.as_ref().unwrap_or(&series.histogram);
            corrected.row(vec![
                name_of(series, &record.series),
                format::count(histogram.count()),
                latency_cell(histogram.mean_ns().map(units::round_u64)),
                latency_cell(histogram.stated_quantile_ns(0.999)),
                latency_cell(histogram.max_ns()),
            ]);
        }
        text.push_str(&corrected.render());
    }
    text.push_str(&worst(record, SHOWN_WORST));
    text.push_str(&super::explanation::text(record, file));
    text.push_str(&super::rhythm::text(record));
    text.push_str(&rows(record));
    text.push_str(&spoiled(record));
    text.push_str(&load::turns(record));
    text.push_str(&conclusion(record, colour));
    text
}

/// Missed periods as a share of all from which on they are stated in words: the samples then speak for too few of them.
const STATED_MISSED: f64 = 0.01;

/// What it means that many periods were missed; empty where few were.
fn missed(record: &Record) -> String {
    let judged = || record.series.iter().filter(|series| series.judged);
    let missed = units::total(judged().map(|series| series.counters.missed_periods));
    let all = missed.saturating_add(units::total(judged().map(|series| series.counters.samples)));
    let share = units::approx_f64(missed) / units::approx_f64(all.max(1));
    if share < STATED_MISSED {
        return String::new();
    }
    let line = format!(
        "{:.0} % of the periods were missed ({} of {}): a thread that wakes later than its next schedule takes one sample and \
         skips the schedules between. The samples above speak for the other {:.0} % alone.",
        share * 100.0,
        format::count(missed),
        format::count(all),
        100.0 - (share * 100.0).round()
    );
    format!("\n{}", wrap::paragraph(&line, "  ", wrap::width()))
}

/// What one reading of each clock costs.
fn costs(record: &Record, colour: bool) -> String {
    let cpu = &record.manifest().requested.cpus;
    let source = record.manifest().instrument.clocksource.as_deref().unwrap_or("unknown");
    let head = format!("cost of reading clocks, on CPU {cpu}, clock source {source}");
    let mut text = wrap::paragraph(&head, "", wrap::width());
    for latency in record.measurement.kind().latencies {
        let (name, title) = (latency.name, latency.words);
        let mut table = Table::new(&["", "readings", "min", "mean", "sd", "p99.9", "max", "mean of blocks"]);
        let mut any = false;
        for series in record.series.iter().filter(|series| series.name == name) {
            any = true;
            let histogram = &series.histogram;
            table.row(vec![
                series.variant.clone(),
                format::count(histogram.count()),
                latency_cell(histogram.min_ns()),
                latency_cell(histogram.mean_ns().map(units::round_u64)),
                latency_cell(histogram.sd_ns().map(units::round_u64)),
                latency_cell(histogram.stated_quantile_ns(0.999)),
                latency_cell(histogram.max_ns()),
                series.block_mean_median_ns().map_or_else(|| "-".to_owned(), |ns| format!("{ns:.1} ns")),
            ]);
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
    text.push_str(&conclusion(record, colour));
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
fn gaps(record: &Record, colour: bool) -> String {
    let mut table = Table::new(&["", "gaps", "a second", "mean", "p99.9", "max", "stolen"]);
    for series in &record.series {
        let totals = series.gaps().copied().unwrap_or_default();
        let observed = (totals.observed_ns > 0).then(|| units::approx_f64(totals.observed_ns));
        // An import may know its time and not the sum of its gaps, or not all of them.
        let stolen = observed.filter(|_| !is_imported(record) || totals.stolen_ns > 0);
        let rate = observed.filter(|_| !is_imported(record) || totals.stolen_ns == 0);
        table.row(vec![
            name_of(series, &record.series),
            format::count(series.histogram.count()),
            rate.map_or_else(
                || "-".to_owned(),
                |ns| format!("{:.0}", units::approx_f64(series.histogram.count()) * 1e9 / ns),
            ),
            mean(series),
            latency_cell(series.histogram.stated_quantile_ns(0.999)),
            latency_cell(series.histogram.max_ns()),
            stolen.map_or_else(
                || "-".to_owned(),
                |ns| format!("{:.3} %", units::approx_f64(totals.stolen_ns) / ns * 100.0),
            ),
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
    text.push_str(&conclusion(record, colour));
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
    let explanation = record.explanation();
    let mut table = match explanation {
        Some(_) => Table::new(&["", "", "latency", at, "since boot", "cause"]).left(5),
        None => Table::new(&["", "latency", at, "since boot"]),
    };
    for (number, sample) in (1_usize..).zip(record.worst.iter().take(most)) {
        let mut cells = vec![
            sample.place.to_string(),
            format::latency(sample.latency_ns),
            when(sample.to.at, record.manifest()),
            seconds(sample.to.at.monotonic.as_ns()),
        ];
        if let Some(explanation) = explanation {
            cells.insert(0, number.to_string());
            let explained = explanation.sample_of(sample);
            cells.push(explained.map_or_else(|| "not explained".to_owned(), super::explanation::cause));
        }
        table.row(cells);
    }
    format!("\n  worst samples:\n{}", table.render())
}

fn seconds(ns: i64) -> String {
    format!("{}.{:06} s", ns / 1_000_000_000, ns % 1_000_000_000 / 1_000)
}

fn rows(record: &Record) -> String {
    let missed: Vec<_> = record.rows.iter().filter(|row| row.missed_periods > 0).take(SHOWN_WORST).collect();
    if missed.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&["", "missed in a row", "worst", "recovered after", "from"]);
    for row in missed {
        table.row(vec![
            row.place.to_string(),
            format::count(row.missed_periods),
            format::latency(row.worst_ns),
            row.recovery_ns.map_or_else(|| "not within the run".to_owned(), format::span),
            when(row.first_scheduled, record.manifest()),
        ]);
    }
    format!("\n  longest rows of missed periods:\n{}", table.render())
}

/// The intervals that something spoiled, with their figures; empty where there are none.
fn spoiled(record: &Record) -> String {
    if record.series.iter().all(|series| series.spoiled.count == 0) {
        return String::new();
    }
    let mut table = Table::new(&["", "from", "length", "samples", "worst", "missed", "why"]).left(6);
    let of_series = |series: &'_ Series| {
        series.spoiled.stretches().into_iter().map(|one| (name_of(series, &record.series), one)).collect::<Vec<_>>()
    };
    let all: Vec<_> = record.series.iter().flat_map(of_series).collect();
    for (name, stretch) in all.iter().take(SHOWN_SPOILED) {
        let why: Vec<&str> = stretch.reasons.iter().map(|reason| reason.detail.as_str()).collect();
        table.row(vec![
            name.clone(),
            format::span(stretch.start_offset_ns),
            format::span(stretch.length_ns),
            format::count(stretch.samples),
            stretch.worst_ns.map_or_else(|| "-".to_owned(), format::latency),
            format::count(stretch.missed_periods),
            why.join("; "),
        ]);
    }
    let head = "spoiled intervals, which are in none of the numbers above:";
    let more = match all.len().saturating_sub(SHOWN_SPOILED) {
        0 => String::new(),
        more => format!("  and {} more, in the record\n", format::count(more as u64)),
    };
    format!("\n{}{}{more}", wrap::paragraph(head, "  ", wrap::width()), table.render())
}

/// Validity with its reasons, then the verdict: one paragraph each. What was seen for each caveat, and what cannot be observed
/// on this machine, is for who asks; why a run is invalid is always there.
pub(crate) fn conclusion(record: &Record, colour: bool) -> String {
    conclusion_in(record, output::is_verbose(), colour)
}

/// The first sentence of a meaning, without its full stop.
fn first_sentence(meaning: &str) -> &str {
    let meaning = meaning.trim();
    meaning.split_once(". ").map_or(meaning, |(first, _)| first).trim_end_matches('.')
}

fn conclusion_in(record: &Record, is_verbose: bool, colour: bool) -> String {
    let width = wrap::width();
    let state = record.validity.state();
    let sgr = match state {
        ValidityState::Valid => "32",
        ValidityState::Degraded => "33",
        ValidityState::Invalid => "1;31",
    };
    let mut text = String::from("\n");
    let (reasons, hidden) = (record.validity.reasons(), record.validity.not_observable());
    let is_short = |reason: &&record::Reason| !is_verbose && reason.code.info().state != ValidityState::Invalid;
    let (short, long): (Vec<_>, Vec<_>) = reasons.iter().partition(is_short);
    let mut caveats: Vec<&str> = short.iter().map(|reason| first_sentence(reason.code.info().meaning)).collect();
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
        text.push_str(&plain.replacen(state.word(), &paint(colour, sgr, state.word()), 1));
    } else {
        let _ = writeln!(text, "{}", paint(colour, sgr, state.word()));
        for reason in long {
            let info = reason.code.info();
            text.push_str(&wrap::paragraph(&format!("{}: {}", info.state.word(), info.meaning.trim()), "  ", width));
            text.push_str(&wrap::paragraph(&format!("seen: {}", reason.detail), "    ", width));
            if info.state == ValidityState::Invalid {
                text.push_str(&wrap::paragraph(&format!("remedy: {}", info.remedy), "    ", width));
            }
        }
        if !caveats.is_empty() || !more.is_empty() {
            let beside =
                if caveats.is_empty() { "beside".to_owned() } else { format!("degraded: {}", caveats.join("; ")) };
            text.push_str(&wrap::paragraph(&format!("{beside}{more}"), "  ", width));
        }
    }
    for not in hidden.iter().filter(|_| is_verbose) {
        text.push_str(&wrap::paragraph(&format!("not observable here: {}", not.detail), "  ", width));
    }
    if let Some(verdict) = &record.verdict {
        let limit = format::span(verdict.deadline_ns);
        let (word, sgr) = match verdict.state {
            VerdictState::Holds => ("holds", "1;32"),
            VerdictState::Broken => ("does not hold", "1;31"),
            VerdictState::CannotTell => ("cannot be told for", "1;33"),
        };
        // Painted after it was wrapped: escape codes have no width.
        let plain = wrap::paragraph(&format!("{word} {limit}: {}", verdict.reason), "", width);
        text.push_str(&plain.replacen(word, &paint(colour, sgr, word), 1));
    }
    text
}

#[cfg(test)]
mod tests {
    use record::{Counters, Manifest, Measurement};

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
        for reason in record.validity.reasons() {
            let meaning = first_sentence(reason.code.info().meaning);
            assert_eq!(short.matches(meaning).count(), 1, "each caveat once: {short}");
            assert!(!short.contains(&reason.detail) && said(&record, true).contains(&reason.detail), "{short}");
        }
        let invalid = of(ValidityState::Invalid).next().unwrap();
        record.validity.add(invalid, "the detail of the worst");
        let words = said(&record, false);
        assert!(words.starts_with("invalid invalid: ") && words.contains("the detail of the worst"), "{words}");
        assert!(words.contains("remedy: ") && words.contains("degraded: "), "{words}");
    }

    #[test]
    fn a_large_share_of_missed_periods_is_stated_in_words() {
        let said = |samples, missed_periods| {
            let mut record = Record::empty(String::new(), Measurement::Wakeup, Manifest::default());
            let counters = Counters { samples, missed_periods, ..Counters::default() };
            record.series = vec![Series { counters, ..Series::default() }; 2];
            missed(&record)
        };
        let many = said(63, 37);
        assert!(many.contains("37 % of the periods were missed (74 of 200)"), "{many}");
        assert!(many.replace("\n ", "").contains("other 63 % alone"), "{many}");
        assert_eq!(said(1_000, 9), "", "below one of a hundred");
        assert_eq!(said(0, 0), "");
    }
}
