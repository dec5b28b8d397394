//! What is read from a node, the parsers that read it, and the findings about it.
//!
//! Everything here is pure: texts come in, values go out; no file, clock or system call is touched.
//! A value that could not be read is `None` or absent, which means *unknown* and never *off*:
//! no rule of [`check`] fires on what nobody read.
//! The reader of a live machine or of a captured tree is the crate `punctual-host`.

#![forbid(unsafe_code)]

pub mod bandwidth;
pub mod catalogue;
pub mod check;
pub mod cmdline;
pub mod cpu;
pub mod cpuset;
pub mod differences;
pub mod fuzz;
pub mod gpio;
mod hash;
pub mod identity;
pub mod irq;
pub mod isolation;
pub mod issue;
pub mod kconfig;
pub mod kernel;
pub mod memory;
pub mod net;
pub mod paths;
pub mod power;
pub mod process;
pub mod ptp_state;
pub mod sched;
pub mod services;
pub mod text;
pub mod time;
pub mod time_config;
pub mod time_program;
pub mod virt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::CpuSet;

pub use cpu::Cpus;
pub use cpuset::Cpuset;
pub use gpio::GpioChip;
pub use identity::Identity;
pub use irq::Irqs;
pub use isolation::Isolation;
pub use issue::{IssueReason, ProbeIssue};
pub use kernel::{Kernel, Preemption};
pub use memory::Memory;
pub use net::Net;
pub use power::Power;
pub use process::Tasks;
pub use sched::Sched;
pub use services::Services;
pub use time::Time;
pub use virt::Virt;

/// The name of the profile's form.
pub const SCHEMA: &str = "punctual/profile";

/// The version of the profile's form; a reader accepts its own and every older one.
pub const SCHEMA_VERSION: u32 = 1;

/// Everything read from a node that can matter for acting on time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Profile {
    /// Name of the schema: always `punctual/profile`.
    pub schema: String,
    /// The version of this form.
    pub schema_version: u32,
    /// Which machine this is, without serial numbers or addresses.
    pub identity: Identity,
    /// Kernel, preemption model, configuration and command line.
    pub kernel: Kernel,
    /// Processors and how they share cores, caches and memory.
    pub cpus: Cpus,
    /// The CPUs that are effectively isolated.
    pub isolation: Isolation,
    /// Control groups that confine or partition CPUs.
    pub cpusets: Vec<Cpuset>,
    /// Frequencies and idle states.
    pub power: Power,
    /// Interrupts, where they may go and where they went.
    pub irqs: Irqs,
    /// Scheduler settings, throttles and watchdogs.
    pub sched: Sched,
    /// Clock sources and time stamp counters.
    pub time: Time,
    /// Real-time tasks and what is bound to CPUs.
    pub tasks: Tasks,
    /// Memory, huge pages and swap.
    pub memory: Memory,
    /// Network interfaces and PTP hardware clocks.
    pub net: Net,
    /// The GPIO chips with their lines.
    pub gpio: Vec<GpioChip>,
    /// Virtualisation and time taken by the host.
    pub virt: Virt,
    /// Services that touch timing.
    pub services: Services,
}

impl Default for Profile {
    fn default() -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            schema_version: SCHEMA_VERSION,
            identity: Identity::default(),
            kernel: Kernel::default(),
            cpus: Cpus::default(),
            isolation: Isolation::default(),
            cpusets: Vec::new(),
            power: Power::default(),
            irqs: Irqs::default(),
            sched: Sched::default(),
            time: Time::default(),
            tasks: Tasks::default(),
            memory: Memory::default(),
            net: Net::default(),
            gpio: Vec::new(),
            virt: Virt::default(),
            services: Services::default(),
        }
    }
}

impl Profile {
    /// CPUs that the scheduler leaves alone: by `isolcpus=`, or by a valid isolated cpuset partition.
    ///
    /// `nohz_full=` alone silences the tick but isolates nothing, so it does not count.
    #[must_use]
    pub fn isolated_cpus(&self) -> CpuSet {
        self.cpusets
            .iter()
            .filter(|set| set.is_valid_isolated_partition())
            .filter_map(Cpuset::granted)
            .fold(self.isolation.isolated.clone().unwrap_or_default(), |all, cpus| all.union(cpus))
    }

    /// The identity of the configuration: SHA-256 in hexadecimal.
    ///
    /// Counters, process numbers and whatever else changes by itself are left out (the table is in `hash.rs`),
    /// so two readings of an unchanged configuration agree.
    #[must_use]
    pub fn hash(&self) -> String {
        hash::hash_profile(self)
    }

    /// What of it is configuration, as JSON: without counters, process numbers and whatever else changes by itself.
    #[must_use]
    pub fn configuration(&self) -> serde_json::Value {
        hash::configuration(self)
    }
}
