//! The load during a run: its parts, and what they achieved.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::CpuSet;

use crate::ToolVersion;

/// The load during a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadManifest {
    /// `none`, `hard`, `paper`, `osadl`, the name of a load file, or `command`.
    pub name: String,
    /// CPUs that the load was allowed to run on.
    pub cpus: CpuSet,
    /// The external program with its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<ToolVersion>,
    /// The command lines that were started.
    #[serde(default)]
    pub commands: Vec<Vec<String>>,
    /// What the load achieved, as measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub achieved: Option<AchievedLoad>,
    /// Fraction of the time during which the load's programs ran (above 0, up to 1), in phases of random length; absent if
    /// they ran all the time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// The parts of a load that consists of parts, including those that did not run; empty for other loads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<LoadPart>,
    /// Which parts ran when, in chronological order; empty if all parts ran all the time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<LoadWindow>,
}

/// One part of a load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadPart {
    /// Name of the part, by which it can be left out: `memory`, `network`, …
    pub name: String,
    /// The command line that was started; empty if the part did not run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Why the part did not run; absent if it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped: Option<DroppedPart>,
    /// What was missing for the part on this machine, in words; it ran without that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lacks: Vec<String>,
    /// CPU time that the part's processes used while the part was active, in CPUs (1.0 is one CPU all the time).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_used: Option<f64>,
    /// What the part did while it was active, as rates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub achieved: Vec<PartRate>,
}

/// Why a part of a load did not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "by", rename_all = "kebab-case")]
pub enum DroppedPart {
    /// The user left it out.
    Request,
    /// The machine lacks something that the part needs, or permission is missing.
    Machine {
        /// What is missing, in words.
        why: String,
    },
}

/// One rate that a part of a load achieved.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartRate {
    /// What was counted: `packets`, `context switches`, `stream`, …
    pub metric: String,
    /// The rate, in `unit`.
    pub value: f64,
    /// The unit of the value: `1/s`, `bytes/s`, or `operations/s` (stress-ng's, comparable only with itself).
    pub unit: String,
}

/// A period of the run during which certain parts of the load ran.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadWindow {
    /// The names of the parts that ran.
    pub parts: Vec<String>,
    /// Start of the period in which only these parts ran (`CLOCK_MONOTONIC`, ns).
    pub start_monotonic_ns: i64,
    /// End of the period (`CLOCK_MONOTONIC`, ns).
    pub end_monotonic_ns: i64,
    /// Interrupts per second of the whole machine; absent if unreadable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupts_per_s: Option<f64>,
    /// Context switches per second of the whole machine; absent if unreadable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_switches_per_s: Option<f64>,
}

/// What a load achieved, measured during the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AchievedLoad {
    /// CPU time that the load's own processes used, in CPUs (1.0 is one CPU all the time).
    pub cpu_used: f64,
    /// Utilization of each online CPU during the run by all programs (0 to 1), by CPU number.
    pub cpu_busy: std::collections::BTreeMap<String, f64>,
    /// Interrupts per second of the whole machine.
    pub interrupts_per_s: f64,
    /// Context switches per second of the whole machine.
    pub context_switches_per_s: f64,
    /// Bytes per second that the load's processes read and wrote through system calls; absent if unreadable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io_bytes_per_s: Option<f64>,
    /// Bytes per second through all network interfaces, including loopback; absent if unreadable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_bytes_per_s: Option<f64>,
    /// Fraction of the requested CPU time that the load used (1.0: all of it); absent if the load states none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share_of_wanted: Option<f64>,
}
