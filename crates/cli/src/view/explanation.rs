//! What made the worst samples late, on a terminal: the causes, then the timeline of the worst.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::bail;
use record::{Activity, CauseClass, ExplainedSample, Explanation, NodeExplanation, Record, WakeupParts};
use summary::explanation::CauseRow;
use summary::run::cause_words;
use units::format::{self, latency};

use super::result::latency_cell;
use terminal::table::Table;
use terminal::wrap;

/// Causes that are printed; the record holds all.
const SHOWN_CAUSES: usize = 6;
/// Stretches of the worst sample's timeline that are printed.
const SHOWN_STRETCHES: usize = 12;
const BAR_COLUMNS: usize = 32;

/// Nothing where no explanation was asked for. `file` is where the record is kept.
pub(crate) fn text(record: &Record, file: Option<&Path>) -> String {
    let Some(explanation) = record.explanation() else { return String::new() };
    let mut text = causes(explanation, SHOWN_CAUSES);
    if let Some(worst) = explanation.samples.first() {
        text.push_str(&sample(worst, number_of(record, worst), SCHEDULE));
    }
    text.push_str(&other_timelines(record, explanation, file));
    if let Some(parts) = &explanation.parts {
        text.push_str(&parts_table(record, parts));
    }
    text.push_str(&cost(explanation));
    text.push_str(&not_seen(explanation));
    text
}

/// What explaining cost, where that was measured.
fn cost(explanation: &Explanation) -> String {
    let cost = summary::explanation::cost(explanation);
    cost.map_or_else(String::new, |cost| {
        format!("\n{}", wrap::paragraph(&format!("explaining costs: {cost}"), "  ", wrap::width()))
    })
}

/// What the times of a sample are counted from.
const SCHEDULE: &str = "its schedule";
const STAMP: &str = "the kernel's stamp";

/// Why each node's program had packets late that its kernel already had, where its user asked for it: the causes, and the
/// timeline of the worst.
pub(crate) fn of_packets(record: &Record) -> String {
    let nodes = record.packets().map_or(&[][..], |run| &run.explanations);
    let of_node = |node: &NodeExplanation| {
        let worst = node.explanation.samples.first();
        let worst = worst.map_or_else(String::new, |worst| sample(worst, None, STAMP));
        [node_words(node), causes(&node.explanation, SHOWN_CAUSES), worst, end_of(node)].concat()
    };
    nodes.iter().map(of_node).collect()
}

/// All that a record knows of that, with the evidence for each packet.
fn of_kept_packets(nodes: &[NodeExplanation]) -> String {
    let of_node = |node: &NodeExplanation| {
        let mut text = [node_words(node), causes(&node.explanation, usize::MAX)].concat();
        for (at, one) in node.explanation.samples.iter().enumerate() {
            let line = format!(
                "{}. {} on CPU {}: {}; {}",
                at + 1,
                latency(one.latency_ns),
                one.cpu,
                cause_words(one),
                one.evidence
            );
            text.push_str(&wrap::hanging(&line, "  ", wrap::width()));
        }
        text + &end_of(node)
    };
    nodes.iter().map(of_node).collect()
}

fn node_words(node: &NodeExplanation) -> String {
    let line = format!("{} on {}: from the kernel's stamp until the program had the packet", node.latency, node.node);
    format!("\n{}", wrap::paragraph(&line, "", wrap::width()))
}

fn end_of(node: &NodeExplanation) -> String {
    cost(&node.explanation) + &not_seen(&node.explanation)
}

/// Why nothing is known of the causes, and what to do.
const NOT_EXPLAINED: &str =
    "its worst samples were not explained; 'punctual measure wakeup --explain -o FILE' makes a record that is";

/// All that a kept record knows of the causes of its worst samples.
///
/// # Errors
/// If the run did not look for causes.
pub(crate) fn of_record(record: &Record, file: &Path) -> anyhow::Result<String> {
    if let Some(nodes) = nodes(record) {
        let line = format!("'punctual explain {} --sample N' draws the timeline of one", file.display());
        return Ok(of_kept_packets(nodes) + &format!("\n{}", wrap::paragraph(&line, "  ", wrap::width())));
    }
    let Some(explanation) = record.explanation() else { bail!(NOT_EXPLAINED) };
    let mut text = super::result::worst(record, usize::MAX).trim_start_matches('\n').to_owned();
    text.push_str(&words(record, explanation));
    text.push_str(&causes(explanation, usize::MAX));
    text.push_str(&not_seen(explanation));
    if has_timeline(record, explanation) {
        let line = format!("'punctual explain {} --sample N' draws the timeline of one", file.display());
        let _ = write!(text, "\n{}", wrap::paragraph(&line, "  ", wrap::width()));
    }
    Ok(text)
}

/// The timeline of the worst sample of this number, from 1.
///
/// # Errors
/// If the run did not look for causes, has no such sample, or did not look at that one.
pub(crate) fn of_sample(record: &Record, number: usize, file: &Path) -> anyhow::Result<String> {
    if let Some(nodes) = nodes(record) {
        let drawn = |node: &NodeExplanation| {
            let found = node.explanation.samples.get(number.checked_sub(1)?)?;
            Some([node_words(node), sample(found, Some(number), STAMP)].concat())
        };
        let text: String = nodes.iter().filter_map(drawn).collect();
        if text.is_empty() {
            let most = nodes.iter().map(|node| node.explanation.samples.len()).max().unwrap_or(0);
            bail!("it has no explained packet {number}: their numbers are 1 to {most}");
        }
        return Ok(text.trim_start_matches('\n').to_owned());
    }
    let Some(explanation) = record.explanation() else { bail!(NOT_EXPLAINED) };
    let Some(worst) = number.checked_sub(1).and_then(|at| record.worst.get(at)) else {
        bail!("it has no sample {number}: its worst samples have the numbers 1 to {}", record.worst.len());
    };
    let Some(explained) = explanation.sample_of(worst) else {
        let late = latency(worst.latency_ns);
        bail!(
            "sample {number} of {late} was not explained: explained were {}; 'punctual explain {}' lists them",
            looked_at(explanation),
            file.display()
        );
    };
    Ok(sample(explained, Some(number), SCHEDULE).trim_start_matches('\n').to_owned())
}

/// Whether a record has causes of late samples.
pub(crate) fn has_any(record: &Record) -> bool {
    record.explanation().is_some() || nodes(record).is_some()
}

/// What the nodes of a run of packets explained of themselves; `None` if none did.
fn nodes(record: &Record) -> Option<&[NodeExplanation]> {
    record.packets().map(|run| &run.explanations[..]).filter(|nodes| !nodes.is_empty())
}

/// The number of an explained sample among the worst of its run.
fn number_of(record: &Record, sample: &ExplainedSample) -> Option<usize> {
    let explanation = record.explanation()?;
    let is_it = |worst| explanation.sample_of(worst).is_some_and(|found| std::ptr::eq(found, sample));
    record.worst.iter().position(is_it).map(|at| at + 1)
}

/// Whether a timeline of any of the worst samples can be drawn.
fn has_timeline(record: &Record, explanation: &Explanation) -> bool {
    record.worst.iter().any(|worst| explanation.sample_of(worst).is_some())
}

/// What the words mean that stand in the place of a cause among the worst samples; empty where each has its cause.
fn words(record: &Record, explanation: &Explanation) -> String {
    let found = |worst| explanation.sample_of(worst);
    let mut words = Vec::new();
    if record.worst.iter().any(|worst| found(worst).is_none()) {
        words.push(
            "not explained: nothing was recorded of it, since the recorder still held an earlier sample, or it was below the \
             threshold when it came",
        );
    }
    if record.worst.iter().filter_map(found).any(|sample| sample.class == CauseClass::Unknown) {
        words.push("unknown: it was recorded, and what was recorded does not show the cause");
    }
    words.iter().map(|line| wrap::hanging(line, "  ", wrap::width())).collect()
}

/// How to see the timelines that are not printed.
fn other_timelines(record: &Record, explanation: &Explanation, file: Option<&Path>) -> String {
    if !has_timeline(record, explanation) {
        return String::new();
    }
    let (kept, file) = match file {
        Some(file) => ("", file.display().to_string()),
        None => ("with '-o FILE' the record is kept; then ", "FILE".to_owned()),
    };
    let line = format!(
        "other samples: {kept}'punctual explain {file}' lists the worst {} with their causes, \
         'punctual explain {file} --sample N' draws the timeline of one",
        record.worst.len()
    );
    format!("\n{}", wrap::paragraph(&line, "  ", wrap::width()))
}

fn not_seen(explanation: &Explanation) -> String {
    explanation.missing.iter().fold(String::new(), |mut text, missing| {
        // Writing to a string does not fail.
        let _ = write!(text, "\n  not seen:\n{}", wrap::paragraph(missing, "    ", wrap::width()));
        text
    })
}

/// The causes over the whole run, and what to change about each.
fn causes(explanation: &Explanation, most: usize) -> String {
    let mut text = String::from("\n");
    let heading = format!("what made the worst late ({}):", looked_at(explanation));
    text.push_str(&wrap::paragraph(&heading, "  ", wrap::width()));
    if explanation.causes.is_empty() {
        let why = match (explanation.sources.is_empty(), explanation.outliers) {
            (true, _) => "nothing could be seen",
            (false, 0) => "no sample was above the threshold",
            (false, _) => "each of them came while the recorder still held an earlier one, so that none is explained",
        };
        text.push_str(&wrap::paragraph(why, "    ", wrap::width()));
        return text;
    }
    let rows = summary::explanation::causes(explanation);
    let shown = &rows[..rows.len().min(most)];
    text.push_str(&causes_table(shown));
    let more = rows.len() - shown.len();
    if more > 0 {
        let _ = writeln!(text, "  and {more} more in the record");
    }
    let remedies = remedies(shown);
    if !remedies.is_empty() {
        text.push_str("\n  what to change:\n");
        for remedy in remedies {
            text.push_str(&wrap::hanging(&remedy, "    ", wrap::width()));
        }
    }
    text
}

/// The causes of the most samples, summed over the run.
fn causes_table(causes: &[CauseRow]) -> String {
    let mut table = Table::new(&["cause", "samples", "worst of them", "took in all", "how sure"]).left(4);
    for row in causes {
        table.row(vec![
            row.cause.clone(),
            row.samples.clone(),
            latency(row.worst_ns),
            latency(row.took_ns),
            row.certainty.word().to_owned(),
        ]);
    }
    table.render()
}

/// What to change about the causes: each remedy once, with all causes that it is for.
fn remedies(causes: &[CauseRow]) -> Vec<String> {
    let mut remedies: Vec<(&CauseRow, Vec<&str>)> = Vec::new();
    for cause in causes.iter().filter(|cause| !cause.remedy.is_empty()) {
        match remedies.iter_mut().find(|(first, _)| first.remedy == cause.remedy) {
            Some((_, names)) => names.push(&cause.cause),
            None => remedies.push((cause, vec![&cause.cause])),
        }
    }
    let line = |(cause, names): (&CauseRow, Vec<&str>)| {
        let more = cause.finding.as_ref().map_or_else(String::new, |id| format!("  [punctual explain {id}]"));
        format!("{}: {}{more}", names.join(", "), cause.remedy)
    };
    remedies.into_iter().map(line).collect()
}

/// Every wake-up in its parts: one row for each part, over all threads.
fn parts_table(record: &Record, parts: &WakeupParts) -> String {
    let said = summary::explanation::parts(record, parts);
    let mut table = Table::new(&["part", "median", "p99.9", "max"]);
    for row in &said.rows {
        let cells = [row.median_ns, row.p99_9_ns, row.max_ns].map(latency_cell);
        table.row([vec![row.name.clone()], cells.to_vec()].concat());
    }
    let title = format!("each wake-up in its parts: {}", said.sentence);
    format!("\n{}{}", wrap::paragraph(&title, "  ", wrap::width()), table.render())
}

fn looked_at(explanation: &Explanation) -> String {
    let explained = format::count(explanation.explained);
    let threshold = explanation.looked_at();
    let lost = match explanation.not_recorded {
        0 => String::new(),
        lost => format!(", {} came while another was read", format::count(lost)),
    };
    format!("{explained} of {} {threshold}{lost}", format::count(explanation.outliers))
}

/// Its evidence, and who had the CPU from `from` on. `number` is its place among the worst samples.
fn sample(sample: &ExplainedSample, number: Option<usize>, from: &str) -> String {
    let number = number.map_or_else(|| "the worst of them".to_owned(), |number| format!("sample {number}"));
    let head = format!(
        "{number}, {} late on CPU {}: {}; its own times, from {from} on:",
        latency(sample.latency_ns),
        sample.cpu,
        cause_words(sample)
    );
    let mut text = format!("\n{}", wrap::paragraph(&head, "  ", wrap::width()));
    text.push_str(&wrap::paragraph(&sample.evidence, "    ", wrap::width()));
    let (from_ns, to_ns) =
        (sample.timeline.iter().map(|segment| segment.from_ns).min().unwrap_or(0).min(0), sample.latency_ns.max(1));
    let mut longest: Vec<usize> = (0..sample.timeline.len()).collect();
    longest.sort_by_key(|&at| std::cmp::Reverse(sample.timeline[at].net_ns));
    longest.truncate(SHOWN_STRETCHES);
    longest.sort_unstable();
    let mut table = Table::new(&["", "from", "to", "net", ""]).picture(4);
    for segment in longest.into_iter().map(|at| &sample.timeline[at]) {
        let depth = usize::try_from(segment.depth).unwrap_or(0);
        table.row(vec![
            format!("{}{}", "  ".repeat(depth), segment.name),
            latency(segment.from_ns),
            latency(segment.to_ns),
            latency(segment.net_ns),
            bar(segment.from_ns, segment.to_ns, from_ns, to_ns, segment.activity),
        ]);
    }
    // Counters draw no timeline.
    if !sample.timeline.is_empty() {
        text.push_str(&table.render());
        text.push_str(&not_printed(sample.timeline.len().saturating_sub(SHOWN_STRETCHES), sample.stretches_left_out));
    }
    if !sample.stack.is_empty() {
        let _ = write!(
            text,
            "    the timer's interrupt was taken in:\n{}",
            wrap::paragraph(&sample.stack.join(" < "), "      ", wrap::width())
        );
    }
    text
}

/// How many shorter stretches the record holds, and how many it left out.
fn not_printed(kept: usize, left_out: u64) -> String {
    let stretches = |count: u64| match count {
        1 => "1 shorter stretch".to_owned(),
        many => format!("{} shorter stretches", format::count(many)),
    };
    let kept = u64::try_from(kept).unwrap_or(u64::MAX);
    match (kept, left_out) {
        (0, 0) => String::new(),
        (kept, 0) => format!("    and {} in the record\n", stretches(kept)),
        (kept, left_out) => {
            format!("    and {} in the record, and {} that it left out\n", stretches(kept), format::count(left_out))
        }
    }
}

/// Where a part lies in the window; its character shows what it is.
fn bar(from_ns: i64, to_ns: i64, start_ns: i64, end_ns: i64, activity: Activity) -> String {
    let column = |ns: i64| {
        let share = units::approx_f64(ns.saturating_sub(start_ns).unsigned_abs())
            / units::approx_f64(end_ns.saturating_sub(start_ns).unsigned_abs());
        usize::try_from(units::round_u64(share * 32.0)).unwrap_or(0).min(BAR_COLUMNS)
    };
    let (from, to) = (column(from_ns).min(BAR_COLUMNS - 1), column(to_ns));
    let mark = match activity {
        Activity::Idle => "·",
        Activity::Thread | Activity::Measuring => "█",
        Activity::Softirq => "▒",
        Activity::Untold => "?",
        Activity::Interrupt | Activity::TimerFunction | Activity::Nmi => "▓",
    };
    let length = to.saturating_sub(from).max(1);
    format!("{}{}{}", " ".repeat(from), mark.repeat(length), " ".repeat(BAR_COLUMNS - from - length))
}

#[cfg(test)]
mod tests {
    use record::{CauseTotal, Certainty, Histogram, Owner};

    use super::*;

    fn cause(class: CauseClass, name: &str) -> CauseTotal {
        CauseTotal {
            class,
            name: name.to_owned(),
            certainty: Certainty::Shown,
            samples: 2,
            worst_ns: 90_000,
            took_ns: 120_000,
            beyond_deadline: None,
            owner: Owner::Other,
            latencies: Histogram::new(),
            remedy: String::new(),
            finding: None,
        }
    }

    #[test]
    fn a_name_that_says_its_class_says_it_once() {
        let causes = vec![cause(CauseClass::Softirq, "softirq NET_RX"), cause(CauseClass::Interrupt, "eth0")];
        let explanation = Explanation { outliers: 4, explained: 4, causes, ..Explanation::default() };
        let table = causes_table(&summary::explanation::causes(&explanation));
        assert!(table.contains("softirq NET_RX") && !table.contains("softirq: softirq"), "{table}");
        assert!(table.contains("interrupt: eth0"), "{table}");
    }

    #[test]
    fn a_remedy_stands_once_with_all_causes_that_it_is_for() {
        let with = |name: &str, remedy: &str, finding: Option<&str>| CauseTotal {
            remedy: remedy.to_owned(),
            finding: finding.map(str::to_owned),
            ..cause(CauseClass::Thread, name)
        };
        let causes = [
            with("a", "lower it", Some("some-finding")),
            with("b", "move it", None),
            with("c", "lower it", Some("some-finding")),
            with("d", "", None),
        ];
        let explanation = Explanation { causes: causes.to_vec(), ..Explanation::default() };
        assert_eq!(
            remedies(&summary::explanation::causes(&explanation)),
            ["thread: a, thread: c: lower it  [punctual explain some-finding]", "thread: b: move it"]
        );
    }

    #[test]
    fn stretches_that_are_not_printed_are_counted() {
        let check = |kept, left_out, expected| assert_eq!(not_printed(kept, left_out), expected);
        check(0, 0, "");
        check(1, 0, "    and 1 shorter stretch in the record\n");
        check(188, 1_034, "    and 188 shorter stretches in the record, and 1\u{202f}034 that it left out\n");
    }
}
