//! The results of a calibration of the instrument: injected delays compared with readings.

use schemars::JsonSchema;
use serde::Serialize;

use crate::exact::Exact;

/// A calibration of the program itself: known delays were injected, and the program measured them.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CalibrationView {
    /// The program that was calibrated, with its version.
    pub tool: String,
    /// The machine that it was calibrated on.
    pub machine: String,
    /// Whether the calibration passed.
    pub passes: bool,
    /// One row for each injected delay.
    pub rows: Vec<CalibrationRowView>,
    /// All other conditions of the calibration.
    pub checks: Vec<CalibrationCheckView>,
}

/// One injected delay and its reading.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CalibrationRowView {
    /// Name of the guest's boot in which the delay was injected.
    pub boot: String,
    /// Load in that boot: `idle`, `load`.
    pub condition: String,
    /// The measurement that read the delay: `wakeup`, `noise`.
    pub measurement: String,
    /// Kind of the delay, by what occupied the CPU: `irqs-off`, `hog`.
    pub kind: String,
    /// Requested length of the delay (ns).
    pub asked_length_ns: Exact,
    /// True delay of the measurement, without the baseline (ns).
    pub truth_ns: Exact,
    /// Latency of an undisturbed wake-up in this boot (ns).
    pub baseline_ns: Exact,
    /// The reading (ns); null if the delay was not found.
    pub reading_ns: Option<Exact>,
    /// Reading minus truth and baseline (ns).
    pub difference_ns: Option<Exact>,
    /// Lower bound of the difference (ns).
    pub least_ns: Exact,
    /// Upper bound of the difference (ns); exceptions may exceed it.
    pub most_ns: Exact,
    /// Upper bound of the difference for exceptions (ns).
    pub exception_ns: Exact,
    /// Missed periods; null if the measurement does not count them.
    pub missed: Option<CalibrationMissedView>,
    /// The outcome for this delay.
    pub outcome: CalibrationOutcomeView,
}

/// Missed periods of one reading.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CalibrationMissedView {
    /// Missed periods that were counted.
    pub reading: Exact,
    /// Smallest correct number.
    pub least: Exact,
    /// Largest correct number.
    pub most: Exact,
}

/// The outcome for one injected delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CalibrationOutcomeView {
    /// The delay was found, and the reading is within its bounds.
    Within,
    /// The delay was found; the reading is above its bound, but within the bound for exceptions.
    Exception,
    /// The delay was found, and the reading is wrong.
    Outside,
    /// The delay was not found.
    NotFound,
}

/// A condition of the calibration other than a single reading.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CalibrationCheckView {
    /// Name of the boot; empty if the check covers all boots.
    pub boot: String,
    /// The condition, in words.
    pub name: String,
    /// Whether the condition holds.
    pub holds: bool,
    /// What was found, in words.
    pub found: String,
}
