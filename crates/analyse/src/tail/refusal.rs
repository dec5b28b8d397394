//! Why no worst case is predicted: each kind with its reason in words, and whether a longer run would help.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why an answer is refused, the gravest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RefusalCode {
    /// A run is invalid: its numbers do not mean what was asked.
    InvalidRun,
    /// The runs keep no intervals.
    NoIntervals,
    /// So many maxima are equal that a fit would fit the clock's steps.
    CoarseClock,
    /// The process changed during the run.
    NotStationary,
    /// A disturbance that comes back, too few times within the run.
    TooFewTurns,
    /// The worst stand together in one place of the run.
    IsolatedCluster,
    /// Too few maxima, or too few independent ones.
    TooFewMaxima,
    /// The maxima are not of one kind.
    TwoRegimes,
    /// The tail may have no bound that can be relied on.
    HeavyTail,
    /// Maxima and peaks lead to different answers.
    FitsDisagree,
    /// The time to come is too long for this run.
    HorizonTooFar,
    /// The answer would be too wide to be of use.
    TooWide,
}

impl RefusalCode {
    /// A few words for tables.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::InvalidRun => "invalid run",
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

    /// Whether the order in time speaks against it, so that not even a bound without a model stands.
    pub(super) const fn is_of_order(self) -> bool {
        matches!(
            self,
            Self::InvalidRun | Self::NoIntervals | Self::NotStationary | Self::TooFewTurns | Self::IsolatedCluster
        )
    }
}

/// One reason for a refusal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Refusal {
    /// Kind of the reason.
    pub code: RefusalCode,
    /// What was seen, in a sentence.
    pub reason: String,
    /// How much longer a run would probably answer (ns); absent if that is unknown, or would not help.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more_ns: Option<u64>,
    /// What to do, in a sentence.
    pub remedy: String,
}

impl Refusal {
    /// What was seen and what to do.
    #[must_use]
    pub fn words(&self) -> String {
        format!("{} {}", self.reason, self.remedy)
    }
}
