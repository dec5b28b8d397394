//! What the clocks of several nodes allow a comparison of delays to claim.
//!
//! A delay between two nodes is only as good as the comparison of their clocks. Whatever shifts all delays of a run alike, within
//! the error that its record states, would look like a difference between two runs. So no difference is claimed that is not
//! larger than the errors of both sides together.

use record::{Record, Uncertainty};
use units::approx_f64;

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
    use crate::tests_support::record_of;

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
        assert!(rates.verdict.reason.contains("nothing is known of"), "{}", rates.verdict.reason);
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
}
