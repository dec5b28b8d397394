//! Counters of the measured CPUs that stay open over a run: cycles, and system management interrupts.

use std::collections::BTreeMap;
use std::fs;
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
    /// AMD, and Hygon by its licence; with the family.
    Amd(u32),
    /// A processor without system management mode.
    Other,
    /// Another x86 processor.
    OtherX86,
}

/// Reads `/proc/cpuinfo`.
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

/// Open counters of the measured CPUs.
#[derive(Debug, Default)]
pub(super) struct Counters {
    cycles: BTreeMap<u32, [CpuCounter; 3]>,
    smi: BTreeMap<u32, SmiSource>,
    /// Why no CPU has a counter of system management interrupts.
    pub(super) no_smi: Option<NoSmiCounter>,
}

/// Number of an event of the kernel's counters that are registers.
fn msr_event(name: &str) -> Option<u64> {
    let text = fs::read_to_string(format!("{MSR_SOURCE}/events/{name}")).ok()?;
    let number = text.trim().strip_prefix("event=")?;
    u64::from_str_radix(number.trim_start_matches("0x"), 16).ok()
}

fn open_msr_event(name: &str, cpu: u32) -> Option<CpuCounter> {
    let kind = fs::read_to_string(format!("{MSR_SOURCE}/type")).ok()?.trim().parse().ok()?;
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
        let vendor = vendor(&fs::read_to_string("/proc/cpuinfo").unwrap_or_default());
        let mut counters = Self::default();
        for cpu in cpus.iter() {
            match smi_source(vendor, cpu) {
                Ok(source) => {
                    counters.smi.insert(cpu, source);
                }
                Err(why) => counters.no_smi = Some(why),
            }
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

    /// System management interrupts of each CPU so far; the lower 32 bits count.
    pub(super) fn smi(&self) -> BTreeMap<u32, u32> {
        let read = |(cpu, source): (&u32, &SmiSource)| {
            let count = match source {
                SmiSource::Register => kernel::msr::smi_count(*cpu).ok()?,
                SmiSource::Counter(counter) => u32::try_from(counter.read().ok()? & u64::from(u32::MAX)).ok()?,
            };
            Some((*cpu, count))
        };
        self.smi.iter().filter_map(read).collect()
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
    fn a_machine_whose_processor_counts_nothing_is_not_told_to_mend_that() {
        assert!(matches!(smi_source(Vendor::Other, 0), Err(NoSmiCounter::NotObservable(_))));
        assert!(matches!(smi_source(Vendor::Amd(0x15), 0), Err(NoSmiCounter::NotObservable(_))));
        let denied = io::Error::from_raw_os_error(13);
        assert!(matches!(no_amd_counter(&denied), NoSmiCounter::Missing(_)));
        let absent = io::Error::from_raw_os_error(2);
        assert!(matches!(no_amd_counter(&absent), NoSmiCounter::NotObservable(_)));
    }
}
