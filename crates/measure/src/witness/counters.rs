//! Counters of the measured CPUs that stay open over a run: cycles, and system management interrupts.

use std::collections::BTreeMap;
use std::io;

use kernel::clock::{KernelClock, now_ns};
use kernel::perf::{CpuCounter, TYPE_RAW};
use units::{ClockId, CpuSet};

use super::frequency::{Cycles, Rate};

/// `ls_smi_rx`, system management interrupts received (AMD's processor programming references, PMCx02B, from family
/// 17h on).
const AMD_SMI: u64 = 0x2b;
const AMD_SMI_SINCE_FAMILY: u32 = 0x17;
/// The folder of the kernel's counters that are registers (arch/x86/events/msr.c).
const MSR_SOURCE: &str = "/sys/bus/event_source/devices/msr";

/// Who made the processor, as far as it decides what it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Vendor {
    Intel,
    /// AMD, and Hygon by its license; with the family.
    Amd(u32),
    /// A processor without system management mode.
    Other,
    /// Another x86 processor.
    OtherX86,
}

/// Parses `/proc/cpuinfo`.
pub(super) fn vendor(cpuinfo: &str) -> Vendor {
    let value = |name: &str| {
        let line = cpuinfo.lines().find(|line| line.split(':').next().is_some_and(|key| key.trim() == name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    match value("vendor_id").as_deref() {
        Some("GenuineIntel") => Vendor::Intel,
        Some("AuthenticAMD" | "HygonGenuine") => {
            Vendor::Amd(value("cpu family").and_then(|family| family.parse().ok()).unwrap_or(0))
        }
        // Other architectures have other words for it, or this one for something else.
        Some(_) if value("flags").is_some() => Vendor::OtherX86,
        _ => Vendor::Other,
    }
}

/// What counts system management interrupts on one CPU.
#[derive(Debug)]
enum SmiSource {
    Register,
    Counter(CpuCounter),
}

/// Why nothing counts them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NoSmiCounter {
    /// A right or a driver would do.
    Missing(String),
    /// The processor has no counter for it.
    NotObservable(String),
}

/// What counts system management interrupts, by CPU: whatever this machine has for it.
#[derive(Debug)]
pub(crate) struct SmiCounters {
    vendor: Vendor,
    sources: BTreeMap<u32, SmiSource>,
    /// Why one of the CPUs that were asked for has no counter.
    none: Option<NoSmiCounter>,
}

impl SmiCounters {
    /// Without any yet.
    pub(crate) fn new() -> Self {
        let vendor = vendor(&crate::kernel_text::read("/proc/cpuinfo").unwrap_or_default());
        Self { vendor, sources: BTreeMap::new(), none: None }
    }

    /// Opens that of a CPU, where there is one.
    pub(crate) fn open(&mut self, cpu: u32) {
        match smi_source(self.vendor, cpu) {
            Ok(source) => drop(self.sources.insert(cpu, source)),
            Err(why) => self.none = Some(why),
        }
    }

    /// What a CPU has counted so far; its lower 32 bits count. Interrupts the CPU once.
    pub(crate) fn count(&self, cpu: u32) -> Option<u32> {
        match self.sources.get(&cpu)? {
            SmiSource::Register => kernel::msr::smi_count(cpu).ok(),
            SmiSource::Counter(counter) => u32::try_from(counter.read().ok()? & u64::from(u32::MAX)).ok(),
        }
    }

    /// Of each CPU so far.
    pub(super) fn counts(&self) -> BTreeMap<u32, u32> {
        self.sources.keys().filter_map(|cpu| Some((*cpu, self.count(*cpu)?))).collect()
    }

    /// Why not every CPU's are known, with what was counted at the two looks.
    pub(super) fn missing(&self, before: &BTreeMap<u32, u32>, after: &BTreeMap<u32, u32>) -> Option<NoSmiCounter> {
        let is_unread = |cpu: &&u32| !(before.contains_key(*cpu) && after.contains_key(*cpu));
        let unread = self.sources.keys().find(is_unread).map(|cpu| {
            NoSmiCounter::Missing(format!("system management interrupts of CPU {cpu} (its counter could not be read)"))
        });
        self.none.clone().or(unread)
    }
}

/// Open counters of the measured CPUs.
#[derive(Debug)]
pub(super) struct Counters {
    cycles: BTreeMap<u32, [CpuCounter; 3]>,
    pub(super) smi: SmiCounters,
}

/// Number of an event of the kernel's counters that are registers.
fn msr_event(name: &str) -> Option<u64> {
    let text = crate::kernel_text::read(format!("{MSR_SOURCE}/events/{name}")).ok()?;
    let number = text.trim().strip_prefix("event=")?;
    u64::from_str_radix(number.trim_start_matches("0x"), 16).ok()
}

fn open_msr_event(name: &str, cpu: u32) -> Option<CpuCounter> {
    let kind = crate::kernel_text::read(format!("{MSR_SOURCE}/type")).ok()?.trim().parse().ok()?;
    CpuCounter::open(kind, msr_event(name)?, cpu).ok()
}

fn smi_source(vendor: Vendor, cpu: u32) -> Result<SmiSource, NoSmiCounter> {
    let firmware = || {
        NoSmiCounter::NotObservable(
            "interruptions by firmware above the kernel (secure monitor): this processor counts none".to_owned(),
        )
    };
    match vendor {
        Vendor::Intel if kernel::msr::smi_count(cpu).is_ok() => Ok(SmiSource::Register),
        Vendor::Intel => open_msr_event("smi", cpu).map(SmiSource::Counter).ok_or_else(|| {
            NoSmiCounter::Missing(
                "system management interrupts (modprobe msr and the right to read /dev/cpu/*/msr, or the right to use \
                 perf)"
                    .to_owned(),
            )
        }),
        Vendor::Amd(family) if family >= AMD_SMI_SINCE_FAMILY => {
            CpuCounter::open(TYPE_RAW, AMD_SMI, cpu).map(SmiSource::Counter).map_err(|error| no_amd_counter(&error))
        }
        Vendor::Amd(_) | Vendor::OtherX86 => Err(NoSmiCounter::NotObservable(
            "system management interrupts: this processor has no counter of them".to_owned(),
        )),
        Vendor::Other => Err(firmware()),
    }
}

fn no_amd_counter(error: &io::Error) -> NoSmiCounter {
    if error.kind() == io::ErrorKind::PermissionDenied {
        return NoSmiCounter::Missing(
            "system management interrupts (the right to use perf: CAP_PERFMON, or kernel.perf_event_paranoid below 1)"
                .to_owned(),
        );
    }
    NoSmiCounter::NotObservable(format!("system management interrupts: no counter of them can be had ({error})"))
}

impl Counters {
    /// Opens what the machine has for these CPUs.
    pub(super) fn open(cpus: &CpuSet) -> Self {
        let mut counters = Self { cycles: BTreeMap::new(), smi: SmiCounters::new() };
        for cpu in cpus.iter() {
            counters.smi.open(cpu);
            if kernel::msr::cycles(cpu).is_err() {
                let open = |name| open_msr_event(name, cpu);
                if let (Some(delivered), Some(reference), Some(ticks)) = (open("aperf"), open("mperf"), open("tsc")) {
                    counters.cycles.insert(cpu, [delivered, reference, ticks]);
                }
            }
        }
        counters
    }

    /// Cycles of a CPU; interrupts it once.
    pub(super) fn cycles(&self, cpu: u32) -> Option<Cycles> {
        let at_ns = now_ns(KernelClock::from(ClockId::Monotonic));
        if let Some([delivered, reference, ticks]) = self.cycles.get(&cpu) {
            let rate = Rate::Ticks { ticks: ticks.read().ok()?, at_ns };
            return Some(Cycles { delivered: delivered.read().ok()?, reference: reference.read().ok()?, rate });
        }
        let kernel::msr::Cycles { delivered, reference, ticks } = kernel::msr::cycles(cpu).ok()?;
        Some(Cycles { delivered, reference, rate: Rate::Ticks { ticks, at_ns } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_decides_what_it_counts() {
        assert_eq!(vendor("processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nflags\t: fpu\n"), Vendor::Intel);
        assert_eq!(vendor("vendor_id\t: AuthenticAMD\ncpu family\t: 25\nflags\t: fpu\n"), Vendor::Amd(25));
        assert_eq!(vendor("vendor_id\t: CentaurHauls\nflags\t: fpu\n"), Vendor::OtherX86);
        assert_eq!(vendor("Features\t: fp asimd\nCPU implementer\t: 0x41\n"), Vendor::Other);
        assert_eq!(vendor("vendor_id       : IBM/S390\n"), Vendor::Other);
        assert_eq!(vendor(""), Vendor::Other);
    }

    #[test]
    fn a_counter_that_cannot_be_read_is_missed() {
        let sources = BTreeMap::from([(1, SmiSource::Register), (2, SmiSource::Register)]);
        let smis = SmiCounters { vendor: Vendor::Intel, sources, none: None };
        let (both, one) = (BTreeMap::from([(1, 5), (2, 5)]), BTreeMap::from([(1, 5)]));
        assert_eq!(smis.missing(&both, &both), None);
        for (before, after) in [(&both, &one), (&one, &both)] {
            let Some(NoSmiCounter::Missing(why)) = smis.missing(before, after) else { panic!("nothing is missed") };
            assert!(why.contains("CPU 2"), "{why}");
        }
    }

    #[test]
    fn a_machine_whose_processor_counts_nothing_is_not_told_to_mend_that() {
        assert!(matches!(smi_source(Vendor::Other, 0), Err(NoSmiCounter::NotObservable(_))));
        assert!(matches!(smi_source(Vendor::Amd(0x15), 0), Err(NoSmiCounter::NotObservable(_))));
        let denied = io::Error::from_raw_os_error(13);
        assert!(matches!(no_amd_counter(&denied), NoSmiCounter::Missing(_)));
        let absent = io::Error::from_raw_os_error(2);
        assert!(matches!(no_amd_counter(&absent), NoSmiCounter::NotObservable(_)));
    }
}
