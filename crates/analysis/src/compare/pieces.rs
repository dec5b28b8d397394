//! Runs cut into pieces: what is drawn again, or exchanged, as a whole.
//!
//! A piece is one interval of a run over all its measuring threads, since what disturbs a machine disturbs its CPUs at the
//! same time. Neighboring samples are alike; intervals are too, but much less, and how much is measured.

use std::collections::BTreeMap;

use record::{Histogram, Record, Series, Sign};
use units::approx_f64;

/// Pieces of one run beyond this are merged with their neighbors: more add no information.
const MOST_PIECES_OF_A_RUN: usize = 240;
/// A piece as long as this part of the wanted length counts as whole.
const WHOLE: f64 = 0.95;
/// A last piece shorter than this part of the others joins the one before it.
const LEAST_LAST: f64 = 0.5;

/// One interval of a run, all threads together.
#[derive(Clone, Debug, Default)]
pub(super) struct Piece {
    pub(super) length_ns: u64,
    pub(super) missed_periods: u64,
    /// Of the missed periods those whose schedules were late by more than the deadline; 0 where none is stated.
    pub(super) missed_beyond: u64,
    /// The lengths of its threads' intervals together (ns).
    pub(super) threads_ns: u64,
    pub(super) histogram: Histogram,
    /// The same samples with their sign, where one below zero is as bad as one above.
    pub(super) signed: Option<Signed>,
}

/// Samples of both signs.
#[derive(Clone, Debug, Default)]
pub(super) struct Signed {
    /// From zero on.
    pub(super) above: Histogram,
    /// Below zero, by their magnitude.
    pub(super) below: Histogram,
}

impl Signed {
    pub(super) fn merge(&mut self, other: &Self) {
        self.above.merge(&other.above);
        self.below.merge(&other.below);
    }

    fn add(&mut self, above: &Histogram, below: Option<&Histogram>) {
        self.above.merge(above);
        if let Some(below) = below {
            self.below.merge(below);
        }
    }

    pub(super) fn count(&self) -> u64 {
        self.above.count().saturating_add(self.below.count())
    }

    /// The sum of all samples (ns).
    pub(super) fn sum_ns(&self) -> f64 {
        approx_f64(self.above.sum_ns()) - approx_f64(self.below.sum_ns())
    }

    /// `None` without a sample.
    pub(super) fn mean_ns(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.sum_ns() / approx_f64(self.count()))
    }
}

impl Piece {
    /// Schedules that fell into it, taken or missed.
    pub(super) fn schedules(&self) -> u64 {
        self.histogram.count().saturating_add(self.missed_periods)
    }

    fn join(&mut self, other: &Self) {
        self.length_ns = self.length_ns.saturating_add(other.length_ns);
        self.missed_periods = self.missed_periods.saturating_add(other.missed_periods);
        self.missed_beyond = self.missed_beyond.saturating_add(other.missed_beyond);
        self.threads_ns = self.threads_ns.saturating_add(other.threads_ns);
        self.histogram.merge(&other.histogram);
        if let Some(signed) = &other.signed {
            self.signed.get_or_insert_default().merge(signed);
        }
    }
}

/// The pieces of a run, in the order of time.
#[derive(Clone, Debug, Default)]
pub(super) struct Run {
    pub(super) pieces: Vec<Piece>,
}

impl Run {
    /// The series of `name`; `deadline_ns` is what missed periods are held against.
    pub(super) fn from_record(record: &Record, name: &str, deadline_ns: Option<u64>) -> Self {
        let lasted_ns = record.measured_ns();
        let mut by_start: BTreeMap<u64, Piece> = BTreeMap::new();
        let mut whole = Piece::default();
        for series in record.series.iter().filter(|series| series.name == name) {
            let sign = record.sign(series);
            whole.histogram.merge(&series.judged_samples(sign));
            let is_signed = sign == Sign::Magnitude;
            if is_signed {
                whole.signed.get_or_insert_default().add(&series.histogram, series.below_zero.as_ref());
            }
            let observed_ns = series
                .gaps()
                .map_or_else(|| lasted_ns.saturating_sub(series.spoiled.length_ns), |gaps| gaps.observed_ns);
            whole.threads_ns = whole.threads_ns.saturating_add(observed_ns);
            whole.missed_periods = whole.missed_periods.saturating_add(series.counters.missed_periods);
            let missed_beyond = |histogram: &Histogram, missed_periods: u64| {
                let beyond = interval_of(record, series).zip(deadline_ns).map(|(interval_ns, deadline_ns)| {
                    skipped_beyond(histogram, interval_ns, deadline_ns).min(missed_periods)
                });
                beyond.unwrap_or(0)
            };
            let beyond = missed_beyond(&series.histogram, series.counters.missed_periods);
            whole.missed_beyond = whole.missed_beyond.saturating_add(beyond);
            for interval in &series.intervals {
                let piece = by_start.entry(interval.start_offset_ns).or_default();
                piece.length_ns = piece.length_ns.max(interval.length_ns);
                piece.threads_ns = piece.threads_ns.saturating_add(interval.length_ns);
                piece.missed_periods = piece.missed_periods.saturating_add(interval.missed_periods);
                let beyond = missed_beyond(&interval.histogram, interval.missed_periods);
                piece.missed_beyond = piece.missed_beyond.saturating_add(beyond);
                piece.histogram.merge(&interval.judged_samples(sign));
                if is_signed {
                    piece.signed.get_or_insert_default().add(&interval.histogram, interval.below_zero.as_ref());
                }
            }
        }
        let in_pieces = units::total(by_start.values().map(|piece| piece.histogram.count()));
        let mut run = if in_pieces == whole.histogram.count() {
            Self { pieces: by_start.into_values().collect() }
        } else {
            // No intervals, or ones that do not hold every sample: the run is one piece.
            whole.length_ns = record.standing_ns();
            Self { pieces: vec![whole] }
        };
        if !record.measurement.kind().sampling.is_quiet_without_samples() {
            // A piece without a wake-up says nothing of how late one was; one without a gap says that nothing was stolen.
            run.pieces.retain(|piece| !piece.histogram.is_empty());
        }
        let at_once = run.pieces.len().div_ceil(MOST_PIECES_OF_A_RUN);
        run.merge_neighbors(at_once);
        run
    }

    /// Makes every `at_once` neighbors one piece.
    pub(super) fn merge_neighbors(&mut self, at_once: usize) {
        if at_once > 1 {
            self.pieces = self.pieces.chunks(at_once).filter_map(joined).collect();
        }
    }

    /// The length that half of its pieces do not exceed (ns).
    fn typical_length_ns(&self) -> u64 {
        let mut lengths: Vec<u64> = self.pieces.iter().map(|piece| piece.length_ns).collect();
        lengths.sort_unstable();
        lengths.get(lengths.len() / 2).copied().unwrap_or(0)
    }

    /// Joins neighbors until each piece is about as long as wanted.
    fn lengthen_to(&mut self, wanted_ns: u64) {
        let enough = approx_f64(wanted_ns) * WHOLE;
        let mut longer: Vec<Piece> = Vec::new();
        for piece in self.pieces.drain(..) {
            match longer.last_mut() {
                Some(last) if approx_f64(last.length_ns) < enough => last.join(&piece),
                _ => longer.push(piece),
            }
        }
        if let [.., before, last] = longer.as_mut_slice() {
            if approx_f64(last.length_ns) < approx_f64(wanted_ns) * LEAST_LAST {
                before.join(last);
                longer.pop();
            }
        }
        self.pieces = longer;
    }
}

/// The interval of a series' schedules (ns), if one is known.
pub(super) fn interval_of(record: &Record, series: &Series) -> Option<u64> {
    series.interval_ns.or(record.manifest().requested.interval_ns).filter(|&interval_ns| interval_ns > 0)
}

/// How many of the schedules that late samples skipped were late by more than the deadline themselves.
///
/// A sample of latency `l` skips the schedules that lie `k` intervals after its own; a thread waking there would have been
/// late by `l - k * interval`. Samples are known to the width of a bin, 0.1 %, and count by the middle of their bin.
fn skipped_beyond(histogram: &Histogram, interval_ns: u64, deadline_ns: u64) -> u64 {
    let late = histogram.bins_from_highest().take_while(|bin| bin.to_ns > deadline_ns);
    units::total(late.map(|bin| {
        let latency_ns = u64::midpoint(bin.from_ns, bin.to_ns);
        // The last of these is late by more than the deadline, so that one at the deadline itself does not count.
        let each = latency_ns.saturating_sub(deadline_ns).saturating_sub(1) / interval_ns;
        let possible = latency_ns / interval_ns;
        bin.count.saturating_mul(each.min(possible))
    }))
}

fn joined(neighbors: &[Piece]) -> Option<Piece> {
    let (first, rest) = neighbors.split_first()?;
    let mut piece = first.clone();
    rest.iter().for_each(|other| piece.join(other));
    Some(piece)
}

/// Makes the pieces of all runs about equally long: only then can one stand in the place of another.
pub(super) fn cut_alike(sides: &mut [&mut Vec<Run>]) -> u64 {
    let wanted = sides.iter().flat_map(|runs| runs.iter()).map(Run::typical_length_ns).max().unwrap_or(0);
    for run in sides.iter_mut().flat_map(|runs| runs.iter_mut()) {
        run.lengthen_to(wanted);
    }
    wanted
}

#[cfg(test)]
mod tests {
    use record::{Interval, Measurement};

    use super::*;
    use samples::record_of;

    fn run(lengths_s: &[u64]) -> Run {
        let mut record = record_of(Measurement::Wakeup, &vec![5_000; lengths_s.len()]);
        let mut histogram = Histogram::new();
        histogram.record_n(5_000, 1);
        let mut start_offset_ns = 0;
        for &length_s in lengths_s {
            let length_ns = length_s * 1_000_000_000;
            let histogram = histogram.clone();
            record.series[0].intervals.push(Interval {
                start_offset_ns,
                length_ns,
                missed_periods: 0,
                histogram,
                ..Interval::default()
            });
            start_offset_ns += length_ns;
        }
        Run::from_record(&record, "scheduled_to_woke", None)
    }

    fn lengths(run: &Run) -> Vec<u64> {
        run.pieces.iter().map(|piece| piece.length_ns / 1_000_000_000).collect()
    }

    #[test]
    fn pieces_of_both_sides_are_equally_long() {
        let (mut a, mut b) = (vec![run(&[1, 1, 1, 1, 1, 1, 1])], vec![run(&[3, 3, 3, 1])]);
        assert_eq!(cut_alike(&mut [&mut a, &mut b]), 3_000_000_000);
        assert_eq!(lengths(&a[0]), [3, 4], "a rest shorter than half joins the one before");
        assert_eq!(lengths(&b[0]), [3, 3, 4]);
    }

    #[test]
    fn threads_of_one_time_are_one_piece_and_no_sample_is_lost() {
        let mut record = record_of(Measurement::Wakeup, &[5_000, 7_000]);
        for (start_offset_ns, value) in [(0, 5_000), (1_000, 7_000)] {
            let mut histogram = Histogram::new();
            histogram.record_n(value, 1);
            record.series[0].intervals.push(Interval {
                start_offset_ns,
                length_ns: 1_000,
                missed_periods: 0,
                histogram,
                ..Interval::default()
            });
        }
        record.series.push(record.series[0].clone());
        let run = Run::from_record(&record, "scheduled_to_woke", None);
        assert_eq!(run.pieces.iter().map(|piece| piece.histogram.count()).collect::<Vec<_>>(), [2, 2]);
        // Intervals that do not hold every sample cannot be trusted to stand for them.
        record.series[0].intervals.pop();
        assert_eq!(Run::from_record(&record, "scheduled_to_woke", None).pieces.len(), 1);
    }

    #[test]
    fn a_skipped_schedule_is_as_late_as_a_thread_that_wakes_there() {
        let mut histogram = Histogram::new();
        histogram.record_n(1_050_000, 10);
        histogram.record_n(5_300_000, 3);
        // 1.05 ms at 200 us skips five schedules, late by 850, 650, 450, 250 and 50 us.
        assert_eq!(skipped_beyond(&histogram, 200_000, 300_000), 10 * 3 + 3 * 24);
        // Of 5.3 ms only the first skipped one is late by more than 5 ms, and none of 1.05 ms.
        assert_eq!(skipped_beyond(&histogram, 200_000, 5_000_000), 3);
        assert_eq!(skipped_beyond(&histogram, 200_000, 5_200_000), 0);
        assert_eq!(skipped_beyond(&histogram, 200_000, 0), 10 * 5 + 3 * 26);
    }

    #[test]
    fn a_long_run_keeps_a_bounded_number_of_pieces() {
        let run = run(&vec![1; 1_000]);
        assert_eq!(run.pieces.len(), 200);
        assert_eq!(units::total(run.pieces.iter().map(|piece| piece.histogram.count())), 1_000);
    }
}
