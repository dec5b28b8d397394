//! What else ran during a run: the load, its parts, and what they achieved.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::CpuSet;

use crate::ToolVersion;

/// What else ran during the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadManifest {
    /// `none`, `hard`, `paper`, `osadl`, the name of a load file, or `command`.
    pub name: String,
    /// CPUs that the load was allowed onto.
    pub cpus: CpuSet,
    /// The external program with its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<ToolVersion>,
    /// The command lines that were started.
    #[serde(default)]
    pub commands: Vec<Vec<String>>,
    /// What it achieved, measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub achieved: Option<AchievedLoad>,
    /// Part of the time for which the load's programs were let run (above 0, up to 1), in turns of random length;
    /// absent where they always ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// The parts of a load that is made of parts, those that did not run too; empty for other loads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<LoadPart>,
    /// Which parts ran when, in the order of time; empty where all ran all the time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<LoadWindow>,
}

/// One part of a load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadPart {
    /// The name by which the part can be left out: `memory`, `network`, …
    pub name: String,
    /// The command line that was started; empty where the part did not run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Why the part did not run; absent where it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped: Option<DroppedPart>,
    /// What the part had to do without on this machine, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lacks: Vec<String>,
    /// CPU time that the part's processes used while it was the part's turn, in CPUs (1.0 is one CPU all the time).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_used: Option<f64>,
    /// What the part did while it was its turn, as rates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub achieved: Vec<PartRate>,
}

/// Why a part of a load did not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "by", rename_all = "kebab-case")]
pub enum DroppedPart {
    /// The user left it out.
    Request,
    /// The machine, or the right to use it, does not allow it.
    Machine {
        /// What is missing.
        why: String,
    },
}

/// One rate that a part of a load achieved.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartRate {
    /// What was counted: `packets`, `context switches`, `stream`, …
    pub metric: String,
    /// How many a second.
    pub value: f64,
    /// The unit of the value: `1/s`, `bytes/s`, or `operations/s` (stress-ng's, comparable only with itself).
    pub unit: String,
}

/// A stretch of the run in which certain parts of the load ran.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadWindow {
    /// The names of the parts that ran.
    pub parts: Vec<String>,
    /// From when they alone ran (`CLOCK_MONOTONIC`, ns).
    pub start_monotonic_ns: i64,
    /// Until when (`CLOCK_MONOTONIC`, ns).
    pub end_monotonic_ns: i64,
    /// Interrupts of the whole machine a second; absent where unreadable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupts_per_s: Option<f64>,
    /// Context switches of the whole machine a second; absent where unreadable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_switches_per_s: Option<f64>,
}

/// What a load achieved, measured while the run went on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AchievedLoad {
    /// CPU time that the load's own processes used, in CPUs (1.0 is one CPU all the time).
    pub cpu_used: f64,
    /// Busy share of each online CPU during the run, everything included (0 to 1), by its number.
    pub cpu_busy: std::collections::BTreeMap<String, f64>,
    /// Interrupts of the whole machine a second.
    pub interrupts_per_s: f64,
    /// Context switches of the whole machine a second.
    pub context_switches_per_s: f64,
    /// Bytes that the load's processes wrote and read through the system-call layer, a second; absent where unreadable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io_bytes_per_s: Option<f64>,
    /// Bytes through all network interfaces, loopback too, a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_bytes_per_s: Option<f64>,
    /// What part of the wanted CPU time was used (1.0: all of it); absent where the load states none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share_of_wanted: Option<f64>,
}
