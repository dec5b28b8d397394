//! Evidence about a run that the samples themselves do not hold: steal, frequency, SMIs, throttling, rivals.
//!
//! Each source is read before and after; what a machine does not offer is named, since a disturbance of that kind
//! would go unseen.

mod bandwidth;
mod counters;
mod frequency;
mod lookout;
mod memory;
mod read_back;
mod rivals;
mod stat;
mod stopped;
mod throttle;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

pub(crate) use bandwidth::tightest_period_ns;
pub(crate) use counters::SmiCounters;
pub(crate) use lookout::{Lookout, LookoutObservations, Orders, spawn};
pub(crate) use memory::MemoryLock;
pub(crate) use read_back::{Grant, ReadBack, RequestedScheduling};
use record::{NotObservable, Reason, ReasonCode, Unobservable, Validity};
pub(crate) use rivals::{Rank, Rival, find as find_rivals};
pub(crate) use stat::{NS_PER_TICK, Stat};
pub(crate) use throttle::{LEAST_STOP_NS, Measuring, StopLimits, ThrottleJudgment, ThrottleWatch};
use units::CpuSet;

use self::counters::{Counters, NoSmiCounter};
use self::frequency::{Finding, Frequency};

/// The first look.
#[derive(Debug)]
pub(crate) struct Witness {
    measured: CpuSet,
    before: Snapshot,
    counters: Counters,
    began: Instant,
    /// CPU time that this process had used then (ns).
    own_ns: Option<u64>,
}

#[derive(Clone, Debug, Default)]
struct Snapshot {
    stat: Option<Stat>,
    smi: BTreeMap<u32, u32>,
    frequencies: BTreeMap<u32, Frequency>,
    groups: BTreeMap<PathBuf, bandwidth::Group>,
}

/// What changed between the two looks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Witnessed {
    /// Time stolen from each measured CPU (ns); absent where unreadable.
    pub(crate) steal_ns: BTreeMap<u32, u64>,
    /// System management interrupts of each measured CPU; absent where unreadable.
    pub(crate) smi: BTreeMap<u32, u64>,
    /// CPU time that other programs and interrupts used on all CPUs, a load of ours among them (CPUs); absent where
    /// unreadable, and while the run goes on.
    pub(crate) others_cpu_used: Option<f64>,
    /// What it means for the run.
    pub(crate) reasons: Vec<Reason>,
    /// What this machine gives no means to see.
    pub(crate) not_observable: Vec<NotObservable>,
}

impl Witnessed {
    /// Adds what was seen, and what could not be, to a run's validity.
    pub(crate) fn judge(&self, validity: &mut Validity) {
        for reason in &self.reasons {
            validity.add(reason.code, reason.detail.clone());
        }
        for not in &self.not_observable {
            validity.add_not_observable(not.what, not.detail.clone());
        }
    }
}

impl Snapshot {
    fn take(cpus: &CpuSet, counters: &Counters) -> Self {
        Self {
            stat: Stat::read(),
            smi: counters.smi.counts(),
            frequencies: frequency::read(Path::new("/"), cpus, |cpu| counters.cycles(cpu)),
            groups: bandwidth::read(Path::new("/")),
        }
    }
}

impl Witness {
    /// Looks before the run at the CPUs that will be measured.
    #[must_use]
    pub(crate) fn begin(measured: &CpuSet) -> Self {
        let counters = Counters::open(measured);
        Self {
            measured: measured.clone(),
            before: Snapshot::take(measured, &counters),
            counters,
            began: Instant::now(),
            own_ns: kernel::usage::process_cpu_ns(),
        }
    }

    /// Looks once more, at the end of a run, and concludes.
    pub(crate) fn end(self) -> Witnessed {
        let elapsed = self.began.elapsed();
        let own_ns = kernel::usage::process_cpu_ns().zip(self.own_ns).map(|(now, then)| now.saturating_sub(then));
        let witnessed = self.so_far();
        let stat = self.before.stat.as_ref().zip(Stat::read());
        let others_cpu_used =
            stat.zip(own_ns).map(|((before, after), own_ns)| after.used_by_others(before, own_ns, elapsed));
        Witnessed { others_cpu_used, ..witnessed }
    }

    /// Looks again and concludes, at the end of a run or while it goes on.
    #[must_use]
    pub(crate) fn so_far(&self) -> Witnessed {
        let after = Snapshot::take(&self.measured, &self.counters);
        let virtual_machine = host::virtual_machine(&host::Root::live());
        let no_smi = self.counters.smi.missing(&self.before.smi, &after.smi);
        conclude(&self.measured, &self.before, &after, no_smi.as_ref(), virtual_machine.as_deref())
    }
}

/// What the two looks mean, with what the machine lacks; pure.
fn conclude(
    measured: &CpuSet,
    before: &Snapshot,
    after: &Snapshot,
    no_smi: Option<&NoSmiCounter>,
    virtual_machine: Option<&str>,
) -> Witnessed {
    let mut witnessed = compare(measured, before, after);
    witnessed.reasons.extend(bandwidth::reasons(&before.groups, &after.groups));
    let mut missing = Vec::new();
    if after.stat.is_none() {
        missing.push("steal time (/proc/stat)".to_owned());
    }
    if let Some(source) = virtual_machine {
        // Its frequencies and interruptions by firmware are the host's, as are its other delays.
        let detail = format!("{source}; the host's own delays are in these numbers");
        witnessed.reasons.push(Reason { code: ReasonCode::VirtualMachine, detail });
    } else {
        for (finding, cpus) in frequencies(before, after) {
            match finding {
                Finding::Missing(what) => missing.push(format!("{}: {what}", cpus_label(&cpus))),
                Finding::NotObservable(why) => witnessed.not_observable.push(NotObservable {
                    what: Unobservable::FrequencyChanges,
                    detail: format!("{}: {why}", cpus_label(&cpus)),
                }),
                Finding::Steady | Finding::Changed(_) => {}
            }
        }
        match no_smi {
            Some(NoSmiCounter::Missing(what)) => missing.push(what.clone()),
            Some(NoSmiCounter::NotObservable(why)) => witnessed
                .not_observable
                .push(NotObservable { what: Unobservable::FirmwareInterruptions, detail: why.clone() }),
            None => {}
        }
    }
    if !missing.is_empty() {
        let detail = format!("unreadable here: {}", missing.join("; "));
        witnessed.reasons.push(Reason { code: ReasonCode::EvidenceMissing, detail });
    }
    witnessed
}

fn cpus_label(cpus: &CpuSet) -> String {
    format!("CPU{} {cpus}", if cpus.len() == 1 { "" } else { "s" })
}

/// What the looks say of the frequencies, with the CPUs of which it is said.
fn frequencies(before: &Snapshot, after: &Snapshot) -> Vec<(Finding, CpuSet)> {
    let mut found: Vec<(Finding, CpuSet)> = Vec::new();
    for (cpu, later) in &after.frequencies {
        let Some(earlier) = before.frequencies.get(cpu) else { continue };
        let finding = frequency::judge(earlier, later);
        match found.iter_mut().find(|(known, _)| *known == finding) {
            Some((_, cpus)) => cpus.insert(*cpu),
            None => found.push((finding, CpuSet::from_iter([*cpu]))),
        }
    }
    found
}

/// What changed on the measured CPUs; pure.
fn compare(measured: &CpuSet, before: &Snapshot, after: &Snapshot) -> Witnessed {
    let mut reasons = Vec::new();
    let mut add = |code, detail| reasons.push(Reason { code, detail });
    let list = |changes: &[(u32, u64)], unit: &str| {
        let each: Vec<String> = changes.iter().map(|(cpu, by)| format!("CPU {cpu}: {by}{unit}")).collect();
        each.join(", ")
    };
    let mut steal_ns = BTreeMap::new();
    if let (Some(earlier), Some(later)) = (&before.stat, &after.stat) {
        for (cpu, ticks) in later.cpus.iter().filter(|(cpu, _)| measured.contains(**cpu)) {
            if let Some(earlier) = earlier.cpus.get(cpu) {
                steal_ns.insert(*cpu, ticks.steal.saturating_sub(earlier.steal).saturating_mul(NS_PER_TICK));
            }
        }
    }
    let stolen: Vec<_> = steal_ns.iter().filter(|(_, ns)| **ns > 0).map(|(cpu, ns)| (*cpu, ns / 1_000_000)).collect();
    if !stolen.is_empty() {
        add(ReasonCode::VirtualMachineSteal, list(&stolen, " ms"));
    }
    for (finding, cpus) in frequencies(before, after) {
        if let Finding::Changed(how) = finding {
            add(ReasonCode::FrequencyChanged, format!("{}: {how}", cpus_label(&cpus)));
        }
    }
    let smi: BTreeMap<u32, u64> = after
        .smi
        .iter()
        .filter_map(|(cpu, now)| Some((*cpu, u64::from(now.wrapping_sub(*before.smi.get(cpu)?)))))
        .collect();
    let counted: Vec<_> = smi.iter().filter(|(_, n)| **n > 0).map(|(cpu, n)| (*cpu, *n)).collect();
    if !counted.is_empty() {
        add(ReasonCode::SmiCounted, list(&counted, ""));
    }
    Witnessed { steal_ns, smi, reasons, others_cpu_used: None, not_observable: Vec::new() }
}

/// How often the scheduler has moved a thread of ours, if the kernel reports it (CONFIG_SCHED_DEBUG).
pub(crate) fn migrations(tid: u32) -> Option<u64> {
    let text = crate::kernel_text::read(format!("/proc/self/task/{tid}/sched")).ok()?;
    let line = text.lines().find(|line| line.starts_with("se.nr_migrations"))?;
    line.rsplit(':').next()?.trim().parse().ok()
}

#[cfg(test)]
mod tests;
