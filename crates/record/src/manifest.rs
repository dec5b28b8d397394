//! What was asked, what was granted, and what the instrument itself cost.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{ClockId, CpuSet};

use crate::{LoadManifest, Moment, Request};

/// Everything about a node in a run that is not a sample.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Manifest {
    /// The program that measured.
    pub tool: ToolVersion,
    /// The command line, one element an argument.
    pub command: Vec<String>,
    /// The machine.
    pub node: NodeIdentity,
    /// First schedule.
    pub started: Moment,
    /// When the last measuring thread had ended.
    pub ended: Moment,
    /// The node's time zone, an IANA name, for showing wall times as its people know them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    /// What was asked, as it was asked; absent where the run is of a program that did not keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Request>,
    /// What was asked, as far as it is the same of every kind, with what followed from the machine.
    pub requested: Requested,
    /// What each measuring thread was granted, read back from the kernel.
    #[serde(default)]
    pub effective: Vec<Effective>,
    /// What else ran.
    pub load: LoadManifest,
    /// What the run did about the CPUs' wake-up from idle states.
    pub dma_latency: DmaLatency,
    /// What the instrument itself costs.
    pub instrument: Instrument,
    /// Steps of the realtime clock that were seen during the run, whichever clock was measured.
    #[serde(default)]
    pub clock_steps: Vec<ClockStep>,
    /// Why the run ended, where that was neither its duration nor its number of samples: a claim that was decided. Whoever
    /// takes such a run for one of a fixed length is too sure of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_because: Option<String>,
    /// SHA-256 of the node's profile, in hexadecimal, where one was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile_sha256: Option<String>,
    /// Who measured, and what an import lacks.
    #[serde(default)]
    pub origin: Origin,
}

impl Manifest {
    /// From the first schedule until the last measuring thread had ended (ns).
    #[must_use]
    pub fn measured_ns(&self) -> u64 {
        self.ended.monotonic.since(self.started.monotonic).unsigned()
    }

    /// Whether the run is another program's.
    #[must_use]
    pub const fn is_imported(&self) -> bool {
        matches!(self.origin, Origin::Imported { .. })
    }
}

/// A program with its version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolVersion {
    /// Its name.
    pub name: String,
    /// Its version, as it says itself.
    pub version: String,
}

/// Which machine, and which boot of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeIdentity {
    /// Host name.
    pub hostname: String,
    /// Kernel release, as `uname -r`.
    pub kernel_release: String,
    /// Kernel build, as `uname -v`.
    pub kernel_version: String,
    /// Architecture, as `uname -m`.
    pub machine: String,
    /// The kernel's identity of this boot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<String>,
    /// CPUs that were online at the start.
    pub online_cpus: CpuSet,
}

/// What was asked of a measurement; what a kind does not know is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Requested {
    /// CPUs to measure.
    pub cpus: CpuSet,
    /// Measuring threads.
    pub threads: u32,
    /// Scheduling policy by its name: `fifo`, `rr`, `other`, `deadline`.
    pub policy: String,
    /// Real-time priority, 0 where the policy has none.
    pub priority: u32,
    /// Whether each thread is pinned to one CPU.
    pub pinned: bool,
    /// The clock that is slept on or read.
    pub clock: Option<ClockId>,
    /// Time from one schedule to the next (ns).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_ns: Option<u64>,
    /// How long (ns).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ns: Option<u64>,
    /// How many samples of each thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<u64>,
    /// The limit that a latency must not exceed (ns).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ns: Option<u64>,
    /// Length of an interval of the record (ns): each has its own maximum and histogram.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_maximum_ns: Option<u64>,
    /// Gaps below this are not counted (ns); `noise` alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold_ns: Option<u64>,
    /// The latency above which the run stops and leaves a mark in the kernel's trace (ns).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub breaktrace_ns: Option<u64>,
    /// The start of the run lies on a multiple of this on the measured clock (ns); absent where it began at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub align_to_ns: Option<u64>,
    /// Each schedule lay at random within its interval, by this seed; absent where schedules were at equal distances.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter_seed: Option<u64>,
}

/// What a measuring thread was granted, read back from the kernel once it ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Effective {
    /// Which thread, from 0.
    pub thread: u32,
    /// Its kernel id.
    pub tid: u32,
    /// Scheduling policy by its name.
    pub policy: String,
    /// Real-time priority.
    pub priority: u32,
    /// CPUs that it may run on.
    pub affinity: CpuSet,
    /// Whether its memory is locked.
    pub memory_locked: bool,
}

/// What the run held in `/dev/cpu_dma_latency` (Documentation/power/pm_qos_interface.rst).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DmaLatency {
    /// The value that this run held (us); absent where it held nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_us: Option<u32>,
    /// The system-wide limit that was effective during the run, whoever held it (us), where readable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective_us: Option<u32>,
    /// Why a wanted value could not be held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// What the instrument itself costs and where its other threads run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Instrument {
    /// Resolution of the timer that is slept on, as `clock_getres` says (ns).
    pub timer_resolution_ns: u64,
    /// The kernel's clock source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clocksource: Option<String>,
    /// Median cost of one reading of the clock (ns), measured before the run.
    pub clock_read_ns: u64,
    /// Median time of one turn of the loop without sleeping (ns), measured before the run.
    pub loop_ns: u64,
    /// CPUs on which the controller and the drain thread were allowed to run.
    pub housekeeping_cpus: CpuSet,
    /// Bytes of the program's memory that were resident at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resident_bytes: Option<u64>,
    /// Places in the hand-over ring of each thread.
    pub ring_slots: u64,
    /// The most places of a ring that were ever in use.
    pub ring_highest_fill: u64,
}

/// A jump of the realtime clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClockStep {
    /// When it was noticed: at the drain's next look after it happened, of which there are ten a second (`noise`: four)
    /// where the drain gets a CPU.
    pub noticed: Moment,
    /// By how much the clock jumped, forward positive (ns).
    pub step_ns: i64,
}

/// Who measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Origin {
    /// This program.
    #[default]
    Punctual,
    /// Another program's output, read by `import`.
    Imported {
        /// The format that was recognised.
        format: String,
        /// What the source does not tell.
        lacks: Vec<String>,
    },
}
