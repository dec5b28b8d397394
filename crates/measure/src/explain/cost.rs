//! What explaining costs: the run's own threads, on its own CPUs and beside its load, without and with the recorder.
//!
//! Measured right before the run and not within it: to load and unload programs changes code that every CPU runs, which
//! a measured CPU would feel.

use record::{End, ExplainingCost, Histogram, Record, WakeupRequest};
use units::{Ns, approx_f64};

use crate::context::RunContext;
use crate::live::Silent;
use crate::machine::Machine;
use crate::stop::Stop;
use crate::wakeup::{Armed, Beside, Plan};
use record::{EvidenceSource, ExplainRequest};

/// A fortieth of the run, for each of four pieces.
const SHARE: i64 = 40;
/// Bounds of a piece.
const LEAST: Ns = Ns(250_000_000);
const MOST: Ns = Ns(2_000_000_000);

/// How long one of the four pieces takes for a run that is asked for so.
fn piece(end: End) -> Ns {
    match end {
        End::After(duration) => Ns(duration.0 / SHARE).clamp(LEAST, MOST),
        End::Samples(_) | End::WhenTold => LEAST,
    }
}

/// How long [`affordable`] measures for a run of this configuration if its first source of evidence is not too dear; zero without
/// explaining.
#[must_use]
pub fn affordable_takes(config: &WakeupRequest) -> Ns {
    config.explain.map_or(Ns::ZERO, |_| Ns(4 * piece(config.end).0))
}

/// The best source of evidence that does not cost more than it may, and its cost: of the kernel's events, which can, only
/// counters are left. Where they were asked for they stay.
#[must_use]
pub fn affordable(
    config: &WakeupRequest,
    machine: &Machine,
    stop: &Stop,
) -> (Option<ExplainRequest>, Option<ExplainingCost>) {
    let Some(explain) = config.explain else { return (None, None) };
    match four_runs(config, machine, stop) {
        Some((cost, EvidenceSource::Events)) if explain.source.is_none() && is_dear(&cost) => {
            let counters = ExplainRequest { source: Some(EvidenceSource::Counters), events_are_dear: true, ..explain };
            let config = WakeupRequest { explain: Some(counters), ..config.clone() };
            (config.explain, measure_cost(&config, machine, stop))
        }
        measured => (Some(explain), measured.map(|(cost, _)| cost)),
    }
}

/// Four short runs: without, with, with, without. `None` where one does not come about; then the cost is not known.
#[must_use]
pub fn measure_cost(config: &WakeupRequest, machine: &Machine, stop: &Stop) -> Option<ExplainingCost> {
    four_runs(config, machine, stop).map(|(cost, _)| cost)
}

fn four_runs(config: &WakeupRequest, machine: &Machine, stop: &Stop) -> Option<(ExplainingCost, EvidenceSource)> {
    let mut source = None;
    let mut run = |explain: bool| -> Option<Record> {
        let config = WakeupRequest {
            end: End::After(piece(config.end)),
            align_to: None,
            breaktrace: None,
            linear_bins: None,
            scan_rhythms: false,
            explain: config.explain.filter(|_| explain),
            ..config.clone()
        };
        let armed = Armed::new(Plan::new(config, machine).ok()?, stop).ok()?;
        if explain {
            source = Some(armed.recorder.as_ref()?.source());
        }
        Some(armed.run(&RunContext::default(), stop, &mut Silent, Beside::default()).record)
            .filter(|_| !stop.ended_early())
    };
    let pieces: [Histogram; 4] = [run(false)?, run(true)?, run(true)?, run(false)?].map(|record| all(&record));
    Some((cost_of_pieces(&pieces)?, source?))
}

fn all(record: &Record) -> Histogram {
    let mut all = Histogram::new();
    record.series.iter().for_each(|series| all.merge(&series.histogram));
    all
}

/// The cost by four pieces: without, with, with, without; `None` where one of them has no sample.
pub(crate) fn cost_of_pieces(pieces: &[Histogram; 4]) -> Option<ExplainingCost> {
    let [first, second, third, fourth] = pieces;
    let both = |one: &Histogram, other: &Histogram| {
        let mut both = one.clone();
        both.merge(other);
        both
    };
    let (without, with) = (both(first, fourth), both(second, third));
    let differ = |one: &Histogram, other: &Histogram| Some((one.mean_ns()? - other.mean_ns()?).abs());
    Some(ExplainingCost {
        median_without_ns: without.quantile_ns(0.5)?,
        median_with_ns: with.quantile_ns(0.5)?,
        mean_without_ns: without.mean_ns()?,
        mean_with_ns: with.mean_ns()?,
        mean_differs_ns: differ(first, fourth)?.max(differ(second, third)?),
        samples: (without.count() + with.count()) / 2,
    })
}

/// Whether it costs more than it may: a tenth of the median, or a microsecond of the mean beyond what equal pieces
/// differ by.
#[must_use]
pub(crate) fn is_dear(cost: &ExplainingCost) -> bool {
    let median_ns = approx_f64(cost.median_with_ns.saturating_sub(cost.median_without_ns));
    median_ns > 0.1 * approx_f64(cost.median_without_ns)
        || cost.mean_with_ns - cost.mean_without_ns > 1_000.0 + cost.mean_differs_ns
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(latencies_ns: [u64; 4]) -> ExplainingCost {
        cost_of_pieces(&latencies_ns.map(|ns| {
            let mut histogram = Histogram::new();
            histogram.record_n(ns, 100);
            histogram
        }))
        .unwrap()
    }

    #[test]
    fn the_cost_is_with_less_without_and_what_equal_pieces_differ_by_is_told() {
        let cost = pieces([8_000, 8_400, 8_400, 8_000]);
        assert_eq!((cost.median_without_ns, cost.samples), (8_000, 200));
        assert!(cost.median_with_ns.abs_diff(8_400) < 10, "{cost:?}");
        assert!(!is_dear(&cost));
        assert!(is_dear(&pieces([8_000, 9_000, 9_000, 8_000])), "an eighth of the median");
        assert!(is_dear(&pieces([50_000, 52_000, 52_000, 50_000])), "two microseconds");
        // Where equal pieces differ as much, nothing is shown of the mean.
        assert!(!is_dear(&pieces([50_000, 52_000, 50_000, 48_000])));
    }
}
