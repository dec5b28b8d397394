//! The kernel's own events as evidence, where it takes no programs: a private trace instance, its buffers overwritten
//! round and round.
//!
//! Nothing is stopped at an outlier: the buffer of its CPU is read within a drain's period, from another CPU, while the
//! kernel goes on writing; a buffer holds several times as long. What was read is kept for the next outlier, whose
//! beginning may stand in it.

use std::collections::HashMap;
use std::sync::Mutex;

use flight::ring::{Kind, Slot};
use kernel::time_namespace::TimeNamespace;
use kernel::tracefs::{Buffer, Instance, TraceError, Tracefs, counts_like_the_trace};
use trace::{Endian, FieldReader, Format, Lost, PageLayout, Record, event_id};
use units::{ClockId, CpuSet};

use super::kept::{Kept, low, put_name};
use super::names::{FUNCTIONS_HAVE_NO_NAMES, Symbols};
use super::recorder::{Caught, NO_WAKINGS, TIME_NAMESPACE};
use crate::clock_watch::ClockWatch;

/// Memory for a measured CPU (KiB): at a hundred thousand events a second it holds the last quarter of a second.
const BUFFER_KIB: &str = "1024";
/// The others record nothing.
const OTHERS_KIB: &str = "4";
/// Sub-buffers that are read in a row, should the kernel write faster than they are read.
const MOST_PAGES: usize = 1_024;
/// Timers whose expiry is known and that have not fired.
const MOST_TIMERS: usize = 4_096;
/// What the kernel writes as the state that is the way out of idle (include/trace/events/power.h).
const OUT_OF_IDLE: u32 = u32::MAX;

/// The field of each event that names the thread that had the CPU.
const WHO: &str = "common_pid";

/// What an event is turned into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Into {
    Switch,
    Moved,
    Woken,
    TimerStart,
    TimerEntry,
    TimerExit,
    Idle,
    PageFault,
    Nmi,
    /// A happening whose small number is the event's only field.
    Number(Kind),
    /// A happening whose small number is known beforehand: a row of `flight::programs::VECTORS`.
    Known(Kind, u32),
}

/// Each event with its fields, in the order in which [`OfCpu::take`] uses them.
const EVENTS: &[(&str, &[&str], Into)] = &[
    ("sched/sched_switch", &["prev_pid", "prev_prio", "next_pid", "next_prio", "next_comm", "prev_comm"], Into::Switch),
    ("sched/sched_migrate_task", &["pid", "orig_cpu", "dest_cpu"], Into::Moved),
    ("sched/sched_waking", &["pid"], Into::Woken),
    ("timer/hrtimer_start", &["hrtimer", "softexpires"], Into::TimerStart),
    ("timer/hrtimer_expire_entry", &["hrtimer", "function"], Into::TimerEntry),
    ("timer/hrtimer_expire_exit", &["hrtimer"], Into::TimerExit),
    ("irq/irq_handler_entry", &["irq"], Into::Number(Kind::IrqEntry)),
    ("irq/irq_handler_exit", &["irq"], Into::Number(Kind::IrqExit)),
    ("irq/softirq_entry", &["vec"], Into::Number(Kind::SoftirqEntry)),
    ("irq/softirq_exit", &["vec"], Into::Number(Kind::SoftirqExit)),
    ("power/cpu_idle", &["state"], Into::Idle),
    ("power/cpu_frequency", &["state"], Into::Number(Kind::Frequency)),
    ("exceptions/page_fault_user", &["address", "ip"], Into::PageFault),
    ("exceptions/page_fault_kernel", &["address", "ip"], Into::PageFault),
    ("nmi/nmi_handler", &["handler", "delta_ns"], Into::Nmi),
    ("irq_vectors/reschedule_entry", &[], Into::Known(Kind::VectorEntry, 0)),
    ("irq_vectors/reschedule_exit", &[], Into::Known(Kind::VectorExit, 0)),
    ("irq_vectors/call_function_entry", &[], Into::Known(Kind::VectorEntry, 1)),
    ("irq_vectors/call_function_exit", &[], Into::Known(Kind::VectorExit, 1)),
    ("irq_vectors/call_function_single_entry", &[], Into::Known(Kind::VectorEntry, 1)),
    ("irq_vectors/call_function_single_exit", &[], Into::Known(Kind::VectorExit, 1)),
    ("irq_vectors/irq_work_entry", &[], Into::Known(Kind::VectorEntry, 2)),
    ("irq_vectors/irq_work_exit", &[], Into::Known(Kind::VectorExit, 2)),
    ("irq_vectors/thermal_apic_entry", &[], Into::Known(Kind::VectorEntry, 3)),
    ("irq_vectors/thermal_apic_exit", &[], Into::Known(Kind::VectorExit, 3)),
    ("irq_vectors/threshold_apic_entry", &[], Into::Known(Kind::VectorEntry, 4)),
    ("irq_vectors/threshold_apic_exit", &[], Into::Known(Kind::VectorExit, 4)),
    ("irq_vectors/error_apic_entry", &[], Into::Known(Kind::VectorEntry, 5)),
    ("irq_vectors/error_apic_exit", &[], Into::Known(Kind::VectorExit, 5)),
    ("ipi/ipi_entry", &[], Into::Known(Kind::VectorEntry, 6)),
    ("ipi/ipi_exit", &[], Into::Known(Kind::VectorExit, 6)),
];

/// A trace of the measured CPUs, until this is dropped.
#[derive(Debug)]
pub(super) struct Events {
    /// Closed before the instance is removed.
    cpus: Mutex<Vec<OfCpu>>,
    instance: Instance,
    layout: PageLayout,
    /// By the number of their event; with the place of the field that names the thread in which it happened.
    readers: HashMap<u16, (FieldReader, Into, usize)>,
    /// The events that are recorded.
    pub(super) names: Vec<&'static str>,
    /// What is not seen, and what it would take.
    pub(super) missing: Vec<String>,
    late_timers: bool,
    clock_offset_ns: i64,
}

impl Events {
    /// Makes the instance, with all events on and recording off; with those of each waking where `wakings` says so.
    ///
    /// # Errors
    /// Why it cannot be had, in words, with what it would take.
    pub(super) fn new(measured: &CpuSet, clock: ClockId, wakings: bool) -> Result<Self, String> {
        if !counts_like_the_trace() {
            let why =
                "the kernel's trace counts threads as the first name space does, and this is another (a container)";
            return Err(why.to_owned());
        }
        if TimeNamespace::own() != TimeNamespace::default() {
            return Err(TIME_NAMESPACE.to_owned());
        }
        Self::from_tracefs(measured, clock, wakings).map_err(|error| error.to_string())
    }

    fn from_tracefs(measured: &CpuSet, clock: ClockId, wakings: bool) -> Result<Self, Box<dyn std::error::Error>> {
        let tracefs = Tracefs::find()?;
        // What a killed run left; that it cannot be removed is no reason not to go on.
        let _ = tracefs.remove_leftovers();
        let instance = Instance::new(&tracefs)?;
        let layout = PageLayout::parse(&instance.header_page()?, Endian::NATIVE)?;
        instance.set("trace_clock", "mono")?;
        instance.set("options/overwrite", "1")?;
        instance.set("buffer_size_kb", OTHERS_KIB)?;
        instance.set("tracing_cpumask", &measured.to_mask())?;
        let (mut readers, mut names, mut missing) = (HashMap::new(), Vec::new(), Vec::new());
        for (event, fields, into) in EVENTS.iter().filter(|(.., into)| wakings || *into != Into::Woken) {
            let format = match tracefs.format(event) {
                // What another architecture or kernel has, nobody misses here.
                Err(TraceError::EventMissing { .. }) => continue,
                other => other?,
            };
            let fields: Vec<&str> = fields.iter().copied().chain([WHO]).collect();
            let reader = match FieldReader::new(&Format::parse(&format)?, &fields, Endian::NATIVE) {
                Ok(reader) => reader,
                Err(error) => {
                    missing.push(error.to_string());
                    continue;
                }
            };
            readers.insert(reader.id(), (reader, *into, fields.len() - 1));
            instance.enable(event)?;
            names.push(event.rsplit('/').next().unwrap_or(event));
        }
        let has = |into: Into| readers.values().any(|(_, other, _)| *other == into);
        if !has(Into::Switch) {
            return Err("threads cannot be seen: the kernel has no event sched/sched_switch".into());
        }
        for (into, what, event) in [
            (Into::TimerEntry, "timers' functions", "timer/hrtimer_expire_entry"),
            (Into::Number(Kind::IrqEntry), "interrupts", "irq/irq_handler_entry"),
            (Into::Number(Kind::SoftirqEntry), "softirqs", "irq/softirq_entry"),
        ] {
            if !has(into) {
                missing.push(format!("{what} are not seen: the kernel has no event {event}"));
            }
        }
        if wakings && !has(Into::Woken) {
            missing.push(NO_WAKINGS.to_owned());
        }
        let knows_wakeups = Symbols::get().wakeup_function.is_some();
        if !knows_wakeups {
            missing.push(FUNCTIONS_HAVE_NO_NAMES.to_owned());
        }
        let mut cpus = Vec::new();
        for cpu in measured.iter() {
            instance.set(&format!("per_cpu/cpu{cpu}/buffer_size_kb"), BUFFER_KIB)?;
            cpus.push(OfCpu::new(cpu, instance.buffer(cpu)?));
        }
        Ok(Self {
            cpus: Mutex::new(cpus),
            late_timers: knows_wakeups && has(Into::TimerStart) && has(Into::TimerEntry),
            instance,
            layout,
            readers,
            names,
            missing,
            clock_offset_ns: ClockWatch::new(clock).measured_less_monotonic_ns(),
        })
    }

    /// Begins to record for these measuring threads.
    pub(super) fn begin(&self, tids: &[u32]) {
        self.cpus().iter_mut().for_each(|of_cpu| of_cpu.kept.measuring(tids));
        let own: Vec<String> = tids.iter().map(|tid| format!("common_pid == {tid}")).collect();
        // Page faults of other threads come by the hundred thousand and explain nothing. A kernel without filters records them.
        let _ = self.instance.set("events/exceptions/filter", &own.join(" || "));
        // Where the kernel refuses what it has just granted, no event comes, and each outlier says that none did.
        let _ = self.instance.start();
    }

    fn cpus(&self) -> std::sync::MutexGuard<'_, Vec<OfCpu>> {
        self.cpus.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// What the kernel left out so far, if anything.
    pub(super) fn left_out(&self) -> Option<String> {
        let switches: u64 = self.cpus().iter().map(|of_cpu| of_cpu.kept.left_out).sum();
        (switches > 0).then(|| {
            format!(
                "the kernel left at least {switches} switches between threads out of its trace: where nothing is seen to \
                 run, a thread may have"
            )
        })
    }

    /// The events of a CPU from `from_ns` (CLOCK_MONOTONIC) up to now, with the earlier ones that show which thread had the
    /// CPU then; `None` for a CPU that is not measured.
    pub(super) fn caught(&self, cpu: u32, from_ns: i64) -> Option<Caught> {
        let mut cpus = self.cpus();
        let of_cpu = cpus.iter_mut().find(|of_cpu| of_cpu.cpu == cpu)?;
        // Every wake-up switches to its thread: where nothing stands here, nothing was recorded, or it cannot be read.
        let is_read = of_cpu.read(self).is_some();
        let slots = of_cpu.kept.from(from_ns).map(|slot| (slot, Vec::new())).collect();
        let overwritten = of_cpu.kept.lacks_older() || !is_read;
        Some(Caught { slots, overwritten, late_timers: self.late_timers })
    }
}

/// One CPU's buffer, and what was read from it.
#[derive(Debug)]
struct OfCpu {
    cpu: u32,
    buffer: Buffer,
    kept: Kept,
    /// When timers that were started are to expire (ns, each on its own clock), by their address.
    expiries: HashMap<u64, i64>,
    /// The functions of timers that run, by their address.
    running: HashMap<u64, u64>,
}

impl OfCpu {
    fn new(cpu: u32, buffer: Buffer) -> Self {
        Self { cpu, buffer, kept: Kept::default(), expiries: HashMap::new(), running: HashMap::new() }
    }

    fn read(&mut self, events: &Events) -> Option<()> {
        let mut page = vec![0; events.layout.page_bytes()];
        for _ in 0..MOST_PAGES {
            let Some(length) = self.buffer.take(&mut page).ok()?.map(<[u8]>::len) else { break };
            let mut records = events.layout.records(&page[..length]).ok()?;
            if records.lost() != Lost::Nothing {
                // What is older does not join what follows.
                self.kept.clear();
            }
            while let Some(record) = records.next_record().ok()? {
                self.take(&record, events);
            }
        }
        Some(())
    }

    fn take(&mut self, record: &Record<'_>, events: &Events) {
        let Some(id) = event_id(record, Endian::NATIVE) else { return };
        let Some((reader, into, who)) = events.readers.get(&id) else { return };
        // Between a switch and the next one's first step these still carry the number of the thread before.
        if !matches!(into, Into::Nmi | Into::TimerStart) {
            if let (Some(tid), Ok(time_ns)) = (reader.number(record, *who), i64::try_from(record.time_ns)) {
                self.kept.sees(low(tid), time_ns);
            }
        }
        let Some(slot) = self.slot(record, reader, *into, events.clock_offset_ns) else { return };
        match reader.name(record, 5).filter(|_| *into == Into::Switch) {
            Some(from_name) => self.kept.put_switch(slot, &from_name.text()),
            None => self.kept.put(slot),
        }
    }

    /// The form that [`super::names::Names::event`] reads, which is that of the flight recorder.
    fn slot(&mut self, record: &Record<'_>, reader: &FieldReader, into: Into, clock_offset_ns: i64) -> Option<Slot> {
        let number = |field| reader.number(record, field);
        let small = |field| number(field).map(low);
        let mut slot =
            Slot { time_ns: i64::try_from(record.time_ns).ok()?, kind: Kind::Switch, a: 0, b: 0, c: 0, name: [0; 16] };
        match into {
            Into::Switch => {
                slot.a = small(0)?;
                slot.b = u64::from(small(2)?) | number(3)? << 32;
                slot.c = number(1)? << 32;
                put_name(&mut slot, &reader.name(record, 4)?.text());
            }
            Into::Moved => (slot.kind, slot.a, slot.b) = (Kind::Moved, small(0)?, number(1)? | number(2)? << 32),
            Into::Woken => (slot.kind, slot.a) = (Kind::Woken, small(0)?),
            Into::TimerStart => {
                if self.expiries.len() >= MOST_TIMERS {
                    self.expiries.clear();
                }
                self.expiries.insert(number(0)?, signed(number(1)?));
                return None;
            }
            Into::TimerEntry => {
                let (timer, function) = (number(0)?, number(1)?);
                let expires_ns = self.expiries.remove(&timer);
                self.running.insert(timer, function);
                if Symbols::get().wakeup_function != Some(function) {
                    (slot.kind, slot.b) = (Kind::TimerEntry, function);
                    slot.c = u64::from_ne_bytes(expires_ns.unwrap_or(0).to_ne_bytes());
                } else {
                    // The function that wakes a sleeper is a part of each wake-up, and is reported if it runs late.
                    let expires_ns = expires_ns?;
                    let late_ns = slot.time_ns.saturating_add(clock_offset_ns).saturating_sub(expires_ns);
                    if late_ns < analysis::cause::LATE_TIMER_NS {
                        return None;
                    }
                    slot.kind = Kind::LateTimer;
                    slot.b = u64::MAX;
                    slot.c = u64::from_ne_bytes(expires_ns.to_ne_bytes());
                    slot.name[..8].copy_from_slice(&slot.time_ns.to_ne_bytes());
                }
            }
            Into::TimerExit => {
                let function = self.running.remove(&number(0)?)?;
                if Symbols::get().wakeup_function == Some(function) {
                    return None;
                }
                (slot.kind, slot.b) = (Kind::TimerExit, function);
            }
            Into::Idle => match small(0)? {
                OUT_OF_IDLE => slot.kind = Kind::IdleExit,
                state => (slot.kind, slot.a) = (Kind::IdleEntry, state),
            },
            Into::PageFault => (slot.kind, slot.b, slot.c) = (Kind::PageFault, number(0)?, number(1)?),
            Into::Nmi => (slot.kind, slot.b, slot.c) = (Kind::Nmi, number(0)?, number(1)?),
            Into::Number(kind) => (slot.kind, slot.a) = (kind, small(0)?),
            Into::Known(kind, value) => (slot.kind, slot.a) = (kind, value),
        }
        Some(slot)
    }
}

fn signed(value: u64) -> i64 {
    i64::from_ne_bytes(value.to_ne_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The trace, where it may be used.
    fn events() -> Option<Events> {
        let cpus = kernel::sched::affinity_of(0).unwrap_or_default();
        let made = Events::new(&cpus, ClockId::Monotonic, false);
        if let Err(why) = &made {
            println!("not shown here: {why}");
        }
        made.ok()
    }

    #[test]
    fn a_sleeper_s_switches_and_its_late_timer_are_caught() {
        let Some(events) = events() else { return };
        assert!(events.instance.name().starts_with("punctual-"));
        events.begin(&[kernel::sched::thread_id()]);
        // Ordinary threads are let sleep for 50 us more than they ask for: each of their timers is late.
        let sleeper = std::thread::Builder::new().name("test-sleeper".to_owned()).spawn(|| {
            let cpu = kernel::sched::affinity_of(0).unwrap_or_default().last().unwrap_or(0);
            kernel::sched::set_affinity(0, &[cpu].into_iter().collect()).expect("one of ours");
            let named_ns = kernel::clock::now_ns(ClockId::Monotonic.into());
            (0..50).for_each(|_| std::thread::sleep(std::time::Duration::from_millis(1)));
            (cpu, kernel::sched::thread_id(), named_ns)
        });
        let (cpu, tid, named_ns) = sleeper.expect("a thread").join().expect("its end");
        let caught = events.caught(cpu, i64::MIN).expect("what can be read");
        let slots: Vec<Slot> = caught.slots.iter().map(|(slot, _)| *slot).collect();
        assert!(slots.is_sorted_by_key(|slot| slot.time_ns));
        let switches = slots.iter().filter(|slot| slot.kind == Kind::Switch && low(slot.b) == tid);
        let to_sleeper: Vec<&Slot> = switches.collect();
        // Some kernels write down no switch from idle; each turn has one of the two.
        let of_sleeper = slots.iter().filter(|slot| slot.kind == Kind::Switch && (slot.a == tid || low(slot.b) == tid));
        assert!(of_sleeper.count() >= 40, "{} to it, of {}", to_sleeper.len(), slots.len());
        // It may have come to the CPU before it had its name, on a busy machine several times.
        let unnamed =
            to_sleeper.iter().filter(|slot| slot.time_ns >= named_ns && slot.name() != "test-sleeper").count();
        assert_eq!(unnamed, 0, "of {}", to_sleeper.len());
        if events.late_timers {
            let late = slots.iter().filter(|slot| slot.kind == Kind::LateTimer);
            // The time at which it should have expired is known, and lies before it fired.
            let of_sleeper = late.filter(|slot| (5_000..50_000_000).contains(&(slot.time_ns - signed(slot.c)))).count();
            assert!(of_sleeper >= 40, "{of_sleeper} late timers");
        }
        // The next outlier may begin in what was read for this one.
        let again = events.caught(cpu, i64::MIN).expect("what can be read");
        assert!(again.slots.iter().any(|(slot, _)| slot == &slots[slots.len() - 1]));
    }

    #[test]
    fn what_was_lost_is_told_and_does_not_join_what_follows() {
        let Some(events) = events() else { return };
        let cpu = kernel::sched::affinity_of(0).unwrap_or_default().last().unwrap_or(0);
        events.instance.set(&format!("per_cpu/cpu{cpu}/buffer_size_kb"), "4").expect("a small buffer");
        events.begin(&[kernel::sched::thread_id()]);
        let busy = std::thread::spawn(move || {
            kernel::sched::set_affinity(0, &[cpu].into_iter().collect()).expect("one of ours");
            (0..400).for_each(|_| std::thread::sleep(std::time::Duration::from_micros(100)));
        });
        busy.join().expect("its end");
        let caught = events.caught(cpu, i64::MIN).expect("what can be read");
        assert!(caught.overwritten, "{} are kept", caught.slots.len());
        assert!(caught.slots.len() < 1_600, "{} are kept", caught.slots.len());
    }
}
