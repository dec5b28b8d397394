//! Reads the recorders after outliers, and concludes. It runs where the drain runs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use analyse::cause::{self, Evidence, Late, Place, Thread, Totals};
use flight::ring::Kind;
use kernel::sched::Policy;
use record::{CauseTotal, ExplainedSample, ExplainingCost, Explanation};

use super::ExplainConfig;
use super::names::Names;
use super::recorder::Recorder;
use super::watch::Watched;
use crate::clock_watch::ClockWatch;
use crate::witness::{NS_PER_TICK, Stat};

/// So many worst samples of each thread are followed where no threshold is given.
pub(crate) const FOLLOWED: usize = 8;
/// A threshold that follows is set after so many samples.
const LEAST_SAMPLES: u64 = 100;

/// A measuring thread, as the explainer knows it.
#[derive(Clone, Debug)]
pub(crate) struct Followed {
    pub(crate) thread: u32,
    pub(crate) cpu: u32,
    pub(crate) own: Thread,
    pub(crate) watched: Arc<Watched>,
}

/// An outlier as it was found.
struct Caught {
    copy: Option<flight::ring::Copy>,
    scheduled_ns: i64,
    woke_ns: i64,
}

/// Explains outliers while a run goes.
#[derive(Debug)]
pub(crate) struct Explainer {
    recorder: Arc<Recorder>,
    config: ExplainConfig,
    threads: Vec<Followed>,
    names: Names,
    totals: Totals,
    is_virtual: bool,
    /// By CPU: the count at the last look.
    smi: BTreeMap<u32, u32>,
    /// By CPU: ticks stolen, at the last look and at the one before.
    steal: Option<(Stat, Stat)>,
}

impl Explainer {
    pub(crate) fn new(recorder: Arc<Recorder>, config: ExplainConfig, threads: Vec<Followed>) -> Self {
        let smi = threads.iter().filter_map(|of| Some((of.cpu, kernel::msr::smi_count(of.cpu).ok()?))).collect();
        Self {
            recorder,
            config,
            threads,
            names: Names::default(),
            totals: Totals::default(),
            is_virtual: host::virtual_machine(&host::Root::live()).is_some(),
            smi,
            steal: Stat::read().map(|stat| (stat.clone(), stat)),
        }
    }

    /// Arms the recorders.
    pub(crate) fn begin(&self) {
        for of in &self.threads {
            let above_ns = of.watched.above_ns.load(Ordering::Relaxed);
            self.recorder.memory.stack_from_ns(of.cpu).store(above_ns.unsigned_abs(), Ordering::Relaxed);
            self.recorder.memory.armed(of.cpu).store(1, Ordering::Release);
        }
    }

    /// Looks at every thread; `typical_ns` and the worst few of each are the drain's to know.
    pub(crate) fn look(&mut self, clocks: &ClockWatch, known: &[Known]) {
        if let (Some((now, before)), Some(stat)) = (&mut self.steal, Stat::read()) {
            *before = std::mem::replace(now, stat);
        }
        for (of, known) in self.threads.clone().iter().zip(known) {
            if of.watched.waits.load(Ordering::Acquire) {
                let caught = Caught {
                    copy: self.recorder.memory.copy(of.cpu),
                    scheduled_ns: of.watched.scheduled_ns.load(Ordering::Relaxed),
                    woke_ns: of.watched.woke_ns.load(Ordering::Relaxed),
                };
                // Before it is looked through: names may have to be read for it.
                self.recorder.memory.armed(of.cpu).store(1, Ordering::Release);
                of.watched.waits.store(false, Ordering::Release);
                self.read(of, caught, clocks, known.typical_ns);
            }
            if self.config.above.is_none() && known.samples >= LEAST_SAMPLES {
                let above_ns = known.worst_above_ns.max(2 * known.typical_ns);
                of.watched.above_ns.store(above_ns, Ordering::Relaxed);
                self.recorder.memory.stack_from_ns(of.cpu).store(above_ns.unsigned_abs(), Ordering::Relaxed);
            }
        }
    }

    fn read(&mut self, of: &Followed, caught: Caught, clocks: &ClockWatch, typical_ns: i64) {
        let Caught { copy: Some(copy), scheduled_ns, woke_ns } = caught else { return };
        let (slots, overwritten) = copy.read();
        let stack = |slot: &flight::ring::Slot| match slot.kind {
            Kind::LateTimer => copy.stack(slot.b, slot.a),
            _ => Vec::new(),
        };
        let events = slots.iter().map(|slot| self.names.event(of.cpu, slot, &stack(slot))).collect();
        let late = Late {
            thread: of.thread,
            cpu: of.cpu,
            scheduled: clocks.moment(scheduled_ns),
            woke: clocks.moment(woke_ns),
            scheduled_ns,
            latency_ns: woke_ns - scheduled_ns,
            typical_ns,
            own: of.own.clone(),
        };
        let place = Place { is_virtual: self.is_virtual, steal_ns: self.steal_of(of.cpu), smi: self.smi_of(of.cpu) };
        let evidence = Evidence { events, overwritten, late_timers: self.recorder.late_timers };
        self.totals.add(cause::explain(&late, &evidence, place));
    }

    fn steal_of(&self, cpu: u32) -> Option<u64> {
        let (now, before) = self.steal.as_ref()?;
        let steal = |stat: &Stat| stat.cpus.get(&cpu).map(|ticks| ticks.steal);
        Some(steal(now)?.saturating_sub(steal(before)?) * NS_PER_TICK)
    }

    /// Since the last time that it was asked: reading it interrupts the CPU, so that is done after an outlier alone.
    fn smi_of(&mut self, cpu: u32) -> Option<u64> {
        let now = kernel::msr::smi_count(cpu).ok()?;
        let before = self.smi.insert(cpu, now)?;
        Some(u64::from(now.wrapping_sub(before)))
    }

    /// What the run knows.
    pub(crate) fn finish(mut self, cost: Option<ExplainingCost>) -> Explanation {
        let sum = |of: fn(&Watched) -> u64| units::total(self.threads.iter().map(|thread| of(&thread.watched)));
        let explained = self.totals.explained();
        let (mut causes, mut samples) = self.totals.finish();
        self.names.fill_in(&mut texts(&mut causes, &mut samples));
        cause::join_alike(&mut causes);
        Explanation {
            sources: vec![format!("flight recorder in the kernel: {}", self.recorder.trace_points.join(", "))],
            missing: self.recorder.missing.clone(),
            above_ns: self.config.above.map(units::Ns::unsigned),
            cost,
            outliers: sum(|watched| watched.outliers.load(Ordering::Relaxed)),
            explained,
            not_recorded: sum(|watched| watched.not_recorded.load(Ordering::Relaxed)),
            causes,
            samples,
        }
    }
}

/// What the drain knows of a thread.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Known {
    pub(crate) samples: u64,
    /// The median so far (ns).
    pub(crate) typical_ns: i64,
    /// The least of the worst few so far (ns).
    pub(crate) worst_above_ns: i64,
}

/// A policy as the kernel counts: its number, and its priority, where less is more.
pub(crate) fn kernel_priority(policy: Policy) -> (u32, i32) {
    let real_time = |priority: u32| 99 - i32::try_from(priority).unwrap_or(0);
    match policy {
        Policy::Fifo(priority) => (1, real_time(priority)),
        Policy::RoundRobin(priority) => (2, real_time(priority)),
        Policy::Deadline { .. } => (6, -1),
        Policy::Other => (0, 120),
    }
}

/// Everywhere that a function's name can stand.
fn texts<'a>(causes: &'a mut [CauseTotal], samples: &'a mut [ExplainedSample]) -> Vec<&'a mut String> {
    let mut all: Vec<&mut String> = causes.iter_mut().map(|cause| &mut cause.name).collect();
    for sample in samples {
        all.extend([&mut sample.name, &mut sample.evidence]);
        all.extend(sample.parts.iter_mut().map(|part| &mut part.name));
        all.extend(sample.timeline.iter_mut().map(|segment| &mut segment.name));
        all.extend(sample.stack.iter_mut());
    }
    all
}
