//! The manifest of a node in a run: what was requested, what the kernel granted, and what the instrument itself cost.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{ClockId, CpuSet};

use crate::{LoadManifest, Moment, Request};

/// Everything about a node in a run that is not a sample.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Manifest {
    /// The program that measured.
    pub tool: ToolVersion,
    /// The command line, one element per argument.
    pub command: Vec<String>,
    /// Identity of the machine.
    pub node: NodeIdentity,
    /// Time of the first schedule.
    pub started: Moment,
    /// Time when the last measuring thread had ended.
    pub ended: Moment,
    /// IANA name of the node's time zone, for showing times as they are on its wall clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    /// The request as it was made; absent if the program that measured did not keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Request>,
    /// The requested parameters that are common to several kinds, with defaults that depend on the machine filled in.
    pub requested: Requested,
    /// What each measuring thread was granted, read back from the kernel.
    #[serde(default)]
    pub effective: Vec<Effective>,
    /// The load during the run.
    pub load: LoadManifest,
    /// The limit on the wake-up latency from idle states that was held during the run.
    pub dma_latency: DmaLatency,
    /// What the instrument itself costs.
    pub instrument: Instrument,
    /// CPU time that all other programs and interrupts of the machine used during the run, in CPUs (1.0 is one CPU all the
    /// time): what `/proc/stat` counts as busy on all CPUs, without this program and its load. Absent if unreadable, if a user's
    /// own program was followed, or if the run was cut short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others_cpu_used: Option<f64>,
    /// Steps of the realtime clock during the run, whichever clock was measured.
    #[serde(default)]
    pub clock_steps: Vec<ClockStep>,
    /// Why the run ended, if neither its duration nor its number of samples ended it: a claim was decided. Analyzing such a
    /// run as one of fixed length overstates the confidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_because: Option<String>,
    /// SHA-256 of the node's profile, in hexadecimal; absent if no profile was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile_sha256: Option<String>,
    /// Which program measured, and what an import lacks.
    #[serde(default)]
    pub origin: Origin,
}

impl Manifest {
    /// Time from the first schedule until the last measuring thread had ended (ns).
    #[must_use]
    pub fn measured_ns(&self) -> u64 {
        self.ended.monotonic.since(self.started.monotonic).unsigned()
    }

    /// Whether another program measured the run, and its output was imported.
    #[must_use]
    pub const fn is_imported(&self) -> bool {
        matches!(self.origin, Origin::Imported { .. })
    }
}

/// A program with its version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolVersion {
    /// Name of the program.
    pub name: String,
    /// Version, as the program reports it.
    pub version: String,
}

/// Identity of a machine, its kernel and its boot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeIdentity {
    /// Host name of the machine.
    pub hostname: String,
    /// Kernel release, as `uname -r`.
    pub kernel_release: String,
    /// Kernel build, as `uname -v`.
    pub kernel_version: String,
    /// Architecture, as `uname -m`.
    pub machine: String,
    /// The kernel's ID of this boot (`/proc/sys/kernel/random/boot_id`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<String>,
    /// CPUs that were online at the start.
    pub online_cpus: CpuSet,
}

/// The requested parameters of a measurement; parameters that its kind does not have are absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Requested {
    /// CPUs to measure.
    pub cpus: CpuSet,
    /// Number of measuring threads.
    pub threads: u32,
    /// Name of the scheduling policy: `fifo`, `rr`, `other`, `deadline`.
    pub policy: String,
    /// Real-time priority; 0 if the policy has none.
    pub priority: u32,
    /// Whether each thread is pinned to one CPU.
    pub pinned: bool,
    /// The measured clock: threads sleep on it, or read it.
    pub clock: Option<ClockId>,
    /// Time from one schedule to the next (ns).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_ns: Option<u64>,
    /// Duration of the run (ns).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ns: Option<u64>,
    /// Number of samples of each thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<u64>,
    /// The deadline: the latency that no sample may exceed (ns).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ns: Option<u64>,
    /// Length of an interval of the record (ns); each interval has its own maximum and histogram.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_maximum_ns: Option<u64>,
    /// Whether intervals begin and end at multiples of that length on UTC.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub intervals_on_utc: bool,
    /// Gaps shorter than this are not counted (ns); only for `noise`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold_ns: Option<u64>,
    /// The latency above which the run stops and marks the kernel's trace (ns).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub breaktrace_ns: Option<u64>,
    /// The run started at a multiple of this on the measured clock (ns); absent if it started immediately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub align_to_ns: Option<u64>,
    /// Seed that placed each schedule at random within its interval; absent if schedules were at equal distances.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter_seed: Option<u64>,
}

/// What a measuring thread was granted, read back from the kernel once it ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Effective {
    /// Number of the thread, from 0.
    pub thread: u32,
    /// Kernel thread ID.
    pub tid: u32,
    /// Name of the scheduling policy: `fifo`, `rr`, `other`, `deadline`.
    pub policy: String,
    /// Real-time priority; 0 if the policy has none.
    pub priority: u32,
    /// CPUs that the thread may run on.
    pub affinity: CpuSet,
    /// Whether the process's memory is locked.
    pub memory_locked: bool,
}

/// What the run held in `/dev/cpu_dma_latency` (Documentation/power/pm_qos_interface.rst).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DmaLatency {
    /// The value that this run held (us); absent if it held none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_us: Option<u32>,
    /// The system-wide limit in force during the run, whichever program held it (us); absent if unreadable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective_us: Option<u32>,
    /// Why the requested value could not be held; absent if it was held, or if none was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// What the instrument itself costs and where its other threads run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Instrument {
    /// Resolution of the clock that the threads sleep on, from `clock_getres` (ns).
    pub timer_resolution_ns: u64,
    /// The kernel's current clock source: `tsc`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clocksource: Option<String>,
    /// Median cost of one reading of the clock (ns), measured before the run.
    pub clock_read_ns: u64,
    /// Median time of one iteration of the measuring loop without sleeping (ns), measured before the run.
    pub loop_ns: u64,
    /// CPUs on which the controller and the drain thread were allowed to run.
    pub housekeeping_cpus: CpuSet,
    /// Resident memory of the program at the end of the run (bytes).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resident_bytes: Option<u64>,
    /// Capacity of each thread's hand-over ring (samples).
    pub ring_slots: u64,
    /// The highest fill level of any ring during the run (samples).
    pub ring_highest_fill: u64,
}

/// A step of the realtime clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClockStep {
    /// When the step was noticed. The drain thread checks ten times a second (`noise`: four times), if it gets a CPU.
    pub noticed: Moment,
    /// Size of the step (ns); positive if the clock was set forward.
    pub step_ns: i64,
}

/// Which program measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Origin {
    /// A measurement of this program.
    #[default]
    Punctual,
    /// Another program, whose output `import` read.
    Imported {
        /// The format that was recognized.
        format: String,
        /// What the source does not contain, in words.
        lacks: Vec<String>,
    },
}
