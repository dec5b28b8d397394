//! Where the evidence comes from: the best that this machine gives, or the one that was asked for.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};

use flight::ring::Slot;
use units::{ClockId, CpuSet};

use super::events::Events;
use super::programs::Programs;
use record::{EvidenceSource, ExplainRequest};

/// Why nothing is explained in a time namespace.
pub(super) const TIME_NAMESPACE: &str = "the kernel writes its events by its own clocks, and this process is in a time \
    namespace, whose clocks are apart from those (/proc/self/timens_offsets): run it outside of that";
/// The trace point at which a sleeping thread is woken.
pub(super) const WAKING: &str = "sched_waking";
/// What is missing without it.
pub(super) const NO_WAKINGS: &str = "it is not seen when a packet wakes its receiver (the kernel has no trace point \
    sched_waking, or refuses it), so that no cause can be named";

/// What a recorder held after an outlier.
#[derive(Clone, Debug, Default)]
pub(super) struct Caught {
    /// The events of the CPU in order of time; late timers with the interrupted functions, if the kernel reports them.
    pub(super) slots: Vec<(Slot, Vec<u64>)>,
    /// Whether there was more before the first of them.
    pub(super) overwritten: bool,
    /// Whether a late timer of the measuring thread is among them, if there was one.
    pub(super) late_timers: bool,
}

impl Caught {
    /// Without what was written down before the recorder began again, where that was after `from_ns` (both ns,
    /// CLOCK_MONOTONIC): what happened in between is unknown.
    pub(super) fn since(mut self, armed_ns: i64, from_ns: i64) -> Self {
        if armed_ns > from_ns {
            self.slots.retain(|(slot, _)| slot.time_ns >= armed_ns);
            self.overwritten = true;
        }
        self
    }
}

/// Where to begin to read what happened from a moment on: with the last switch before it. No interrupt outlasts a switch,
/// so all that goes on at that moment began behind it.
pub(super) fn first_needed<'a>(
    slots: impl DoubleEndedIterator<Item = &'a Slot> + ExactSizeIterator,
    from_ns: i64,
) -> usize {
    let mut slots = slots.enumerate();
    let is_before = |slot: &Slot| slot.kind == flight::ring::Kind::Switch && slot.time_ns <= from_ns;
    slots.rfind(|(_, slot)| is_before(slot)).map_or(0, |(at, _)| at)
}

#[derive(Debug)]
enum Kind {
    Programs(Programs),
    Events(Events),
    /// What the kernel counts is read by the explainer itself.
    Counters,
}

/// What a recorder has to know of the measuring threads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Threads {
    /// Whether all of them are real-time.
    pub(crate) real_time: bool,
    /// Whether any may be moved from one CPU to another.
    pub(crate) may_move: bool,
    /// Whether two of them are pinned to one CPU.
    pub(crate) share_cpus: bool,
    /// Whether something other than a timer wakes them, such as a packet: then it is recorded when and by which CPU, and
    /// each of their switches.
    pub(crate) wakings: bool,
}

/// Records what happens on the measured CPUs, until it is dropped.
#[derive(Debug)]
pub(crate) struct Recorder {
    kind: Kind,
    /// What is not seen, and what it would take.
    missing: Vec<String>,
    /// The CPUs that are recorded.
    cpus: CpuSet,
    /// By CPU, and for threads that may be on any: whether one of the threads there has stopped it.
    taken: BTreeMap<Option<u32>, AtomicBool>,
}

impl Recorder {
    fn with_kind(kind: Kind, missing: Vec<String>, cpus: &CpuSet) -> Self {
        let taken = cpus.iter().map(Some).chain([None]).map(|cpu| (cpu, AtomicBool::new(false))).collect();
        Self { kind, missing, cpus: cpus.clone(), taken }
    }

    /// Sets it up; nothing is recorded before [`begin`](Self::begin). It changes code that every CPU runs, so that has to
    /// be done before anything is measured.
    pub(crate) fn new(measured: &CpuSet, threads: Threads, clock: ClockId, config: ExplainRequest) -> Self {
        let mut missing = Vec::new();
        let wants = |source| config.source.is_none_or(|wanted| wanted == source);
        if wants(EvidenceSource::Programs) {
            match Programs::new(measured, threads, clock, config.parts) {
                Ok(programs) => {
                    missing.extend(programs.missing.iter().cloned());
                    return Self::with_kind(Kind::Programs(programs), missing, measured);
                }
                Err(why) => missing.push(why),
            }
        }
        if wants(EvidenceSource::Events) {
            match Events::new(measured, clock, threads.wakings) {
                Ok(events) => {
                    missing.extend(events.missing.iter().cloned());
                    return Self::with_kind(Kind::Events(events), missing, measured);
                }
                Err(why) => missing.push(why),
            }
        }
        if config.events_are_dear {
            missing.push(
                "the kernel's events would show more and cost too much here: 'punctual measure wakeup --explain' takes them"
                    .to_owned(),
            );
        }
        Self::with_kind(Kind::Counters, missing, measured)
    }

    /// Begins to record for these measuring threads.
    pub(super) fn begin(&self, tids: &[u32]) {
        if let Kind::Events(events) = &self.kind {
            events.begin(tids);
        }
    }

    /// Records on a CPU from now on, again where an outlier had stopped it.
    pub(super) fn arm(&self, cpu: u32) {
        if let Some(armed) = self.armed(cpu) {
            armed.store(1, Ordering::Release);
        }
    }

    /// Whether recording stops at an outlier until that is read.
    pub(super) fn stops(&self) -> bool {
        matches!(self.kind, Kind::Programs(_))
    }

    /// Whether anything is recorded, and not counted alone.
    pub(crate) fn records(&self) -> bool {
        !matches!(self.kind, Kind::Counters)
    }

    /// Whether it is recorded when a measuring thread is woken, and by which CPU.
    pub(super) fn records_wakings(&self) -> bool {
        match &self.kind {
            Kind::Programs(programs) => programs.trace_points.contains(&WAKING),
            Kind::Events(events) => events.names.contains(&WAKING),
            Kind::Counters => false,
        }
    }

    /// Whether switches between the idle task and a measuring thread are recorded too. Some kernels leave them out of their
    /// own events.
    pub(super) fn records_own_switches(&self) -> bool {
        matches!(&self.kind, Kind::Programs(programs) if programs.own_switches)
    }

    /// The CPUs that are recorded.
    pub(super) fn cpus(&self) -> &CpuSet {
        &self.cpus
    }

    /// The switches by which a measuring thread stops the recording of its CPU, or of all that it may be on; what is read
    /// fast enough needs none.
    pub(crate) fn switches(&self, cpu: Option<u32>) -> Vec<&AtomicU32> {
        match cpu {
            Some(cpu) => self.armed(cpu).into_iter().collect(),
            None => self.cpus.iter().filter_map(|cpu| self.armed(cpu)).collect(),
        }
    }

    /// Whether a thread on that CPU, or one that may be on any, has stopped what it shares with others of its kind.
    pub(crate) fn taken(&self, cpu: Option<u32>) -> Option<&AtomicBool> {
        self.taken.get(&cpu)
    }

    /// When the thread of a CPU was last woken, where that is recorded: its timer fired, it was made runnable, it was switched
    /// to (ns, CLOCK_MONOTONIC).
    pub(crate) fn wake_up(&self, cpu: Option<u32>) -> Option<[&AtomicI64; 3]> {
        match &self.kind {
            Kind::Programs(programs) if programs.parts => cpu.map(|cpu| programs.memory.wake_up(cpu)),
            _ => None,
        }
    }

    /// Records the wake-ups of this thread in their parts, where it is pinned to a CPU and that is recorded.
    pub(crate) fn record_parts_of(&self, cpu: Option<u32>, tid: u32) {
        if let (Kind::Programs(programs), Some(cpu)) = (&self.kind, cpu) {
            programs.memory.thread(cpu).store(tid, Ordering::Release);
        }
    }

    fn armed(&self, cpu: u32) -> Option<&AtomicU32> {
        match &self.kind {
            Kind::Programs(programs) => Some(programs.memory.armed(cpu)),
            Kind::Events(_) | Kind::Counters => None,
        }
    }

    /// From this latency on it is worth while to follow the functions that led to a late timer (ns).
    pub(super) fn follow_functions_above(&self, cpu: u32, latency_ns: i64) {
        if let Kind::Programs(programs) = &self.kind {
            programs.memory.stack_from_ns(cpu).store(latency_ns.unsigned_abs(), Ordering::Relaxed);
        }
    }

    /// What was recorded of a CPU from `from_ns` (CLOCK_MONOTONIC) up to now; `None` where there are counters alone.
    pub(super) fn caught(&self, cpu: u32, from_ns: i64) -> Option<Caught> {
        match &self.kind {
            Kind::Programs(programs) => programs.caught(cpu, from_ns),
            Kind::Events(events) => events.caught(cpu, from_ns),
            Kind::Counters => None,
        }
    }

    /// What is not seen, and what it would take.
    pub(crate) fn missing(&self) -> Vec<String> {
        let left_out = match &self.kind {
            Kind::Events(events) => events.left_out(),
            Kind::Programs(_) | Kind::Counters => None,
        };
        self.missing.iter().cloned().chain(left_out).collect()
    }

    /// Where the evidence comes from.
    pub(crate) fn source(&self) -> EvidenceSource {
        match &self.kind {
            Kind::Programs(_) => EvidenceSource::Programs,
            Kind::Events(_) => EvidenceSource::Events,
            Kind::Counters => EvidenceSource::Counters,
        }
    }

    /// The same in words.
    pub(super) fn source_words(&self) -> String {
        match &self.kind {
            Kind::Programs(programs) => {
                format!("flight recorder in the kernel: {}", programs.trace_points.join(", "))
            }
            Kind::Events(events) => format!("events of the kernel's trace: {}", events.names.join(", ")),
            Kind::Counters => {
                "counters of the kernel, every 20 ms: the thread's waits and page faults, interrupts, stolen time, heat, \
                 firmware"
                    .to_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use flight::ring::Kind as Of;

    use super::*;

    #[test]
    fn what_stood_there_before_the_recorder_began_again_tells_nothing_of_what_follows() {
        let slot = |time_ns| (Slot { time_ns, kind: Of::Switch, a: 0, b: 0, c: 0, name: [0; 16] }, Vec::new());
        let caught = || Caught { slots: vec![slot(1), slot(9)], overwritten: false, late_timers: true };
        let times = |caught: Caught| caught.slots.iter().map(|(slot, _)| slot.time_ns).collect::<Vec<_>>();
        let cut = caught().since(7, 6);
        assert!(cut.overwritten);
        assert_eq!(times(cut), [9]);
        let whole = caught().since(7, 8);
        assert!(!whole.overwritten);
        assert_eq!(times(whole), [1, 9], "who had the CPU then");
    }

    #[test]
    fn what_is_read_begins_with_the_last_switch_before() {
        let slot = |time_ns, kind| Slot { time_ns, kind, a: 0, b: 0, c: 0, name: [0; 16] };
        let slots = [slot(1, Of::Switch), slot(5, Of::Switch), slot(7, Of::IrqEntry), slot(9, Of::Switch)];
        assert_eq!(first_needed(slots.iter(), 8), 1, "the interrupt is still on");
        assert_eq!(first_needed(slots.iter(), 9), 3);
        assert_eq!(first_needed(slots.iter(), 0), 0);
        assert_eq!(first_needed(slots[2..3].iter(), 100), 0, "where none stands, all is needed");
    }
}
