//! Reasons for refusing a prediction, with a remedy and whether a longer run would help.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
