//! What the clocks of several nodes allow a comparison of delays to claim.
//!
//! A delay between two nodes is only as good as the comparison of their clocks. Whatever shifts all delays of a run alike, within
//! the error that its record states, would look like a difference between two runs. So no difference is claimed that is not
//! larger than the errors of both sides together.

use record::{Histogram, Record, Series, Uncertainty};
use units::approx_f64;

use super::Group;

/// The error of a group's delays, on average over their samples (ns); 0 where all points were taken on one node, and no two
/// clocks had to be compared; infinite where nothing is known of the error of some.
pub(super) fn error_ns(runs: &[&Record], latency: &str) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for run in runs.iter().filter(|run| run.nodes.iter().count() > 1) {
        for series in run.series.iter().filter(|series| series.name == latency) {
            let of = |uncertainty: Option<Uncertainty>| match uncertainty {
                Some(one) if one.is_unknown() => f64::INFINITY,
                Some(one) => approx_f64(one.below_ns.max(one.above_ns)),
                None => 0.0,
            };
            let in_pieces = series.intervals.iter().any(|one| one.uncertainty.is_some());
            if in_pieces {
                for interval in &series.intervals {
                    let samples = approx_f64(interval.taken());
                    if samples == 0.0 {
                        continue;
                    }
                    sum += samples * of(interval.uncertainty.or(series.uncertainty));
                    count += samples;
                }
            } else {
                let samples = approx_f64(series.taken());
                if samples == 0.0 {
                    continue;
                }
                sum += samples * of(series.uncertainty);
                count += samples;
            }
        }
    }
    if count > 0.0 { sum / count } else { 0.0 }
}

/// Which way the errors of the clocks are taken to have gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Truth {
    /// Every delay was as short as its error allows.
    Shortest,
    /// Every delay was as long as its error allows.
    Longest,
}

/// The runs of two groups as they were if the clocks had been against a claim.
#[derive(Debug)]
pub(super) struct Against {
    runs: [Vec<Record>; 2],
}

impl Against {
    /// Against the claim that B's delays are longer than A's (`1`), or shorter (`-1`).
    pub(super) fn claim(direction: i8, [a, b]: [&Group<'_>; 2], latency: &str) -> Self {
        let (of_a, of_b) =
            if direction > 0 { (Truth::Longest, Truth::Shortest) } else { (Truth::Shortest, Truth::Longest) };
        let all = |group: &Group<'_>, truth| group.runs.iter().map(|run| moved(run, latency, truth)).collect();
        Self { runs: [all(a, of_a), all(b, of_b)] }
    }

    pub(super) fn groups(&self) -> [Group<'_>; 2] {
        [0, 1].map(|side| Group { name: String::new(), runs: self.runs[side].iter().collect() })
    }
}

/// A run with every delay moved to one end of its error, interval by interval.
fn moved(run: &Record, latency: &str, truth: Truth) -> Record {
    let mut run = run.clone();
    if run.nodes.iter().count() == 1 {
        return run;
    }
    for series in run.series.iter_mut().filter(|series| series.name == latency) {
        move_series(series, truth);
    }
    run
}

fn move_series(series: &mut Series, truth: Truth) {
    let by_ns = |uncertainty: Option<Uncertainty>| {
        let ns = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
        uncertainty.map_or(0, |one| match truth {
            Truth::Shortest => -ns(one.below_ns),
            Truth::Longest => ns(one.above_ns),
        })
    };
    let whole = series.uncertainty;
    let mut all = (Histogram::new(), Histogram::new());
    for interval in &mut series.intervals {
        let by_ns = by_ns(interval.uncertainty.or(whole));
        let (above, below) = moved_samples(&interval.histogram, interval.below_zero.as_ref(), by_ns);
        all.0.merge(&above);
        all.1.merge(&below);
        (interval.histogram, interval.below_zero) = (above, (!below.is_empty()).then_some(below));
    }
    // Without intervals that hold every sample, all of them have the error of the whole.
    if all.0.count().saturating_add(all.1.count()) != series.taken() {
        all = moved_samples(&series.histogram, series.below_zero.as_ref(), by_ns(whole));
    }
    (series.histogram, series.below_zero) = (all.0, (!all.1.is_empty()).then_some(all.1));
}

/// Moves every sample of a latency.
pub(super) fn move_all(run: &mut Record, latency: &str, by_ns: i64) {
    for series in run.series.iter_mut().filter(|series| series.name == latency) {
        let unplaced = series.histogram.unplaced();
        let mean_ns = series.histogram.mean_ns();
        (series.histogram, series.below_zero) = {
            let (above, below) = moved_samples(&series.histogram, series.below_zero.as_ref(), by_ns);
            (above, (!below.is_empty()).then_some(below))
        };
        if let Some((unplaced, mean_ns)) = unplaced.zip(mean_ns) {
            let from_ns = unplaced.from_ns.saturating_add_signed(by_ns);
            series.histogram.add_unplaced(record::Unplaced { from_ns, ..unplaced });
            let moved_ns = (mean_ns + units::approx_f64_i64(by_ns)).max(0.0);
            series.histogram.set_sum_ns(units::round_u64(moved_ns * approx_f64(series.histogram.count())));
        }
        for interval in &mut series.intervals {
            let (above, below) = moved_samples(&interval.histogram, interval.below_zero.as_ref(), by_ns);
            (interval.histogram, interval.below_zero) = (above, (!below.is_empty()).then_some(below));
        }
    }
}

/// Samples from zero on and those below, later by `by_ns`; to the width of a bin, but the largest and the smallest exactly.
fn moved_samples(above: &Histogram, below: Option<&Histogram>, by_ns: i64) -> (Histogram, Histogram) {
    let mut moved = (Histogram::new(), Histogram::new());
    let mut take = |ns: i64, count: u64| {
        let ns = ns.saturating_add(by_ns);
        let side = if ns < 0 { &mut moved.1 } else { &mut moved.0 };
        side.record_n(ns.unsigned_abs(), count);
    };
    for (histogram, sign) in [(Some(above), 1), (below, -1)] {
        let Some(histogram) = histogram else { continue };
        let extremes = (histogram.min_ns(), histogram.max_ns());
        for bin in histogram.bins() {
            let ns = if extremes.1 == Some(bin.to_ns) {
                bin.to_ns
            } else if extremes.0 == Some(bin.from_ns) {
                bin.from_ns
            } else {
                u64::midpoint(bin.from_ns, bin.to_ns)
            };
            take(i64::try_from(ns).unwrap_or(i64::MAX).saturating_mul(sign), bin.count);
        }
    }
    moved
}

/// The sentence about it; `None` where no two clocks were compared.
pub(super) fn note(errors_ns: [f64; 2]) -> Option<String> {
    let [a, b] = errors_ns;
    let words = |ns: f64| units::format::latency(units::round_u64(ns));
    let sides = match (a.is_infinite(), b.is_infinite()) {
        (true, true) => "either side",
        (true, false) => "side A",
        (false, true) => "side B",
        (false, false) => "",
    };
    if !sides.is_empty() {
        return Some(format!(
            "Nothing is known of the error of the nodes' clocks on {sides}: no difference is claimed, since the clocks alone could \
             make any. 'punctual packet' measures delays with a bound on their error."
        ));
    }
    (a + b > 0.0).then(|| {
        format!(
            "The delays carry the error of the nodes' clocks, on average at most {} on side A and {} on side B: no difference up \
             to {} is claimed, since the clocks alone could make it.",
            words(a),
            words(b),
            words(a + b)
        )
    })
}

#[cfg(test)]
mod tests {
    use record::{Direction, Measurement, Node, Nodes, Place};

    use super::*;
    use crate::compare::{
        CompareOptions, ComparisonState, Gate, GateAnswer, GateKind, GatePart, GateSize, Group, compare, gate,
    };
    use samples::record_of;

    /// Delays between two nodes that are as wrong as stated.
    fn delays(first_ns: u64, error_ns: u64) -> Record {
        let all: Vec<u64> = (0..20_000).map(|n| first_ns + n * 7_919 % 1_000).collect();
        let mut record = record_of(Measurement::Packet, &all);
        let mut nodes: Vec<Node> = record.nodes.clone().into();
        nodes.push(Node { name: "other".to_owned(), ..nodes[0].clone() });
        record.nodes = Nodes::try_from(nodes).unwrap();
        let uncertainty = Some(Uncertainty { below_ns: error_ns, above_ns: error_ns, spread_ns: None });
        for series in &mut record.series {
            series.name = "sent_to_received".to_owned();
            series.place = Place::Flow { flow: 0, direction: Direction::Received, queue: None };
            series.uncertainty = uncertainty;
        }
        record.id = format!("{first_ns}-{error_ns}");
        record
    }

    fn with<T>(error_ns: u64, b_first_ns: u64, ask: impl Fn(&Group<'_>, &Group<'_>) -> T) -> T {
        let make = |first_ns: u64| -> Vec<Record> {
            (0..8).map(|n| Record { id: format!("{first_ns}-{n}"), ..delays(first_ns + n * 3, error_ns) }).collect()
        };
        let (a, b) = (make(20_000), make(b_first_ns));
        let [a, b] = [&a, &b].map(|runs| Group { name: String::new(), runs: runs.iter().collect() });
        ask(&a, &b)
    }

    fn state(error_ns: u64) -> (ComparisonState, Vec<String>) {
        let compared = with(error_ns, 12_000, |a, b| compare(a, b, &CompareOptions::default()).unwrap());
        (compared.verdict.state, compared.notes)
    }

    #[test]
    fn where_nothing_is_known_of_the_clocks_neither_a_difference_nor_its_absence_is_claimed() {
        const UNKNOWN_NS: u64 = u64::MAX;
        let (state, notes) = state(UNKNOWN_NS);
        assert_eq!(state, ComparisonState::NoDifferenceShown, "8 us with errors of which nothing is known");
        assert!(notes.iter().any(|note| note.contains("on either side: no difference is claimed")), "{notes:?}");
        // Rates beyond a deadline rest on the same clocks.
        let deadline = CompareOptions { deadline_ns: Some(20_300), ..CompareOptions::default() };
        let rates = with(UNKNOWN_NS, 12_000, |a, b| compare(a, b, &deadline).unwrap());
        assert_eq!(rates.verdict.state, ComparisonState::NoDifferenceShown, "{}", rates.verdict.reason);
        assert!(rates.verdict.reason.contains("nothing is known"), "{}", rates.verdict.reason);
        let known = with(0, 12_000, |a, b| compare(a, b, &deadline).unwrap());
        assert_eq!(known.verdict.state, ComparisonState::Better, "{}", known.verdict.reason);
        for kind in [GateKind::FailOnWorse, GateKind::PassOnNotWorse] {
            let asked = Gate { kind, part: GatePart::WorstCase, size: Some(GateSize::Ns(5_000)) };
            let answer = |error_ns, b_ns| {
                with(error_ns, b_ns, |a, b| gate(a, b, &CompareOptions::default(), &asked).unwrap().answer)
            };
            assert_eq!(answer(0, 12_000), GateAnswer::Holds, "{kind:?}");
            assert_eq!(answer(UNKNOWN_NS, 12_000), GateAnswer::CannotTell, "{kind:?}");
            assert_eq!(answer(UNKNOWN_NS, 40_000), GateAnswer::CannotTell, "{kind:?}");
        }
    }

    #[test]
    fn a_difference_within_the_error_of_the_clocks_is_not_claimed() {
        let (exact, notes) = state(0);
        assert_eq!(exact, ComparisonState::Better);
        assert!(!notes.iter().any(|note| note.contains("clocks")), "{notes:?}");
        assert_eq!(state(1_000).0, ComparisonState::Better, "8 us are more than 2 us");
        let (wide, notes) = state(5_000);
        assert_eq!(wide, ComparisonState::NoDifferenceShown, "8 us are less than 10 us");
        assert!(notes.iter().any(|note| note.contains("no difference up to 10.0 us")), "{notes:?}");
    }

    #[test]
    fn rates_beyond_a_deadline_are_not_told_apart_where_the_clocks_could_make_them() {
        // All of A's delays are beyond it, from 20 us on, and none of B's, from 12 us on.
        let deadline = CompareOptions { deadline_ns: Some(16_000), ..CompareOptions::default() };
        let verdict = |error_ns| with(error_ns, 12_000, |a, b| compare(a, b, &deadline).unwrap().verdict);
        assert_eq!(verdict(0).state, ComparisonState::Better);
        assert_eq!(verdict(1_000).state, ComparisonState::Better, "8 us are more than 2 us");
        let wide = verdict(5_000);
        assert_eq!(wide.state, ComparisonState::NoDifferenceShown, "8 us are less than 10 us: {}", wide.reason);
        assert!(wide.reason.contains("were the errors of the clocks against it"), "{}", wide.reason);
    }

    #[test]
    fn the_error_at_the_worst_packets_counts_and_not_that_of_all() {
        // Delays of 20 us; in one interval of ten the clocks are wrong by 50 us, and there are B's worst ones.
        let spoilt = |record: &mut Record| {
            for series in &mut record.series {
                let mut histogram = Histogram::new();
                histogram.record_n(60_000, 10);
                series.histogram.merge(&histogram);
                let wrong = Some(Uncertainty { below_ns: 50_000, above_ns: 50_000, spread_ns: None });
                let last = series.intervals.last_mut().unwrap();
                last.histogram.merge(&histogram);
                last.uncertainty = wrong;
                series.uncertainty = wrong;
            }
        };
        let state = |is_spoilt: bool| {
            let make = |is_b: bool| -> Vec<Record> {
                let of = |n: u64| {
                    let mut record = Record { id: format!("{is_b}-{n}"), ..delays(20_000 + n, 100) };
                    for series in &mut record.series {
                        let mut part = series.histogram.clone();
                        let uncertainty = series.uncertainty;
                        series.intervals = (0..10)
                            .map(|at| record::Interval {
                                start_offset_ns: at * 1_000_000_000,
                                length_ns: 1_000_000_000,
                                histogram: std::mem::take(&mut part),
                                uncertainty,
                                ..record::Interval::default()
                            })
                            .collect();
                        series.intervals[9].histogram.record_n(20_500, 1);
                        series.histogram.record_n(20_500, 1);
                    }
                    if is_b {
                        spoilt(&mut record);
                    }
                    if !is_spoilt {
                        let right = Some(Uncertainty { below_ns: 100, above_ns: 100, spread_ns: None });
                        for series in &mut record.series {
                            series.uncertainty = right;
                            series.intervals.iter_mut().for_each(|one| one.uncertainty = right);
                        }
                    }
                    record
                };
                (0..8).map(of).collect()
            };
            let (a, b) = (make(false), make(true));
            let [a, b] = [&a, &b].map(|runs| Group { name: String::new(), runs: runs.iter().collect() });
            compare(&a, &b, &CompareOptions::default()).unwrap().verdict.worst_case
        };
        assert_eq!(state(false), crate::compare::PartState::Worse);
        assert_eq!(state(true), crate::compare::PartState::CannotTell);
    }

    #[test]
    fn a_gate_is_answered_only_where_the_clocks_leave_no_other_answer() {
        let ask = |kind, part, size_ns: Option<u64>, error_ns, b_ns| {
            let asked = Gate { kind, part, size: size_ns.map(GateSize::Ns) };
            with(error_ns, b_ns, |a, b| gate(a, b, &CompareOptions::default(), &asked).unwrap())
        };
        use GateAnswer::{Broken, CannotTell, Holds};
        use GateKind::{FailOnWorse, PassOnNotWorse};
        for part in [GatePart::WorstCase, GatePart::Body] {
            // B is 20 us later than A.
            assert_eq!(ask(FailOnWorse, part, Some(5_000), 0, 40_000).answer, Broken);
            assert_eq!(ask(FailOnWorse, part, Some(5_000), 5_000, 40_000).answer, Broken, "by 10 us at the least");
            let told = ask(FailOnWorse, part, Some(5_000), 8_000, 40_000);
            assert_eq!(told.answer, CannotTell, "perhaps by 4 us alone");
            assert!(told.reason.starts_with("the clocks of the nodes decide this"), "{}", told.reason);
            // Both are alike.
            for kind in [FailOnWorse, PassOnNotWorse] {
                assert_eq!(ask(kind, part, Some(5_000), 0, 20_001).answer, Holds, "{kind:?} {part:?}");
                assert_eq!(ask(kind, part, Some(5_000), 2_000, 20_001).answer, Holds, "{kind:?} {part:?}");
                assert_eq!(ask(kind, part, Some(5_000), 3_000, 20_001).answer, CannotTell, "{kind:?} {part:?}");
            }
        }
    }

    #[test]
    fn samples_move_across_zero_and_none_is_lost() {
        let histogram = |values: &[u64]| {
            let mut histogram = Histogram::new();
            values.iter().for_each(|ns| histogram.record_n(*ns, 1));
            histogram
        };
        let (above, below) = moved_samples(&histogram(&[10, 200]), Some(&histogram(&[5, 300])), 100);
        assert_eq!((above.count(), above.min_ns(), above.max_ns()), (3, Some(95), Some(300)));
        assert_eq!((below.count(), below.max_ns()), (1, Some(200)));
        let (above, below) = moved_samples(&histogram(&[10, 200]), None, -100);
        assert_eq!((above.max_ns(), below.max_ns()), (Some(100), Some(90)));
    }
}
