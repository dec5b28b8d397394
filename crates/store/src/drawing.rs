//! Rows as points: at most so many a CPU, each its span's maximum. Pure.

use farm::stream::ContentHash;
use std::collections::BTreeMap;

use crate::coding::{Row, RowCpu};
use crate::tier::combined;
use crate::{CpuHistory, HistoryAsked, Placed, Point, SourceHistory, SourcePoint};

/// A row with its place in UTC.
#[derive(Clone, Debug)]
pub(crate) struct Drawn {
    pub(crate) start: Placed,
    pub(crate) condition: ContentHash,
    pub(crate) row: Row,
}

/// The points of what has a moment in common with the stretch that is asked for, CPU by CPU, and those of the sources of time.
pub(crate) fn draw(mut drawn: Vec<Drawn>, asked: &HistoryAsked) -> (Vec<CpuHistory>, Vec<SourceHistory>) {
    drawn.retain(|drawn| {
        let end_ns = drawn.start.utc_ns.saturating_add_unsigned(drawn.row.length_ns);
        drawn.start.utc_ns < asked.to_utc_ns && end_ns > asked.from_utc_ns
    });
    drawn.sort_by_key(|drawn| (drawn.start.utc_ns, drawn.row.length_ns, drawn.condition));
    let mut of_cpus: BTreeMap<u32, Vec<(&Drawn, &RowCpu)>> = BTreeMap::new();
    for drawn in &drawn {
        for cpu in &drawn.row.cpus {
            of_cpus.entry(cpu.cpu).or_default().push((drawn, cpu));
        }
    }
    let cpus = of_cpus.into_iter().map(|(cpu, rows)| CpuHistory { cpu, points: points(&rows, asked) }).collect();
    (cpus, source_points(&drawn, asked))
}

/// In which of so many equal spans of the stretch that is asked for something begins; what begins before it is in the first.
fn span_of(drawn: &Drawn, spans: usize, asked: &HistoryAsked) -> i128 {
    let length_ns = i128::from(asked.to_utc_ns).saturating_sub(i128::from(asked.from_utc_ns)).max(1);
    let since = i128::from(drawn.start.utc_ns.saturating_sub(asked.from_utc_ns)).max(0);
    since * i128::try_from(spans).unwrap_or(1) / length_ns
}

/// What was known of each source of time: of a span the worst of all intervals that begin in it, whatever was measured meanwhile.
fn source_points(drawn: &[Drawn], asked: &HistoryAsked) -> Vec<SourceHistory> {
    let with_sources = drawn.iter().filter(|drawn| !drawn.row.sources.is_empty()).count();
    let spans = asked.most_points.max(1);
    let mut of: BTreeMap<i128, Vec<&Drawn>> = BTreeMap::new();
    for (at, drawn) in (0..).zip(drawn) {
        let key = if with_sources <= spans { at } else { span_of(drawn, spans, asked) };
        of.entry(key).or_default().push(drawn);
    }
    let mut found: BTreeMap<String, Vec<SourcePoint>> = BTreeMap::new();
    for rows in of.into_values() {
        let Some(start_utc_ns) = rows.iter().map(|drawn| drawn.start.utc_ns).min() else { continue };
        let placed = |drawn: &&Drawn| Row { start_ns: drawn.start.utc_ns, cpus: Vec::new(), ..drawn.row.clone() };
        let all: Vec<Row> = rows.iter().map(placed).collect();
        let Some(all) = combined(&all, start_utc_ns, 0) else { continue };
        for worst in all.sources {
            let point = SourcePoint { start_utc_ns, length_ns: all.length_ns, worst };
            found.entry(point.worst.source.clone()).or_default().push(point);
        }
    }
    found.into_iter().map(|(source, points)| SourceHistory { source, points }).collect()
}

fn points(rows: &[(&Drawn, &RowCpu)], asked: &HistoryAsked) -> Vec<Point> {
    if rows.len() <= asked.most_points {
        return rows.iter().map(|row| point(std::slice::from_ref(row))).collect();
    }
    let mut spans = asked.most_points.max(1);
    loop {
        // Unlike is never mixed.
        let mut of: BTreeMap<(i128, ContentHash), Vec<(&Drawn, &RowCpu)>> = BTreeMap::new();
        for (drawn, cpu) in rows {
            of.entry((span_of(drawn, spans, asked), drawn.condition)).or_default().push((*drawn, *cpu));
        }
        if of.len() <= asked.most_points || spans == 1 {
            let mut points: Vec<Point> = of.into_values().map(|rows| point(&rows)).collect();
            points.sort_by_key(|point| (point.start_utc_ns, point.condition));
            return points;
        }
        spans = spans.div_ceil(2);
    }
}

/// Rows of one CPU and one condition as one point; there is at least one.
fn point(rows: &[(&Drawn, &RowCpu)]) -> Point {
    let start_ns = rows.iter().map(|(drawn, _)| drawn.start.utc_ns).min().unwrap_or(0);
    let placed = |(drawn, cpu): &(&Drawn, &RowCpu)| Row {
        start_ns: drawn.start.utc_ns,
        length_ns: drawn.row.length_ns,
        cpus: vec![(*cpu).clone()],
        ..Row::default()
    };
    let all: Vec<Row> = rows.iter().map(placed).collect();
    let all = combined(&all, start_ns, 0).unwrap_or_default();
    let cpu = all.cpus.into_iter().next().unwrap_or_default();
    let valid = cpu.valid.unwrap_or_default();
    let stands = rows.iter().any(|(_, cpu)| cpu.valid.is_some());
    Point {
        start_utc_ns: start_ns,
        length_ns: all.length_ns,
        placed_error_ns: rows.iter().map(|(drawn, _)| drawn.start.error_ns).max().unwrap_or(0),
        maximum_ns: stands.then_some(valid.maximum_ns),
        maximum_utc_ns: stands.then_some(start_ns.saturating_add_unsigned(valid.maximum_at_ns)),
        spoiled_ns: cpu.spoiled.map(|figures| figures.maximum_ns),
        samples: valid.samples,
        missed_periods: valid.missed_periods,
        beyond_limit: valid.beyond_limit,
        not_monitored_ns: all.length_ns.saturating_sub(cpu.monitored_ns),
        condition: rows.first().map_or_else(|| ContentHash::of(""), |(drawn, _)| drawn.condition),
        reasons: cpu.reasons,
        cause: valid.cause,
    }
}
