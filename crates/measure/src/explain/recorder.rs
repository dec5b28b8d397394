//! The flight recorder of this machine's kernel, loaded and attached.

use std::fs;
use std::path::Path;

use flight::btf::Btf;
use flight::programs::{ALL, Context};
use kernel::bpf::{Attached, FlightMemory, attach};
use units::{ClockId, CpuSet};

use super::names::Symbols;
use crate::clock_watch::ClockWatch;

/// Places of one CPU's ring. At a hundred thousand events a second it holds the last 40 ms.
const SLOTS: usize = 4_096;
/// Machines with more CPUs than this get shorter rings.
const MANY_CPUS: u32 = 64;
const SLOTS_OF_MANY: usize = 1_024;
/// The measuring thread's timer is written down from this lateness on (ns): above what an idle CPU's takes.
const LATE_FROM_NS: u32 = 5_000;

/// Recorders of the measured CPUs, until this is dropped.
#[derive(Debug)]
pub(crate) struct Recorder {
    pub(crate) memory: FlightMemory,
    _attached: Vec<Attached>,
    /// Trace points that are recorded.
    pub(crate) trace_points: Vec<&'static str>,
    /// Whether a late timer of the measuring thread is recorded.
    pub(crate) late_timers: bool,
    /// What is not seen, and what it would take.
    pub(crate) missing: Vec<String>,
}

impl Recorder {
    /// Loads it for CPUs up to the highest measured one.
    ///
    /// # Errors
    /// Why there is none, in words, with what it would take.
    pub(crate) fn new(measured: &CpuSet, real_time: bool, clock: ClockId) -> Result<Self, String> {
        let types = fs::read("/sys/kernel/btf/vmlinux").map_err(|error| {
            format!("the kernel does not describe its types (/sys/kernel/btf/vmlinux: {error}): it needs CONFIG_DEBUG_INFO_BTF")
        })?;
        let btf = Btf::parse(&types).map_err(|error| error.to_string())?;
        let cpus = measured.last().unwrap_or(0) + 1;
        let slots = if cpus > MANY_CPUS { SLOTS_OF_MANY } else { SLOTS };
        let memory = FlightMemory::new(cpus, slots).map_err(|error| {
            format!(
                "the kernel gives no memory to programs at its trace points: {error}; it takes root, or the capabilities \
                 CAP_BPF and CAP_PERFMON, CONFIG_BPF_SYSCALL, and a lock-down that allows it"
            )
        })?;
        let wakeup_function = Symbols::get().wakeup_function.unwrap_or(0);
        let context = Context {
            btf: &btf,
            map: memory.file(),
            slots,
            wakeup_function,
            process: std::process::id(),
            own_prio_below: if real_time { 100 } else { 140 },
            late_from_ns: LATE_FROM_NS,
            clock_offset_ns: ClockWatch::new(clock).measured_less_monotonic_ns(),
        };
        let has_idle_states = Path::new("/sys/devices/system/cpu/cpu0/cpuidle/state1").exists();
        let (mut attached, mut trace_points, mut missing) = (Vec::new(), Vec::new(), Vec::new());
        for point in ALL {
            // Where no idle state is told of, there is nothing to be learnt from the way out of it.
            if point.name == "cpu_idle" && !has_idle_states {
                continue;
            }
            // What another architecture or kernel has, nobody misses here.
            let Some(program) = point.program(&context) else { continue };
            match attach(&program) {
                Ok(one) => {
                    attached.push(one);
                    trace_points.push(point.name);
                }
                Err(error) => missing.push(error.to_string()),
            }
        }
        if !trace_points.contains(&"sched_switch") {
            let why =
                missing.into_iter().next().unwrap_or_else(|| "the kernel has no trace point sched_switch".to_owned());
            return Err(format!("threads cannot be seen: {why}"));
        }
        if wakeup_function == 0 {
            missing.push(
                "addresses of the kernel's functions are hidden (kernel.kptr_restrict), so functions have no names, and \
                 interrupts off are not told from preemption off"
                    .to_owned(),
            );
        }
        for (name, what) in [
            ("hrtimer_expire_entry", "timers' functions"),
            ("irq_handler_entry", "interrupts"),
            ("softirq_entry", "softirqs"),
        ] {
            if !trace_points.contains(&name) {
                missing.push(format!("{what} are not seen: the kernel has no trace point {name}, or refuses it"));
            }
        }
        let late_timers = wakeup_function != 0 && trace_points.contains(&"hrtimer_expire_entry");
        Ok(Self { memory, _attached: attached, trace_points, late_timers, missing })
    }
}
