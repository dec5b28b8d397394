//! What a witness says of nodes that act together: how far apart their edges lay, what that is made of, and whether it contradicts them.

mod document;

use pulse::numbering::NumberingError;
use pulse::shift::{Part, Shift, ShiftBlock, ShiftParts};
use pulse::witness::{LineSeen, PairSeen, Pairing, RunSeen};
use record::{LatencyRole, PulseNode, PulseRun, Record};
use units::format::{count, count_of, latency, latency_at_most, span};

pub use self::document::{
    BlockRow, PartRow, SHIFT_SCHEMA, SHIFT_VERSION, ShiftDocument, ShiftFigures, ShiftPair, ShiftSummary, ShownLine,
    WitnessVerdict,
};
use crate::run::Figures;

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
    let in_doubt: Vec<String> = pairs
        .iter()
        .zip(&seen.pairs)
        .zip(lines.iter().skip(1))
        .filter_map(|((pair, seen), second)| alone(pair, seen, [lines.first()?.node, second.node]))
        .collect();
    let held = || pairs.iter().filter_map(|pair| held(pair, limit_ns?));
    // A shift that is surely beyond it outranks those that may be.
    let worst = if contradictions.is_empty() { held().map(|(held, _)| held).max() } else { None };
    let verdict = match worst {
        _ if !contradictions.is_empty() => WitnessVerdict::Invalid,
        Some(Held::Beyond) => WitnessVerdict::Broken,
        Some(Held::Within) | None if in_doubt.is_empty() => WitnessVerdict::Holds,
        _ => WitnessVerdict::CannotTell,
    };
    let said = worst.unwrap_or(Held::Beyond);
    let beyond: Vec<String> =
        held().filter(|(held, _)| *held == said && *held != Held::Within).map(|(_, words)| words).collect();
    ShiftSummary {
        run: record.id.clone(),
        label: if record.label == record.measurement.name() { String::new() } else { record.label.clone() },
        path: run.packets.flows.first().and_then(|flow| crate::packet::path_of(flow).0),
        interval_ns: run.interval_ns,
        lead_ns: run.lead_ns,
        scheduled: run.trials.scheduled,
        missed: run.trials.missed,
        unknown: run.trials.unknown,
        about: about(run, lines),
        sentence: sentence(verdict, [&contradictions, &beyond, &in_doubt], &pairs, limit_ns),
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

/// A bound in picoseconds as people read it, rounded up.
#[must_use]
pub fn time_at_most(ps: i64) -> String {
    latency_at_most(ps.saturating_add(999).div_euclid(1_000))
}

/// How exact each shift is, as a sentence without its full stop.
#[must_use]
pub fn exactness(figures: &ShiftFigures) -> String {
    let error = figures.error_ps.map_or_else(
        || "How exact each shift is, the capture does not say".to_owned(),
        |ps| format!("Each shift is right to within {}", time_at_most(ps)),
    );
    let rate = figures.capture_rate_ppb.map_or_else(String::new, |ppb| {
        let way = if ppb < 0 { "slower" } else { "faster" };
        match ppb.unsigned_abs() {
            0 => "; the capture's clock goes as the server's".to_owned(),
            ppb @ 1..1_000 => format!("; the capture's clock is {ppb} ppb {way} than the server's"),
            ppb => {
                format!("; the capture's clock is {}.{} ppm {way} than the server's", ppb / 1_000, ppb % 1_000 / 100)
            }
        }
    });
    format!("{error}{rate}")
}

fn ns(ps: i64) -> i64 {
    ps.saturating_add(500).div_euclid(1_000)
}

fn about(run: &PulseRun, lines: &[NamedLine<'_>]) -> String {
    let marks = match run.mark {
        Some(every) => format!("with a mark every {}", count_of(every.into(), "order", "orders")),
        None => "without marks".to_owned(),
    };
    let named: Vec<String> = lines.iter().map(|line| format!("{} on {}", line.node.node, line.channel)).collect();
    format!(
        "{} of {} every {}, {marks}: {}",
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
        by_numbers: shift.is_some_and(|witnessed| witnessed.pairing == Pairing::Numbers),
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
        deviation_ps: shift.deviation_ps,
        nearest_ps: shift.nearest_ps,
        mean_distance_ps: shift.mean_distance_ps,
        span_ps: shift.span_ps,
        p50_ns: signed.quantile_ns(0.5),
        within_p99_ns: to_either_side.stated_quantile_ns(0.99),
        worst_ps: shift.farthest.shift_ps,
        worst_order: shift.farthest.number,
        worst_at_ps: shift.farthest.at_ps,
        error_ps: shift.error_ps,
        capture_rate_ppb,
        block_ps: shift.block_ps,
        later: shift.later.clone(),
        earlier: shift.earlier.clone(),
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
    let row = |((name, words), likely, bounds): ((&str, &str), Part, Part)| PartRow {
        name: name.to_owned(),
        words: words.to_owned(),
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
            time_at_most(rest.error_ps)
        )
    })
}

/// Pulses of one line, paired by time, beside which the other line has none although its node says that it made edges of more orders: one
/// that no order made is not told from one that has no partner.
fn alone(pair: &ShiftPair, seen: &PairSeen, nodes: [&PulseNode; 2]) -> Option<String> {
    let shift = &seen.witnessed.as_ref().ok().filter(|_| !pair.by_numbers)?.shift;
    let [first, second] = nodes;
    // The capture can begin and end between both edges of one order.
    let beside = |within: u64, outside: u64| within.saturating_add(outside.saturating_sub(2));
    let sides = [
        (first, second, beside(shift.only_first, shift.outside[0])),
        (second, first, beside(shift.only_second, shift.outside[1])),
    ];
    sides.into_iter().find_map(|(shows, lacks, pulses)| {
        let not_carried_out = lacks.orders.scheduled.saturating_sub(lacks.orders.acted);
        (pulses > not_carried_out).then(|| {
            let but = if not_carried_out > 0 { format!("all but {} of ", count(not_carried_out)) } else { "all of ".to_owned() };
            format!(
                "the line of {} shows {} beside which that of {} shows none, {} says that it carried out {but}{}, and without numbers an \
                 edge that is missing is not told from one that no order made",
                shows.node,
                count_of(pulses, "pulse", "pulses"),
                lacks.node,
                lacks.node,
                count_of(lacks.orders.scheduled, "order", "orders"),
            )
        })
    })
}

/// What the number of an order is: without marks only its place among the pulses is known.
#[must_use]
pub const fn counted(pair: &ShiftPair) -> &'static str {
    if pair.by_numbers { "order" } else { "pulse" }
}

/// How a pair stands to a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Held {
    Within,
    /// The error of a shift leaves it open, or is not known.
    Open,
    Beyond,
}

/// How the worst shift of a pair stands to the limit, with what it was; `None` if nothing can be said of the pair.
fn held(pair: &ShiftPair, limit_ns: i64) -> Option<(Held, String)> {
    let figures = pair.figures.as_ref()?;
    let (worst_ps, limit_ps) = (figures.worst_ps.unsigned_abs(), limit_ns.unsigned_abs().saturating_mul(1_000));
    let held = match figures.error_ps.map(i64::unsigned_abs) {
        Some(error_ps) if worst_ps.saturating_add(error_ps) <= limit_ps => Held::Within,
        Some(error_ps) if worst_ps.saturating_sub(error_ps) > limit_ps => Held::Beyond,
        _ => Held::Open,
    };
    let error = match figures.error_ps {
        _ if held != Held::Open => String::new(),
        Some(error_ps) => format!(", right to within {}", time_at_most(error_ps)),
        None => ", and how exact that is the capture does not say (--resolution)".to_owned(),
    };
    let words = format!(
        "{} was {} {} than {} at {} {}{error}",
        pair.second,
        time(figures.worst_ps.saturating_abs()),
        if figures.worst_ps < 0 { "earlier" } else { "later" },
        pair.first,
        counted(pair),
        count(figures.worst_order)
    );
    Some((held, words))
}

fn sentence(
    verdict: WitnessVerdict,
    [contradictions, beyond, in_doubt]: [&[String]; 3],
    pairs: &[ShiftPair],
    limit_ns: Option<i64>,
) -> String {
    match verdict {
        WitnessVerdict::Invalid => format!("Invalid: {}.", contradictions.join("; ")),
        WitnessVerdict::Broken => {
            format!("Beyond the limit of {}: {}.", limit_ns.map_or_else(String::new, span), beyond.join("; "))
        }
        WitnessVerdict::CannotTell => {
            let limit = limit_ns.map_or_else(String::new, span);
            let open = [
                (format!("Whether the limit of {limit} holds"), beyond),
                ("Whether each node made the edges that it says it made".to_owned(), in_doubt),
            ];
            let open = open.iter().filter(|(_, why)| !why.is_empty());
            let open: Vec<String> =
                open.map(|(what, why)| format!("{what} cannot be told: {}.", why.join("; "))).collect();
            open.join(" ")
        }
        WitnessVerdict::Holds => {
            let worst = pairs.iter().filter_map(|pair| pair.figures.as_ref().map(|figures| (pair, figures)));
            let worst = worst.max_by_key(|(_, figures)| figures.worst_ps.unsigned_abs());
            let shown = worst.map_or_else(String::new, |(pair, figures)| {
                let who = if pairs.len() == 1 { &*pair.second } else { "Every node" };
                let worst_ps = figures.worst_ps.saturating_abs();
                match pairs.iter().filter_map(|pair| pair.figures.as_ref()).map(|figures| figures.error_ps).collect() {
                    // What is claimed is the bound, and not what was seen.
                    Some(errors) => {
                        let error_ps = Vec::<i64>::into_iter(errors).max().unwrap_or(0);
                        let within = time_at_most(worst_ps.saturating_add(error_ps));
                        format!("{who} acted within {within} of {} at every order that both lines show", pair.first)
                    }
                    None => format!(
                        "{who} was up to {} from {} by a capture that does not say how exact it is, at every order that both lines show",
                        time(worst_ps),
                        pair.first
                    ),
                }
            });
            let limit = limit_ns.map_or_else(String::new, |ns| format!(", within the limit of {}", span(ns)));
            let is_split = pairs.iter().all(|pair| !pair.parts.is_empty());
            let agrees = match pairs.iter().all(|pair| pair.by_numbers) {
                _ if !is_split => "",
                true => "; the witness contradicts no node",
                false => {
                    "; the witness contradicts no node, but whether both lines lack an edge was not judged where pulses have no numbers"
                }
            };
            format!("{shown}{limit}{agrees}.")
        }
    }
}

#[cfg(test)]
mod tests;
