//! What explaining costs: the run's own threads, on its own CPUs and beside its load, without and with the recorder.
//!
//! Measured right before the run and not within it: to load and unload programs changes code that every CPU runs, which
//! a measured CPU would feel.

use record::{EvidenceSource, ExplainRequest, ExplainingCost, Histogram, Record, RunEnd, WakeupRequest};
use units::Ns;

use super::{Armed, Beside, Plan};
use crate::context::RunContext;
use crate::explain::{cost_of_pieces, is_dear};
use crate::live::Silent;
use crate::machine::Machine;
use crate::stop::Stop;

/// A fortieth of the run, for each of four pieces.
const SHARE: i64 = 40;
/// Bounds of a piece.
const LEAST: Ns = Ns(250_000_000);
const MOST: Ns = Ns(2_000_000_000);

/// How long one of the four pieces takes for a run that is asked for so.
fn piece(end: RunEnd) -> Ns {
    match end {
        RunEnd::After(duration) => Ns(duration.0 / SHARE).clamp(LEAST, MOST),
        RunEnd::Samples(_) | RunEnd::WhenTold => LEAST,
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
    match cost_of_source(config, machine, stop) {
        Some(of) if of.source == EvidenceSource::Events && explain.source.is_none() && of.is_dear => {
            let counters = ExplainRequest { source: Some(EvidenceSource::Counters), events_are_dear: true, ..explain };
            let config = WakeupRequest { explain: Some(counters), ..config.clone() };
            (config.explain, measure_cost(&config, machine, stop))
        }
        measured => (Some(explain), measured.map(|of| of.cost)),
    }
}

/// What the best source of evidence of this machine costs, and whether that is more than it may.
#[derive(Clone, Debug, PartialEq)]
pub struct CostOfSource {
    /// Where the evidence comes from.
    pub source: EvidenceSource,
    /// What that costs.
    pub cost: ExplainingCost,
    /// Whether it costs more than a tenth of the median, or a microsecond of the mean beyond what equal runs differ by.
    pub is_dear: bool,
    /// Sources that would give better evidence, with what each of them needs.
    pub missing: Vec<String>,
}

/// Four short runs: without, with, with, without. `None` where one does not come about; then the cost is not known.
#[must_use]
pub fn measure_cost(config: &WakeupRequest, machine: &Machine, stop: &Stop) -> Option<ExplainingCost> {
    cost_of_source(config, machine, stop).map(|of| of.cost)
}

/// Which source of evidence a run of this configuration would take, and what that costs by four short runs: without, with, with,
/// without. `None` where one of them does not come about, or nothing is to be explained.
#[must_use]
pub fn cost_of_source(config: &WakeupRequest, machine: &Machine, stop: &Stop) -> Option<CostOfSource> {
    let mut source = None;
    let mut missing = Vec::new();
    let mut run = |explain: bool| -> Option<Record> {
        let config = WakeupRequest {
            end: RunEnd::After(piece(config.end)),
            align_to: None,
            breaktrace: None,
            scan_rhythms: false,
            explain: config.explain.filter(|_| explain),
            ..config.clone()
        };
        let armed = Armed::new(Plan::new(config, machine).ok()?, stop).ok()?;
        if explain {
            let recorder = armed.recorder.as_ref()?;
            (source, missing) = (Some(recorder.source()), recorder.missing());
        }
        Some(armed.run(&RunContext::default(), stop, &mut Silent, Beside::default()).record)
            .filter(|_| !stop.ended_early())
    };
    let pieces: [Histogram; 4] = [run(false)?, run(true)?, run(true)?, run(false)?].map(|record| all(&record));
    let cost = cost_of_pieces(&pieces)?;
    Some(CostOfSource { source: source?, is_dear: is_dear(&cost), missing, cost })
}

fn all(record: &Record) -> Histogram {
    let mut all = Histogram::new();
    record.series.iter().for_each(|series| all.merge(&series.histogram));
    all
}
