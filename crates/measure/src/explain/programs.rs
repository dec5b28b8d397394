//! The flight recorder of this machine's kernel: programs, loaded and attached.

use std::fs;
use std::path::Path;

use flight::btf::Btf;
use flight::programs::{ALL, Context, PARTS};
use flight::ring::Kind;
use kernel::bpf::{Attached, FlightMemory, attach};
use kernel::time_namespace::TimeNamespace;
use kernel::tracefs::counts_like_the_trace;
use units::{ClockId, CpuSet};

use super::names::{FUNCTIONS_HAVE_NO_NAMES, Symbols};
use super::recorder::{Caught, NO_WAKINGS, TIME_NAMESPACE, Threads, WAKING, first_needed};
use crate::clock_watch::ClockWatch;

/// Places of one CPU's ring. At a hundred thousand events a second it holds the last 40 ms.
const SLOTS: usize = 4_096;
/// Machines with more CPUs than this get shorter rings.
const MANY_CPUS: u32 = 64;
const SLOTS_OF_MANY: usize = 1_024;

/// Recorders of the measured CPUs, until this is dropped.
#[derive(Debug)]
pub(super) struct Programs {
    pub(super) memory: FlightMemory,
    _attached: Vec<Attached>,
    /// Trace points that are recorded.
    pub(super) trace_points: Vec<&'static str>,
    /// Whether a late timer of the measuring thread is recorded.
    pub(super) late_timers: bool,
    /// Whether the parts of every wake-up are recorded.
    pub(super) parts: bool,
    /// Whether switches between the idle task and measuring threads are recorded.
    pub(super) own_switches: bool,
    /// What is not seen, and what it would take.
    pub(super) missing: Vec<String>,
}

impl Programs {
    /// Loads it for CPUs up to the highest measured one.
    ///
    /// # Errors
    /// Why there is none, in words, with what it would take.
    pub(super) fn new(measured: &CpuSet, threads: Threads, clock: ClockId, parts: bool) -> Result<Self, String> {
        // Another thread may have the number that one of ours has here: it would be taken for ours, and ours be blamed.
        if !counts_like_the_trace() {
            let why = "the kernel's trace points count threads as the first name space does, and this is another (a \
                       container): run it outside of the container";
            return Err(why.to_owned());
        }
        if TimeNamespace::own() != TimeNamespace::default() {
            return Err(TIME_NAMESPACE.to_owned());
        }
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
            own_prio_below: match (threads.wakings, threads.real_time) {
                (true, _) => 0,
                (false, true) => 100,
                (false, false) => 140,
            },
            late_from_ns: u32::try_from(analysis::cause::LATE_TIMER_NS).unwrap_or(u32::MAX),
            may_move: threads.may_move,
            wakings: threads.wakings,
            clock_offset_ns: ClockWatch::new(clock).measured_less_monotonic_ns(),
        };
        let has_idle_states = Path::new("/sys/devices/system/cpu/cpu0/cpuidle/state1").exists();
        let (mut attached, mut trace_points, mut missing) = (Vec::new(), Vec::new(), Vec::new());
        for point in ALL {
            // Without known idle states, leaving one explains nothing.
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
            missing.push(FUNCTIONS_HAVE_NO_NAMES.to_owned());
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
        if threads.wakings && !trace_points.contains(&WAKING) {
            missing.push(NO_WAKINGS.to_owned());
        }
        if threads.may_move && !trace_points.contains(&"sched_migrate_task") {
            let what = "moves from one CPU to another are not seen: what a thread waited for on a CPU other than the \
                        one that it woke on is unknown";
            missing.push(what.to_owned());
        }
        let parts = parts
            && match attach_parts(&context, threads, clock) {
                Ok(of_parts) => {
                    attached.extend(of_parts);
                    true
                }
                Err(why) => {
                    missing.push(format!("the parts of each wake-up are not recorded: {why}"));
                    false
                }
            };
        let late_timers = wakeup_function != 0 && trace_points.contains(&"hrtimer_expire_entry");
        Ok(Self {
            memory,
            _attached: attached,
            trace_points,
            late_timers,
            parts,
            own_switches: threads.wakings,
            missing,
        })
    }

    /// The content of a CPU's stopped ring from `from_ns` (CLOCK_MONOTONIC) on, with the earlier events that show which
    /// thread had the CPU then.
    pub(super) fn caught(&self, cpu: u32, from_ns: i64) -> Option<Caught> {
        let copy = self.memory.copy(cpu)?;
        let (slots, overwritten) = copy.read();
        let stack = |slot: &flight::ring::Slot| match slot.kind {
            Kind::LateTimer => copy.stack(slot.b, slot.a),
            _ => Vec::new(),
        };
        let begin = first_needed(slots.iter(), from_ns);
        let slots = slots[begin..].iter().map(|slot| (*slot, stack(slot))).collect();
        Some(Caught { slots, overwritten, late_timers: self.late_timers })
    }
}

/// Attaches the programs that record the parts of every wake-up: all of them, or none.
fn attach_parts(context: &Context<'_>, threads: Threads, clock: ClockId) -> Result<Vec<Attached>, String> {
    if threads.may_move || threads.share_cpus {
        return Err("it takes one measuring thread on each CPU, pinned to it".to_owned());
    }
    if clock != ClockId::Monotonic {
        return Err(format!("they are on the clock monotonic, and {clock} is measured"));
    }
    let one = |point: &flight::programs::TracePoint| {
        let why = || format!("this kernel does not describe what is needed at {}", point.name);
        let program = point.program(context).ok_or_else(why)?;
        attach(&program).map_err(|error| error.to_string())
    };
    PARTS.iter().map(one).collect()
}
