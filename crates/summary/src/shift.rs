//! What a witness says of nodes that act together: how far apart their edges lay, what that is made of, and whether it contradicts them.

use pulse::numbering::NumberingError;
use pulse::shift::{Part, Shift, ShiftBlock, ShiftParts};
use pulse::witness::{LineSeen, PairSeen, Pairing, RunSeen};
use record::{LatencyRole, PulseNode, PulseRun, Record};
use serde::Serialize;
use units::format::{count, latency, span};

use crate::run::Figures;

/// What a witness came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WitnessVerdict {
    /// It contradicts no node, and each shift is within the limit if there is one.
    Holds,
    /// A shift is beyond the limit.
    Broken,
    /// It contradicts a node, the run is invalid, or nothing can be said of a pair.
    Invalid,
}

/// What a witness says of the nodes of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShiftSummary {
    /// Identity of the run's record.
    pub run: String,
    /// What was ordered and on which line each node was seen, as a sentence without its full stop.
    pub about: String,
    /// What each line shows, the first node's first.
    pub lines: Vec<ShownLine>,
    /// Each node against the first.
    pub pairs: Vec<ShiftPair>,
    /// How far a shift may be from none, against the first node (ns); `None` without a limit.
    pub limit_ns: Option<i64>,
    /// What makes the result invalid, each as a sentence without its full stop.
    pub contradictions: Vec<String>,
    /// Shifts beyond the limit, each as a sentence without its full stop.
    pub beyond: Vec<String>,
    /// What all of it came to.
    pub verdict: WitnessVerdict,
    /// The same as a sentence.
    pub sentence: String,
}

/// What a line shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShownLine {
    /// Name of the node.
    pub node: String,
    /// The channel, and its file where there are several.
    pub channel: String,
    /// Pulses of which both edges are shown.
    pub pulses: u64,
    /// Those that have the number of an order; `None` where they were paired by time.
    pub numbered: Option<u64>,
    /// Orders between the first and the last numbered one without a pulse; `None` as for `numbered`.
    pub missing: Option<u64>,
    /// Pulses that no order made; `None` as for `numbered`.
    pub extra: Option<u64>,
    /// Pulses neither as wide as ordered nor as a mark is.
    pub odd: u64,
    /// Edges that belong to the one before them: the line bounced.
    pub bounces: u64,
    /// Groups of edges that left the level as it was.
    pub glitches: u64,
    /// Pulses of which the capture shows one edge alone.
    pub cut: u64,
    /// Orders that the node says it carried out.
    pub acted: u64,
    /// Orders of the run.
    pub scheduled: u64,
    /// Orders whose time the capture covers completely; `None` as for `numbered`.
    pub covered: Option<u64>,
    /// How many of those surely have no edge; `None` as for `numbered`.
    pub without_edge: Option<u64>,
    /// What its marks contradict, as a sentence without its full stop; `None` if nothing.
    pub fault: Option<String>,
}

/// The shift of a node against the first one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShiftPair {
    /// The node that the other is held against.
    pub first: String,
    /// The node whose shift it is: positive if it was later.
    pub second: String,
    /// How pulses of one order were told, or why nothing can be said, as a sentence without its full stop.
    pub paired: String,
    /// Orders between the first and the last of both lines that are not in the figures, as a sentence without its full stop; `None` if
    /// there are none.
    pub not_matched: Option<String>,
    /// The shift; `None` if nothing can be said.
    pub figures: Option<ShiftFigures>,
    /// What the mean shift is made of: the clocks, the acting, the output and the rest; empty if it is not known.
    pub parts: Vec<PartRow>,
    /// Why it is not known, as a sentence without its full stop.
    pub not_split: Option<String>,
    /// The shift over time; blocks without an order are left out.
    pub blocks: Vec<BlockRow>,
}

/// The shift of two nodes, over all orders that both lines show.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShiftFigures {
    /// Orders of which both lines have a pulse.
    pub orders: u64,
    /// Orders of which the first line alone has a pulse with a number.
    pub only_first: u64,
    /// Orders of which the second line alone has one.
    pub only_second: u64,
    /// Orders of which neither has one.
    pub neither: u64,
    /// Least shift (ps).
    pub min_ps: i64,
    /// Mean shift (ps).
    pub mean_ps: f64,
    /// Greatest shift (ps).
    pub max_ps: i64,
    /// Median of the shift (ns), from its histogram.
    pub p50_ns: Option<i64>,
    /// What 99 of 100 shifts are within, to either side (ns), from their histogram; `None` of fewer than 1,000 orders.
    pub within_p99_ns: Option<u64>,
    /// The shift farthest from none (ps).
    pub worst_ps: i64,
    /// The order that had it: its number, or with pulses paired by time its place among the pulses, from 0 on.
    pub worst_order: u64,
    /// When the first line switched for it (ps, on the capture's clock).
    pub worst_at_ps: i64,
    /// By how much each shift may be off, to either side (ps); `None` if that is not known.
    pub error_ps: Option<i64>,
    /// How fast the capture's clock goes against the server's (parts per billion); `None` where pulses were paired by time.
    pub capture_rate_ppb: Option<i64>,
    /// How long a block is (ps).
    pub block_ps: i64,
}

/// A part of the mean shift.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PartRow {
    /// `clock`, the latency from the ordered time to the act, `output` or `rest`.
    pub name: &'static str,
    /// The same in words.
    pub words: &'static str,
    /// What it most likely is (ps).
    pub likely_ps: i64,
    /// The least that it can be (ps).
    pub lower_ps: i64,
    /// The most that it can be (ps).
    pub upper_ps: i64,
}

/// The shift in a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BlockRow {
    /// When it begins (ps, on the capture's clock).
    pub from_ps: i64,
    /// Orders in it.
    pub orders: u64,
    /// Least shift (ps).
    pub min_ps: i64,
    /// Mean shift (ps).
    pub mean_ps: f64,
    /// Greatest shift (ps).
    pub max_ps: i64,
}

impl From<&ShiftBlock> for BlockRow {
    fn from(block: &ShiftBlock) -> Self {
        let &ShiftBlock { from_ps, count, min_ps, mean_ps, max_ps } = block;
        Self { from_ps, orders: count, min_ps, mean_ps, max_ps }
    }
}

/// The line of a node: whose it is, and what the user calls it.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedLine<'a> {
    /// The node, of the run's record.
    pub node: &'a PulseNode,
    /// The channel, and its file where there are several.
    pub channel: String,
}

/// What is said of what a witness saw: `lines` are those of `seen`.
#[must_use]
pub fn summary(
    record: &Record,
    run: &PulseRun,
    lines: &[NamedLine<'_>],
    seen: &RunSeen,
    limit_ns: Option<i64>,
) -> ShiftSummary {
    let first = lines.first().map_or("", |line| &*line.node.node);
    let shown: Vec<ShownLine> = lines.iter().zip(&seen.lines).map(|(line, seen)| shown_line(line, seen)).collect();
    let pairs: Vec<ShiftPair> =
        lines.iter().skip(1).zip(&seen.pairs).map(|(line, seen)| pair(record, first, &line.node.node, seen)).collect();
    let invalid = record.validity.reasons().iter().filter(|_| record.validity.is_invalid());
    let mut contradictions: Vec<String> =
        invalid.take(1).map(|reason| format!("the run itself is invalid: {}", reason.detail)).collect();
    contradictions.extend(lines.iter().zip(&seen.lines).filter_map(|(line, seen)| missing_edges(line.node, seen)));
    contradictions.extend(pairs.iter().zip(&seen.pairs).filter_map(|(pair, seen)| contradiction(pair, seen)));
    let undecided = pairs.iter().filter(|pair| pair.figures.is_none());
    contradictions.extend(undecided.map(|pair| format!("nothing can be said of {}: {}", pair.second, pair.paired)));
    let beyond: Vec<String> = pairs.iter().filter_map(|pair| beyond(pair, limit_ns?)).collect();
    let verdict = match (contradictions.is_empty(), beyond.is_empty()) {
        (false, _) => WitnessVerdict::Invalid,
        (true, false) => WitnessVerdict::Broken,
        (true, true) => WitnessVerdict::Holds,
    };
    ShiftSummary {
        run: record.id.clone(),
        about: about(run, lines),
        sentence: sentence(verdict, &contradictions, &beyond, &pairs, limit_ns),
        lines: shown,
        pairs,
        limit_ns,
        contradictions,
        beyond,
        verdict,
    }
}

/// A time in picoseconds as people read it: to the nanosecond.
#[must_use]
pub fn time(ps: i64) -> String {
    latency(ns(ps))
}

fn ns(ps: i64) -> i64 {
    ps.saturating_add(500).div_euclid(1_000)
}

fn about(run: &PulseRun, lines: &[NamedLine<'_>]) -> String {
    let marks = match run.mark {
        Some(every) => format!("with a mark each {} orders", count(every.into())),
        None => "without marks".to_owned(),
    };
    let named: Vec<String> = lines.iter().map(|line| format!("{} on {}", line.node.node, line.channel)).collect();
    format!(
        "{} of {} each {}, {marks}: {}",
        run.shape.name(),
        span(run.width_ns),
        span(run.interval_ns),
        named.join(", ")
    )
}

fn shown_line(line: &NamedLine<'_>, seen: &LineSeen) -> ShownLine {
    let &LineSeen { pulses, bounces, glitches, cut, odd, numbered, counts, claimed, .. } = seen;
    ShownLine {
        node: line.node.node.clone(),
        channel: line.channel.clone(),
        pulses,
        numbered,
        missing: counts.map(|counts| counts.missing),
        extra: counts.map(|counts| counts.extra()),
        odd,
        bounces,
        glitches,
        cut,
        acted: line.node.orders.acted,
        scheduled: line.node.orders.scheduled,
        covered: claimed.map(|claimed| claimed.covered),
        without_edge: claimed.map(|claimed| claimed.without_edge),
        fault: seen.faults.first().map(|fault| match seen.faults.len() {
            1 => fault.to_string(),
            several => format!("{fault}; {} more of this kind", several - 1),
        }),
    }
}

fn pair(record: &Record, first: &str, second: &str, seen: &PairSeen) -> ShiftPair {
    let paired = match &seen.witnessed {
        Ok(witnessed) => paired(&witnessed.pairing),
        Err(error) => named(&error.to_string(), first, second),
    };
    let shift = seen.witnessed.as_ref().ok();
    let parts = match &seen.parts {
        Some(Ok(parts)) => part_rows(record, &parts.likely, &parts.bounds),
        _ => Vec::new(),
    };
    ShiftPair {
        first: first.to_owned(),
        second: second.to_owned(),
        paired,
        not_matched: shift.and_then(|witnessed| not_matched(first, second, &witnessed.shift)),
        figures: shift.map(|witnessed| figures(&witnessed.shift, witnessed.capture_rate_ppb)),
        parts,
        not_split: match &seen.parts {
            Some(Err(why)) => Some(format!("what the shift is made of is not known: {why}")),
            _ => None,
        },
        blocks: shift.map_or_else(Vec::new, |witnessed| witnessed.shift.blocks.iter().map(BlockRow::from).collect()),
    }
}

fn paired(pairing: &Pairing) -> String {
    let why = match pairing {
        Pairing::Numbers => return "orders are told by the numbers that the marks spell".to_owned(),
        Pairing::Time(NumberingError::Unmarked) => "they have no marks".to_owned(),
        Pairing::Time(why) => why.to_string(),
    };
    format!("pulses are paired by time alone, within what the record leaves open of both nodes, since {why}")
}

/// With the names of the nodes for "the first line" and "the second line".
fn named(why: &str, first: &str, second: &str) -> String {
    let of = |words: &str, node: &str| why.strip_prefix(words).map(|rest| format!("the line of {node}{rest}"));
    of("the first line", first).or_else(|| of("the second line", second)).unwrap_or_else(|| why.to_owned())
}

fn not_matched(first: &str, second: &str, shift: &Shift) -> Option<String> {
    let all = [
        (shift.only_first, format!("that {first} alone shows")),
        (shift.only_second, format!("that {second} alone shows")),
        (shift.neither, "that neither shows".to_owned()),
    ];
    let some = all.into_iter().filter(|(orders, _)| *orders > 0).enumerate();
    let words: Vec<String> = some
        .map(|(place, (orders, which))| {
            let noun = if place > 0 {
                ""
            } else if orders == 1 {
                "order "
            } else {
                "orders "
            };
            format!("{} {noun}{which}", count(orders))
        })
        .collect();
    (!words.is_empty()).then(|| format!("Not matched: {}", words.join(", ")))
}

fn figures(shift: &Shift, capture_rate_ppb: Option<i64>) -> ShiftFigures {
    let signed = Figures::of(&shift.later, Some(&shift.earlier));
    let mut to_either_side = shift.later.clone();
    to_either_side.merge(&shift.earlier);
    ShiftFigures {
        orders: shift.count,
        only_first: shift.only_first,
        only_second: shift.only_second,
        neither: shift.neither,
        min_ps: shift.min_ps,
        mean_ps: shift.mean_ps,
        max_ps: shift.max_ps,
        p50_ns: signed.quantile_ns(0.5),
        within_p99_ns: to_either_side.stated_quantile_ns(0.99),
        worst_ps: shift.farthest.shift_ps,
        worst_order: shift.farthest.number,
        worst_at_ps: shift.farthest.at_ps,
        error_ps: shift.error_ps,
        capture_rate_ppb,
        block_ps: shift.block_ps,
    }
}

fn part_rows(record: &Record, likely: &ShiftParts, bounds: &ShiftParts) -> Vec<PartRow> {
    let latency =
        |role| record.measurement.kind().by_role(role).map_or(("", ""), |latency| (latency.name, latency.words));
    let (act, output) = (latency(LatencyRole::OrderedAct), latency(LatencyRole::OutputCost));
    let parts = [
        (("clock", "clocks"), likely.clock, bounds.clock),
        (act, likely.ordered_to_acted, bounds.ordered_to_acted),
        (("output", output.1), likely.output, bounds.output),
        (("rest", "rest"), likely.rest, bounds.rest),
    ];
    let row = |((name, words), likely, bounds): ((_, _), Part, Part)| PartRow {
        name,
        words,
        likely_ps: likely.ps,
        lower_ps: bounds.ps.saturating_sub(bounds.error_ps),
        upper_ps: bounds.ps.saturating_add(bounds.error_ps),
    };
    parts.into_iter().map(row).collect()
}

fn missing_edges(node: &PulseNode, seen: &LineSeen) -> Option<String> {
    let claimed = seen.claimed.filter(pulse::witness::EdgesClaimed::is_contradiction)?;
    Some(format!(
        "{} says that it carried out all but {} of {} orders, and the witness saw no edge of {} of the {} whose time it covers",
        node.node,
        count(claimed.not_carried_out),
        count(node.orders.scheduled),
        count(claimed.without_edge),
        count(claimed.covered)
    ))
}

fn contradiction(pair: &ShiftPair, seen: &PairSeen) -> Option<String> {
    let Some(Ok(parts)) = &seen.parts else { return None };
    let mean_ps = units::round_i64(pair.figures.as_ref()?.mean_ps);
    let rest = parts.bounds.rest;
    parts.bounds.is_contradiction().then(|| {
        format!(
            "{} was {} {} than {} in the mean, of which what both nodes say leaves {} without a reason, with all errors of {}",
            pair.second,
            time(mean_ps.saturating_abs()),
            if mean_ps < 0 { "earlier" } else { "later" },
            pair.first,
            time(rest.ps),
            time(rest.error_ps)
        )
    })
}

fn beyond(pair: &ShiftPair, limit_ns: i64) -> Option<String> {
    let figures = pair.figures.as_ref()?;
    let is_beyond = figures.worst_ps.unsigned_abs() > limit_ns.unsigned_abs().saturating_mul(1_000);
    is_beyond.then(|| {
        format!(
            "{} was {} {} than {} at order {}",
            pair.second,
            time(figures.worst_ps.saturating_abs()),
            if figures.worst_ps < 0 { "earlier" } else { "later" },
            pair.first,
            count(figures.worst_order)
        )
    })
}

fn sentence(
    verdict: WitnessVerdict,
    contradictions: &[String],
    beyond: &[String],
    pairs: &[ShiftPair],
    limit_ns: Option<i64>,
) -> String {
    match verdict {
        WitnessVerdict::Invalid => format!("Invalid: {}.", contradictions.join("; ")),
        WitnessVerdict::Broken => {
            format!("Beyond the limit of {}: {}.", limit_ns.map_or_else(String::new, span), beyond.join("; "))
        }
        WitnessVerdict::Holds => {
            let worst = pairs.iter().filter_map(|pair| pair.figures.as_ref().map(|figures| (pair, figures)));
            let worst = worst.max_by_key(|(_, figures)| figures.worst_ps.unsigned_abs());
            let shown = worst.map_or_else(String::new, |(pair, figures)| {
                format!(
                    "{} acted within {} of {} at every order that both lines show",
                    if pairs.len() == 1 { &*pair.second } else { "Every node" },
                    time(figures.worst_ps.saturating_abs()),
                    pair.first
                )
            });
            let limit = limit_ns.map_or_else(String::new, |ns| format!(", within the limit of {}", span(ns)));
            let is_split = pairs.iter().all(|pair| !pair.parts.is_empty());
            let agrees = if is_split { "; the witness contradicts no node" } else { "" };
            format!("{shown}{limit}{agrees}.")
        }
    }
}

#[cfg(test)]
mod tests;
