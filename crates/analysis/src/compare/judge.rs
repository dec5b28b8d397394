//! Both groups cut into units, and what exchanging them says of every row.

use std::ops::Range;

use record::Measurement;
use units::approx_f64;

use super::decisive::{Maxima, Rates};
use super::document::Unit;
use super::exchange::{self, Chance, Dealt, Units};
use super::pieces::{self, Piece, Run};
use super::resample::{self, Side, Spread};
use super::table::{self, Quantity, Table};
use super::{CompareOptions, Group, Row};
use crate::dependence;

/// The margin of the body where nobody says: no less than this (ns) …
pub(super) const LEAST_MARGIN_NS: f64 = 1_000.0;
/// … and this part of A's median.
const MARGIN_PART: f64 = 0.1;

/// The change of the body that counts (ns), from A's median where it is not stated.
pub(super) fn margin_ns(options: &CompareOptions, a_median_ns: Option<u64>) -> f64 {
    let default = || (a_median_ns.map_or(0.0, approx_f64) * MARGIN_PART).max(LEAST_MARGIN_NS);
    options.margin_ns.map_or_else(default, approx_f64)
}

/// The margin of one row: what is stolen in a second is no latency, and has a part of its own at the least.
pub(super) fn margin_of(row: &Row, margin_ns: f64) -> f64 {
    if row.quantity == Quantity::InASecond { margin_ns.max(row.a_ns * MARGIN_PART) } else { margin_ns }
}

/// Both groups cut into pieces.
pub(super) struct Cut {
    pub(super) runs: [Vec<Run>; 2],
    pub(super) piece_ns: u64,
    pub(super) unit: Unit,
}

impl Cut {
    pub(super) fn new(a: &Group<'_>, b: &Group<'_>, latency: &str, deadline_ns: Option<u64>) -> Self {
        let cut = |group: &Group<'_>| -> Vec<Run> {
            group.runs.iter().map(|record| Run::from_record(record, latency, deadline_ns)).collect()
        };
        let (mut a, mut b) = (cut(a), cut(b));
        let unit = if a.len() > 1 || b.len() > 1 { Unit::Run } else { Unit::Block };
        let piece_ns = pieces::cut_alike(&mut [&mut a, &mut b]);
        let mut cut = Self { runs: [a, b], piece_ns, unit };
        while table::cells(&cut.pieces()) > table::MOST_CELLS
            && cut.runs.iter().flatten().any(|run| run.pieces.len() > 1)
        {
            cut.runs.iter_mut().flatten().for_each(|run| run.merge_neighbors(2));
            cut.piece_ns = cut.piece_ns.saturating_mul(2);
        }
        cut
    }

    /// All pieces, A's first.
    pub(super) fn pieces(&self) -> Vec<&Piece> {
        self.runs.iter().flatten().flat_map(|run| &run.pieces).collect()
    }

    pub(super) fn sides(&self) -> [Side; 2] {
        let mut start = 0;
        [0, 1].map(|of| {
            let mut own = 0;
            let runs: Vec<Range<usize>> = self.runs[of]
                .iter()
                .map(|run| {
                    let range = own..own + run.pieces.len();
                    own = range.end;
                    range
                })
                .collect();
            let columns = start..start + own;
            start = columns.end;
            Side { columns, runs }
        })
    }

    /// The pieces of each run.
    pub(super) fn run_groups(&self) -> [Vec<Range<usize>>; 2] {
        self.sides().map(|side| units_of(&side, Unit::Run, 1))
    }
}

/// What the statistics say.
pub(super) struct Outcome {
    /// One for each quantity.
    pub(super) spreads: Vec<Option<Spread>>,
    /// One for each quantity, none where nothing could be exchanged.
    pub(super) chances: Vec<Chance>,
    /// Of what decides; absent where it could not be compared.
    pub(super) decisive: Option<Chance>,
    /// Of the maxima by themselves, also where a rate decides.
    pub(super) worst: Option<Chance>,
    pub(super) maxima: Maxima,
    /// Where a deadline is stated.
    pub(super) rates: Option<Rates>,
    pub(super) units: [usize; 2],
    pub(super) block: usize,
    pub(super) correlation: f64,
    pub(super) smallest_p: f64,
}

/// The deadline that samples are judged by, if any.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline {
    /// Since the schedule (ns); `None` where there is none.
    pub(super) ns: Option<u64>,
    /// Whether missed periods count as beyond it.
    pub(super) are_missed_counted: bool,
}

pub(super) fn judge(
    cut: &Cut,
    rows: &[Row],
    measurement: Measurement,
    deadline: Deadline,
    options: &CompareOptions,
) -> Outcome {
    let quantities: Vec<Quantity> = rows.iter().map(|row| row.quantity).collect();
    let pieces = cut.pieces();
    let table = Table::from_pieces(&pieces);
    let sides = cut.sides();
    let level = |piece: &&Piece| match quantities.first() {
        Some(Quantity::InASecond) => Table::from_pieces(&[*piece]).value(Quantity::InASecond, &(0..1), &[1.0]),
        _ => piece.histogram.mean_ns(),
    };
    let means = |run: &Run| run.pieces.iter().filter_map(|piece| level(&piece)).collect::<Vec<f64>>();
    let means: Vec<Vec<f64>> = cut.runs.iter().flatten().map(means).collect();
    let mut dependence = dependence::dependence(&means);
    // A block is no longer than the shortest run.
    let shortest = means.iter().map(Vec::len).min().unwrap_or(1).max(1);
    dependence.block_pieces = dependence.block_pieces.min(shortest);
    let dependence::Dependence { correlation, block_pieces: block, .. } = dependence;
    let groups: [Vec<Range<usize>>; 2] = [0, 1].map(|of| units_of(&sides[of], cut.unit, block));
    let units = [groups[0].len(), groups[1].len()];
    let maxima = Maxima::new(&groups, &pieces, cut.unit, measurement);
    let rates = deadline.ns.map(|deadline_ns| {
        Rates::new(deadline_ns, &groups, &pieces, cut.unit, measurement, deadline.are_missed_counted)
    });
    let mut outcome = Outcome {
        spreads: vec![None; quantities.len()],
        chances: Vec::new(),
        decisive: None,
        worst: None,
        maxima,
        rates,
        units,
        block,
        correlation,
        smallest_p: 1.0,
    };
    if quantities.is_empty() || units.contains(&0) {
        return outcome;
    }
    outcome.spreads = resample::spreads(&table, [&sides[0], &sides[1]], &quantities, &dependence, options);
    let grouped = table.grouped(&groups.concat());
    // Another part of the sequence than the resamples drew.
    let (deals, seed) = (exchange::deals(options.resamples, options.level), !options.seed);
    let dealt = |quantities: &[Quantity], decisive: &[u64]| {
        let units = Units { table: &grouped, of_a: units[0], all: units[0] + units[1], decisive };
        Dealt::deal(&units, quantities, deals, seed)
    };
    let maxima = if outcome.maxima.problem.is_none() { outcome.maxima.maxima_ns.concat() } else { Vec::new() };
    let decisive = match &outcome.rates {
        Some(rates) if rates.problem.is_some() => Vec::new(),
        Some(rates) => rates.ranked(1.0),
        None => maxima.clone(),
    };
    let of_all = dealt(&quantities, &decisive);
    let is_body: Vec<bool> = rows.iter().map(|row| row.is_body).collect();
    outcome.chances = of_all.chances(&is_body);
    outcome.smallest_p = of_all.smallest_p();
    outcome.decisive = (!decisive.is_empty()).then(|| outcome.chances.pop()).flatten();
    outcome.worst = match (&outcome.rates, maxima.is_empty()) {
        (_, true) => None,
        (None, _) => outcome.decisive,
        // By the way: it decides nothing.
        (Some(_), _) => dealt(&[], &maxima).chances(&[]).pop().map(|chance| Chance { p_together: None, ..chance }),
    };
    outcome
}

/// The columns of each unit: a run, or a block of about equally many pieces.
pub(super) fn units_of(side: &Side, unit: Unit, block: usize) -> Vec<Range<usize>> {
    let shift = |range: &Range<usize>| range.start + side.columns.start..range.end + side.columns.start;
    match unit {
        Unit::Run => side.runs.iter().map(shift).collect(),
        Unit::Block => {
            let pieces = side.columns.len();
            let blocks = (pieces / block).max(usize::from(pieces > 0));
            (0..blocks)
                .map(|at| side.columns.start + pieces * at / blocks..side.columns.start + pieces * (at + 1) / blocks)
                .collect()
        }
    }
}
