//! What explaining makes of the validity of a run.

use record::{CauseClass, Certainty, ExplainedSample, Explanation, ReasonCode, Validity};
use units::format;

use super::cost::is_dear;

/// Names what explaining costs, where that is more than it may; and a stop by a limit of the kernel's that a recording shows,
/// however short it was.
pub(crate) fn judge(explanation: &Explanation, validity: &mut Validity) {
    if let Some(cost) = explanation.cost.as_ref().filter(|cost| is_dear(cost)) {
        validity.add(
            ReasonCode::ExplainingCosts,
            format!(
                "median {} without, {} with it; mean {} and {}",
                format::latency(cost.median_without_ns),
                format::latency(cost.median_with_ns),
                format::latency(units::round_u64(cost.mean_without_ns)),
                format::latency(units::round_u64(cost.mean_with_ns)),
            ),
        );
    }
    let is_stop = |of: &&ExplainedSample| of.class == CauseClass::Throttle && of.certainty == Certainty::Shown;
    if let Some(stop) = explanation.samples.iter().find(is_stop).filter(|_| !validity.has(ReasonCode::RtThrottled)) {
        validity.add(ReasonCode::RtThrottled, format!("CPU {}: {}", stop.cpu, stop.evidence));
    }
}
