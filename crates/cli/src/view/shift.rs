//! What a witness saw of nodes that act together, on a terminal.

use summary::shift::{PartRow, ShiftPair, ShiftSummary, ShownLine, counted, exactness, time};
use units::format::{count, latency, span};

use super::blocks;
use terminal::table::{Table, known};
use terminal::wrap;

/// Columns of a shift over time.
const COLUMNS: usize = 32;

/// What `pulse shift` found, as text for the terminal: what lies apart by how much, its error, and which pairs of lines cannot be told.
pub(crate) fn text(shift: &ShiftSummary) -> String {
    let width = wrap::width();
    let paragraph = |sentence: &str| wrap::paragraph(sentence, "", width);
    let mut text = paragraph(&format!("{}.", shift.about));
    text.push('\n');
    text.push_str(&lines(&shift.lines));
    for line in &shift.lines {
        if let Some(fault) = &line.fault {
            text.push_str(&paragraph(&format!("{}: {fault}.", line.node)));
        }
    }
    // What cannot be told of a pair stands in the verdict.
    for pair in shift.pairs.iter().filter(|pair| pair.figures.is_some()) {
        text.push('\n');
        text.push_str(&of_pair(pair, width));
    }
    text.push('\n');
    text.push_str(&paragraph(&shift.sentence));
    text
}

fn lines(lines: &[ShownLine]) -> String {
    let mut table = Table::new(&[
        "node",
        "pulses",
        "numbered",
        "missing",
        "extra",
        "odd",
        "bounces",
        "glitches",
        "cut",
        "node says it acted",
    ]);
    for line in lines {
        let counted = |value: Option<u64>| known(value.map(count).as_deref());
        table.row(vec![
            line.node.clone(),
            count(line.pulses),
            counted(line.numbered),
            counted(line.missing),
            counted(line.extra),
            count(line.odd),
            count(line.bounces),
            count(line.glitches),
            count(line.cut),
            format!("{} of {}", count(line.acted), count(line.scheduled)),
        ]);
    }
    table.render()
}

fn of_pair(pair: &ShiftPair, width: usize) -> String {
    let ShiftPair { first, second, .. } = pair;
    let mut text = wrap::paragraph(&format!("{second} against {first}: {}.", pair.paired), "", width);
    let Some(figures) = &pair.figures else { return text };
    let mut table = Table::new(&[
        "shift",
        "orders",
        "min",
        "median",
        "mean",
        "max",
        "99 % within",
        "worst",
        &format!("at {}", counted(pair)),
    ]);
    table.row(vec![
        second.clone(),
        count(figures.orders),
        time(figures.min_ps),
        known(figures.p50_ns.map(latency).as_deref()),
        time(units::round_i64(figures.mean_ps)),
        time(figures.max_ps),
        known(figures.within_p99_ns.map(latency).as_deref()),
        time(figures.worst_ps),
        count(figures.worst_order),
    ]);
    text.push_str(&table.render());
    if let Some(sentence) = &pair.not_matched {
        text.push_str(&wrap::paragraph(&format!("{sentence}."), "  ", width));
    }
    text.push_str(&over_time(pair));
    text.push_str(&wrap::paragraph(&format!("{}.", exactness(figures)), "  ", width));
    if !pair.parts.is_empty() {
        text.push_str(&parts(&pair.parts));
    }
    if let Some(why) = &pair.not_split {
        text.push_str(&wrap::paragraph(&format!("{}{}.", why[..1].to_uppercase(), &why[1..]), "  ", width));
    }
    text
}

/// The farthest shift of each stretch as a block; nothing of a single one.
fn over_time(pair: &ShiftPair) -> String {
    let (Some(first), Some(last)) = (pair.blocks.first(), pair.blocks.last()) else { return String::new() };
    let span_ps = last.from_ps.abs_diff(first.from_ps);
    if pair.blocks.len() < 2 || span_ps == 0 {
        return String::new();
    }
    let points: Vec<(u64, u64)> = pair
        .blocks
        .iter()
        .map(|block| {
            (block.from_ps.abs_diff(first.from_ps), block.min_ps.unsigned_abs().max(block.max_ps.unsigned_abs()))
        })
        .collect();
    let drawn = blocks::over_time(&points, span_ps, COLUMNS.min(pair.blocks.len()));
    format!("  farthest, over {}: {drawn}\n", span(span_ps / 1_000))
}

fn parts(parts: &[PartRow]) -> String {
    let mut table = Table::new(&["mean shift by", "likely", "at least", "at most"]);
    for part in parts {
        table.row(vec![part.words.clone(), time(part.likely_ps), time(part.lower_ps), time(part.upper_ps)]);
    }
    table.render()
}
