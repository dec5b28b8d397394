//! What the clocks of several nodes leave of a prediction of delays between them.

use record::{Record, Uncertainty};
use units::format::latency;

use super::claim::{Claim, ClaimAnswer, ClaimState};
use super::refusal::{Refusal, RefusalCode};

/// The largest error of a latency of runs between nodes; of a run of another program's, whose latency has another name, that of
/// all. `None` where all was measured on one node.
pub(super) fn error(records: &[&Record], latency_name: &str) -> Option<Uncertainty> {
    let between_nodes = records.iter().filter(|record| record.nodes.iter().count() > 1);
    let series = between_nodes.flat_map(|record| {
        let is_named = record.series.iter().any(|series| series.name == latency_name);
        record.series.iter().filter(move |series| !is_named || series.name == latency_name)
    });
    let of_intervals = series.clone().flat_map(|series| &series.intervals).filter_map(|one| one.uncertainty);
    series.filter_map(|series| series.uncertainty).chain(of_intervals).reduce(Uncertainty::widest)
}

/// Why nothing is predicted where nothing is known of that error.
pub(super) fn refusal(error: Option<Uncertainty>) -> Option<Refusal> {
    error.is_some_and(Uncertainty::is_unknown).then(|| Refusal {
        code: RefusalCode::ClocksUnknown,
        reason: "Nothing is known of the error of the nodes' clocks, so nothing of how long the delays were."
            .to_owned(),
        more_ns: None,
        remedy: "Measure with 'punctual packet', whose delays have a bound on their error; more hours would not help."
            .to_owned(),
    })
}

/// The note about it.
pub(super) fn note(error: Option<Uncertainty>) -> Option<String> {
    let Uncertainty { below_ns, above_ns, .. } = error.filter(|error| !error.is_unknown())?;
    (below_ns > 0 || above_ns > 0).then(|| {
        format!(
            "The clocks of the nodes leave each delay open: it was at most {} longer and {} shorter than it seems, and so is every \
             figure here.",
            latency(above_ns),
            latency(below_ns)
        )
    })
}

/// The answer to a claim stands only if it is the same for delays that were longer, or shorter, by their error: a limit that is
/// lower by it is shown too, or one that is higher is broken too.
pub(super) fn answer(error: Option<Uncertainty>, claim: Claim, ask: impl Fn(Claim) -> ClaimAnswer) -> ClaimAnswer {
    let mut answered = ask(claim);
    let Some(Uncertainty { below_ns, above_ns, .. }) = error else { return answered };
    let (limit_ns, words) = match answered.state {
        ClaimState::Shown => {
            (claim.limit_ns.saturating_sub(above_ns), format!("by up to {} longer", latency(above_ns)))
        }
        ClaimState::Broken => {
            (claim.limit_ns.saturating_add(below_ns), format!("by up to {} shorter", latency(below_ns)))
        }
        _ => return answered,
    };
    let is_open = limit_ns == 0 || ask(Claim { limit_ns, ..claim }).state != answered.state;
    if is_open && limit_ns != claim.limit_ns {
        answered.sentence = format!(
            "Cannot be told: the clocks of the nodes decide it, by which the delays can be {words} than they seem. As they seem: {}",
            answered.sentence
        );
        answered.state = ClaimState::CannotBeTold;
    }
    answered
}
