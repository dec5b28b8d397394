//! Evidence about a run that the samples themselves do not hold: steal, frequency, SMIs, throttling, rivals.
//!
//! Each source is read before and after; what a machine does not offer is named, since a disturbance of that kind
//! would go unseen.

mod lookout;
mod memory;
mod read_back;
mod rivals;
mod stat;
mod stopped;
mod throttle;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

pub(crate) use lookout::{Lookout, Orders, Seen};
pub(crate) use memory::MemoryLock;
pub(crate) use read_back::{Grant, ReadBack, Wanted};
use record::{Reason, ReasonCode};
pub(crate) use rivals::{Rank, Rival, find as find_rivals};
pub(crate) use stat::{NS_PER_TICK, Stat};
use units::CpuSet;

use self::throttle::ThrottleWatch;

/// The first look.
#[derive(Debug)]
pub(crate) struct Witness {
    measured: CpuSet,
    before: Snapshot,
    throttle: ThrottleWatch,
}

#[derive(Clone, Debug, Default)]
struct Snapshot {
    stat: Option<Stat>,
    smi: BTreeMap<u32, u32>,
    frequency_changes: BTreeMap<u32, u64>,
    thermal_throttles: BTreeMap<u32, u64>,
}

/// What changed between the two looks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Witnessed {
    /// Time stolen from each measured CPU (ns); absent where unreadable.
    pub(crate) steal_ns: BTreeMap<u32, u64>,
    /// System management interrupts of each measured CPU; absent where unreadable.
    pub(crate) smi: BTreeMap<u32, u64>,
    /// What it means for the run.
    pub(crate) reasons: Vec<Reason>,
}

fn number(path: &str) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

impl Snapshot {
    fn take(cpus: &CpuSet) -> Self {
        let per_cpu = |file: &str| {
            cpus.iter()
                .filter_map(|cpu| Some((cpu, number(&format!("/sys/devices/system/cpu/cpu{cpu}/{file}"))?)))
                .collect()
        };
        Self {
            stat: Stat::read(),
            smi: cpus.iter().filter_map(|cpu| Some((cpu, kernel::msr::smi_count(cpu).ok()?))).collect(),
            frequency_changes: per_cpu("cpufreq/stats/total_trans"),
            thermal_throttles: per_cpu("thermal_throttle/core_throttle_count"),
        }
    }
}

/// Why nothing counts frequency changes.
fn frequency_changes_missing(cpus: &CpuSet) -> &'static str {
    let has_driver = |cpu| Path::new(&format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq")).exists();
    if cpus.iter().any(has_driver) {
        "frequency changes (CONFIG_CPU_FREQ_STAT)"
    } else {
        "frequency changes (no driver: fixed, or left to the firmware)"
    }
}

fn is_intel() -> bool {
    fs::read_to_string("/proc/cpuinfo").is_ok_and(|text| text.contains("GenuineIntel"))
}

impl Witness {
    /// Looks before the run at the CPUs that will be measured.
    #[must_use]
    pub(crate) fn begin(measured: &CpuSet) -> Self {
        Self { measured: measured.clone(), throttle: ThrottleWatch::begin(), before: Snapshot::take(measured) }
    }

    /// Looks again and concludes.
    #[must_use]
    pub(crate) fn end(self) -> Witnessed {
        let after = Snapshot::take(&self.measured);
        let mut witnessed = compare(&self.before, &after);
        let virtual_machine = host::virtual_machine(&host::Root::live());
        let mut add = |code, detail: String| witnessed.reasons.push(Reason { code, detail });
        let mut missing = Vec::new();
        match self.throttle.end() {
            throttle::Verdict::Quiet => {}
            throttle::Verdict::Hit(line) => add(ReasonCode::RtThrottled, line),
            throttle::Verdict::Unreadable(why) => missing.push(why),
        }
        if after.stat.is_none() {
            missing.push("steal time (/proc/stat)".to_owned());
        }
        if let Some(source) = virtual_machine {
            add(ReasonCode::VirtualMachine, format!("{source}; the host's own delays are in these numbers"));
        } else {
            if after.frequency_changes.is_empty() {
                missing.push(frequency_changes_missing(&self.measured).to_owned());
            }
            if after.smi.is_empty() && is_intel() {
                missing.push(
                    "system management interrupts (modprobe msr, and the right to read /dev/cpu/*/msr)".to_owned(),
                );
            }
        }
        if !missing.is_empty() {
            add(ReasonCode::EvidenceMissing, format!("unreadable here: {}", missing.join("; ")));
        }
        witnessed
    }
}

/// What changed; pure.
fn compare(before: &Snapshot, after: &Snapshot) -> Witnessed {
    let mut reasons = Vec::new();
    let mut add = |code, detail| reasons.push(Reason { code, detail });
    let grown = |before: &BTreeMap<u32, u64>, after: &BTreeMap<u32, u64>| -> Vec<(u32, u64)> {
        after
            .iter()
            .filter_map(|(cpu, now)| Some((*cpu, now.saturating_sub(*before.get(cpu)?))))
            .filter(|(_, by)| *by > 0)
            .collect()
    };
    let list = |changes: &[(u32, u64)], unit: &str| {
        let each: Vec<String> = changes.iter().map(|(cpu, by)| format!("CPU {cpu}: {by}{unit}")).collect();
        each.join(", ")
    };
    let mut steal_ns = BTreeMap::new();
    if let (Some(earlier), Some(later)) = (&before.stat, &after.stat) {
        for (cpu, ticks) in &later.cpus {
            if let Some(earlier) = earlier.cpus.get(cpu) {
                steal_ns.insert(*cpu, ticks.steal.saturating_sub(earlier.steal).saturating_mul(NS_PER_TICK));
            }
        }
    }
    let stolen: Vec<_> = steal_ns.iter().filter(|(_, ns)| **ns > 0).map(|(cpu, ns)| (*cpu, ns / 1_000_000)).collect();
    if !stolen.is_empty() {
        add(ReasonCode::VirtualMachineSteal, list(&stolen, " ms"));
    }
    let frequency = grown(&before.frequency_changes, &after.frequency_changes);
    if !frequency.is_empty() {
        add(ReasonCode::FrequencyChanged, list(&frequency, " changes"));
    }
    let throttled = grown(&before.thermal_throttles, &after.thermal_throttles);
    if !throttled.is_empty() {
        add(ReasonCode::FrequencyChanged, format!("thermal throttling: {}", list(&throttled, " times")));
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
    Witnessed { steal_ns, smi, reasons }
}

/// How often the scheduler has moved a thread of ours, where the kernel tells (CONFIG_SCHED_DEBUG).
pub(crate) fn migrations(tid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/self/task/{tid}/sched")).ok()?;
    let line = text.lines().find(|line| line.starts_with("se.nr_migrations"))?;
    line.rsplit(':').next()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(steal: u64, smi: u32, frequency: u64) -> Snapshot {
        let stat =
            Stat::parse(&format!("cpu  0 0 0 0 0 0 0 {steal} 0 0\ncpu1 0 0 0 0 0 0 0 {steal} 0 0\nintr 5\nctxt 6\n"));
        Snapshot {
            stat,
            smi: BTreeMap::from([(1, smi)]),
            frequency_changes: BTreeMap::from([(1, frequency)]),
            thermal_throttles: BTreeMap::new(),
        }
    }

    fn check(before: &Snapshot, after: &Snapshot, expected: &[ReasonCode]) {
        let codes: Vec<_> = compare(before, after).reasons.iter().map(|reason| reason.code).collect();
        assert_eq!(codes, expected);
    }

    #[test]
    fn what_changed_is_named() {
        let before = snapshot(3, u32::MAX, 7);
        check(&before, &before, &[]);
        check(&before, &snapshot(4, u32::MAX, 7), &[ReasonCode::VirtualMachineSteal]);
        check(&before, &snapshot(3, 1, 7), &[ReasonCode::SmiCounted]);
        check(&before, &snapshot(3, u32::MAX, 9), &[ReasonCode::FrequencyChanged]);
        assert_eq!(compare(&before, &snapshot(3, 1, 7)).smi[&1], 2, "the counter wraps at 32 bits");
        assert_eq!(compare(&before, &snapshot(5, 1, 7)).steal_ns[&1], 20_000_000);
    }

    #[test]
    fn a_source_that_vanishes_is_no_change() {
        check(&snapshot(3, 4, 7), &Snapshot::default(), &[]);
    }
}
