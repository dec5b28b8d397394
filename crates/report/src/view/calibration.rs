//! Truth against reading: what a calibration of the instrument found.

use schemars::JsonSchema;
use serde::Serialize;

use crate::Exact;

/// A calibration of the program itself: known delays went in, and these were read.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CalibrationView {
    /// The program that was calibrated, with its version.
    pub tool: String,
    /// The machine that it was calibrated on.
    pub machine: String,
    /// Whether everything is as it must be.
    pub passes: bool,
    /// One for each injected delay.
    pub rows: Vec<CalibrationRowView>,
    /// Everything else that had to hold.
    pub checks: Vec<CalibrationCheckView>,
}

/// Truth against reading of one injected delay.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CalibrationRowView {
    /// The boot of the guest that it comes from.
    pub boot: String,
    /// What else ran in that boot: `idle`, `load`.
    pub condition: String,
    /// What measured: `wakeup`, `noise`.
    pub measurement: String,
    /// What held the CPU: `irqs-off`, `hog`.
    pub kind: String,
    /// How long it was to last (ns).
    pub asked_length_ns: Exact,
    /// What was to be found, without the baseline (ns).
    pub truth_ns: Exact,
    /// What a wake-up takes by itself in this boot (ns).
    pub baseline_ns: Exact,
    /// What was read (ns); null where nothing was found.
    pub reading_ns: Option<Exact>,
    /// Reading minus truth and baseline (ns).
    pub difference_ns: Option<Exact>,
    /// The difference is no less than this (ns).
    pub least_ns: Exact,
    /// It is no more than this, but for exceptions (ns).
    pub most_ns: Exact,
    /// No exception is above this (ns).
    pub exception_ns: Exact,
    /// Missed periods, where the measurement counts them.
    pub missed: Option<CalibrationMissedView>,
    /// How it came out.
    pub outcome: CalibrationOutcomeView,
}

/// Missed periods of one reading.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CalibrationMissedView {
    /// What was counted.
    pub reading: Exact,
    /// The fewest that are right.
    pub least: Exact,
    /// The most that are right.
    pub most: Exact,
}

/// How one injected delay came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CalibrationOutcomeView {
    /// Found, within its bound.
    Within,
    /// Found, above its bound by no more than an exception may be.
    Exception,
    /// Found, and wrong.
    Outside,
    /// Not found.
    NotFound,
}

/// Something that had to hold beside the readings.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CalibrationCheckView {
    /// In which boot; empty for all together.
    pub boot: String,
    /// What.
    pub name: String,
    /// Whether it does.
    pub holds: bool,
    /// What was found.
    pub found: String,
}
