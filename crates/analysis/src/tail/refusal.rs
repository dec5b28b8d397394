//! Reasons for refusing a prediction, with a remedy and whether a longer run would help.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::format::span;

/// Why a prediction is refused; the most serious reason comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RefusalCode {
    /// A run is invalid: its numbers do not measure what was requested.
    InvalidRun,
    /// The delays are between nodes, and nothing is known of the error of their clocks.
    ClocksUnknown,
    /// The records of the runs hold no intervals.
    NoIntervals,
    /// So many maxima are equal that a fit would describe the steps of the clock.
    CoarseClock,
    /// The process changed during the run.
    NotStationary,
    /// A periodic disturbance repeats too few times within the run.
    TooFewTurns,
    /// The worst intervals are close together in one part of the run.
    IsolatedCluster,
    /// There are too few maxima, or too few independent ones.
    TooFewMaxima,
    /// The maxima come from more than one distribution.
    TwoRegimes,
    /// The tail falls so slowly that no upper bound is reliable.
    HeavyTail,
    /// The fits to the maxima and to the peaks give different answers.
    FitsDisagree,
    /// The future time span is too long for a run of this length.
    HorizonTooFar,
    /// The prediction interval would be too wide to be useful.
    TooWide,
}

impl RefusalCode {
    /// A short name for tables.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::InvalidRun => "invalid run",
            Self::ClocksUnknown => "clocks unknown",
            Self::NoIntervals => "no intervals",
            Self::CoarseClock => "coarse clock",
            Self::NotStationary => "not stationary",
            Self::TooFewTurns => "too few turns",
            Self::IsolatedCluster => "isolated cluster",
            Self::TooFewMaxima => "too few maxima",
            Self::TwoRegimes => "two regimes",
            Self::HeavyTail => "heavy tail",
            Self::FitsDisagree => "fits disagree",
            Self::HorizonTooFar => "horizon too far",
            Self::TooWide => "too wide",
        }
    }

    /// Whether the order in time is unsound or unknown, so that even the bound without a model does not hold.
    pub(super) const fn is_of_order(self) -> bool {
        matches!(
            self,
            Self::InvalidRun
                | Self::ClocksUnknown
                | Self::NoIntervals
                | Self::NotStationary
                | Self::TooFewTurns
                | Self::IsolatedCluster
        )
    }
}

/// One reason why a prediction is refused, with its remedy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Refusal {
    /// Code of the reason.
    pub code: RefusalCode,
    /// What was observed, in a sentence.
    pub reason: String,
    /// How much longer a run probably has to be for an answer (ns); absent if that is unknown or would not help.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more_ns: Option<u64>,
    /// What to do, in a sentence.
    pub remedy: String,
}

impl Refusal {
    /// The reason and the remedy.
    #[must_use]
    pub fn words(&self) -> String {
        format!("{} {}", self.reason, self.remedy)
    }
}

/// Makes what the reasons of one run say of a longer one agree. It is known to help if each of them says so, and then it has
/// to be as long as the one that takes longest asks for. Otherwise nothing is promised and nothing ruled out: with too few turns
/// or maxima, what these say of their kind and of the tail is not certain either.
pub(super) fn agree(refusals: &mut [Refusal]) {
    let all: Vec<u64> = refusals.iter().filter_map(|refusal| refusal.more_ns).collect();
    let is_known = all.len() == refusals.len();
    let most = all.iter().copied().max();
    for refusal in refusals.iter_mut().filter(|_| !all.is_empty()) {
        match (refusal.more_ns.take(), refusal.code) {
            (Some(_), _) if is_known => {
                refusal.more_ns = most;
                refusal.remedy = more_words(most, "");
            }
            (Some(more_ns), _) => {
                refusal.remedy = format!(
                    "That takes about {} more of the same; whether it would do is not known, by what else stands against it.",
                    span(more_ns)
                );
            }
            (None, RefusalCode::TwoRegimes) => refusal.remedy = FIND_IN_COMMON.to_owned(),
            (None, RefusalCode::HeavyTail) => refusal.remedy = "Find what makes the worst of them.".to_owned(),
            (None, _) => {}
        }
    }
}

/// What helps where the maxima are of two kinds.
pub(super) const FIND_IN_COMMON: &str =
    "Find what the worse ones have in common (their time, their CPU, what ran), and remove or measure it by itself.";

/// How much longer to measure, or why that would not help.
pub(super) fn more_words(more_ns: Option<u64>, otherwise: &str) -> String {
    more_ns.map_or_else(|| otherwise.to_owned(), |ns| format!("About {} more of the same would probably do.", span(ns)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_reason_promises_what_another_denies() {
        let refusal = |code, more_ns| Refusal {
            code,
            reason: String::new(),
            more_ns,
            remedy: more_words(more_ns, "More hours alone would not help."),
        };
        let agreed = |second: Option<u64>| {
            let mut both =
                [refusal(RefusalCode::TooFewMaxima, Some(5_000_000_000)), refusal(RefusalCode::HeavyTail, second)];
            agree(&mut both);
            both.map(|one| (one.more_ns, one.remedy))
        };
        let longer = "About 10 s more of the same would probably do.".to_owned();
        assert_eq!(
            agreed(Some(10_000_000_000)),
            [(Some(10_000_000_000), longer.clone()), (Some(10_000_000_000), longer)]
        );
        let [few, heavy] = agreed(None);
        let said =
            "That takes about 5 s more of the same; whether it would do is not known, by what else stands against it.";
        assert_eq!((few.0, few.1.as_str()), (None, said));
        assert_eq!(heavy.1, "Find what makes the worst of them.", "nor is it ruled out");
        let mut alone = [refusal(RefusalCode::HeavyTail, None)];
        agree(&mut alone);
        assert_eq!(alone[0].remedy, "More hours alone would not help.");
    }
}
